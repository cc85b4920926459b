"""Run commands in this process, with the exit code, stdout and stderr that a shell would see."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from asct.cli.app import run
from tests.e2e.running import Ended

Asct = Callable[..., Ended]


@pytest.fixture
def asct(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Asct:
    """`asct("plan", "x.yaml")` runs a command in an empty folder, 80 columns wide and without color."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "80")
    for name in ("FORCE_COLOR", "NO_COLOR"):
        monkeypatch.delenv(name, raising=False)

    def call(*arguments: str) -> Ended:
        capsys.readouterr()
        code = run(arguments)
        seen = capsys.readouterr()
        return Ended(code, seen.out, seen.err)

    return call


@pytest.fixture
def plan_file(tmp_path: Path) -> Path:
    """Return a small plan that needs no tool except a compiler."""
    place = tmp_path / "small.yaml"
    place.write_text(
        "plan: 1\nname: small\nvars: {n: 2}\n"
        "benchmarks:\n  - {id: idle, uses: noop, sweep: {index: [1, 2, 3]}, tags: [quick]}\n"
        "profiles: {one: {defaults: {repeats: 2}}}\n",
        encoding="utf-8",
    )
    return place
