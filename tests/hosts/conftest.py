"""A host of each kind, open, with a folder for what comes back."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from asct.hosts.base import Finished, Host, Process, Task
from asct.hosts.opening import make_host
from asct.plan.model import HostSpec
from tests.sshd import Sshd

KINDS = ["local", pytest.param("ssh", marks=pytest.mark.ssh)]


class Bench:
    """An open host and a folder here; `run` makes the task."""

    def __init__(self, host: Host, into: Path) -> None:
        self.host = host
        self.into = into
        self._count = 0

    def folder(self) -> str:
        self._count += 1
        return f"{self.host.work}/t{self._count}"

    def run(self, *argv: str, **fields: object) -> Finished:
        on_line = fields.pop("on_line", None)
        process = {key: fields.pop(key) for key in ("cwd", "env", "stdout_file", "stderr_file") if key in fields}
        process.setdefault("cwd", self.folder())
        task = Task(Process(argv, **process), self.into, **fields)  # type: ignore[arg-type]
        return self.host.run(task, on_line)  # type: ignore[arg-type]

    def text(self, name: str = "stdout") -> str:
        return (self.into / name).read_bytes().decode("utf-8", "surrogateescape")


def spec_of(kind: str, request: pytest.FixtureRequest, folder: Path) -> HostSpec:
    """The host of that kind as a plan would have it."""
    if kind == "ssh":
        server: Sshd = request.getfixturevalue("sshd")
        return server.spec()
    return HostSpec("here", "local", workdir=str(folder / "work"))


@pytest.fixture(params=KINDS)
def bench(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Bench]:
    """Every test that takes this runs once per transport."""
    host = make_host(spec_of(request.param, request, tmp_path))
    host.open()
    try:
        yield Bench(host, tmp_path / "into")
    finally:
        host.close()
