"""Compiled templates are kept where Python keeps compiled modules."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest
from jinja2 import Environment

from asct.export import html

TEMPLATE = "report.html.j2"


@pytest.fixture
def kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return the empty folder in which Python keeps what it compiles."""
    monkeypatch.setattr(sys, "pycache_prefix", str(tmp_path / "kept"))
    monkeypatch.setattr(sys, "dont_write_bytecode", False)
    return tmp_path / "kept"


def compiled(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Load the template as a new process does, and return the names of the templates that had to be compiled."""
    names: list[str] = []
    usual = Environment.compile

    def compile_(self: Environment, source: str, name: str, filename: str) -> object:
        names.append(name)
        return usual(self, source, name, filename)

    with monkeypatch.context() as patched:
        patched.setattr(Environment, "compile", compile_)
        html._environment.__wrapped__().get_template(TEMPLATE)
    return names


def test_a_template_is_compiled_only_once(kept: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert compiled(monkeypatch) == [TEMPLATE]
    assert compiled(monkeypatch) == []
    for path in kept.rglob("*.pyc"):
        path.write_bytes(path.read_bytes()[:100])
    assert compiled(monkeypatch) == [TEMPLATE]


def test_without_a_writable_folder_the_template_is_compiled_each_time(
    kept: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    kept.touch()
    assert compiled(monkeypatch) == compiled(monkeypatch) == [TEMPLATE]
