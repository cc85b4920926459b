"""Fixtures: a tree of small kernels, and a separate cache for every test."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from asct.facts.reading import collect
from asct.hosts.base import Host, SessionSpec
from asct.hosts.factory import make_host
from asct.plan.model import HostSpec
from asct.sdk.facts import HostFacts, ToolFact

MAIN = """\
#include <stdio.h>
#include "arch.h"
#include "kit/answer.h"
int main(void) { printf("%s %d\\n", ARCH, ANSWER); return 0; }
"""


@pytest.fixture
def kernels(tmp_path: Path) -> Path:
    """Return the folder kernels/ with one kernel, `tiny`, which prints its architecture and 42."""
    root = tmp_path / "kernels"
    for path, text in {
        "tiny/tiny.c": MAIN,
        "kit/answer.h": "#define ANSWER 42\n",
        "arch/x86_64/arch.h": '#define ARCH "x86_64"\n',
        "arch/aarch64/arch.h": '#define ARCH "aarch64"\n',
    }.items():
        (root / path).parent.mkdir(parents=True, exist_ok=True)
        (root / path).write_text(text)
    return root


@pytest.fixture(autouse=True)
def caches(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return XDG_CACHE_HOME of this machine, for the local transport and for cross builds."""
    folder = tmp_path / "xdg"
    monkeypatch.setenv("XDG_CACHE_HOME", str(folder))
    return folder


@pytest.fixture
def local(tmp_path: Path) -> Iterator[Host]:
    host = make_host(HostSpec("here", "local", workdir=str(tmp_path / "work")))
    host.open(SessionSpec("run", "a test"))
    yield host
    host.close()


@pytest.fixture
def facts(local: Host, tmp_path: Path) -> HostFacts:
    return collect(local, tmp_path / "raw")


def without_compiler(facts: HostFacts, arch: str | None = None) -> HostFacts:
    """Return the same host, on which no compiler works."""
    system = facts.system.model_copy(update={"arch": arch or facts.system.arch})
    return facts.model_copy(update={"tools": {}, "system": system})


def with_compiler(facts: HostFacts, path: str) -> HostFacts:
    """Return the same host with this compiler as its only one."""
    return facts.model_copy(update={"tools": {"gcc": ToolFact(path=path)}})
