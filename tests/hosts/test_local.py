"""What only a host in this process meets: its threads fork while another writes a program."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from asct.hosts import local
from asct.hosts.base import Session
from asct.hosts.opening import make_host
from asct.plan.model import HostSpec
from tests.awaiting import PATIENCE_S
from tests.hosts.conftest import Bench


@pytest.fixture
def here(tmp_path: Path) -> Iterator[Bench]:
    host = make_host(HostSpec("here", "local", workdir=str(tmp_path / "work")))
    host.open(Session("tests", "the tests"))
    try:
        yield Bench(host, tmp_path / "into")
    finally:
        host.close()


@pytest.fixture
def program(tmp_path: Path) -> Path:
    path = tmp_path / "program"
    path.write_bytes(Path("/bin/true").read_bytes())
    path.chmod(0o700)
    return path


def test_a_program_that_is_still_held_open_is_waited_for(
    here: Bench, program: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(local, "BUSY_S", PATIENCE_S)
    holder = program.open("r+b")
    timer = threading.Timer(0.2, holder.close)
    timer.start()
    assert here.run(str(program)).status == 0
    timer.join()


def test_a_program_that_stays_open_is_told(here: Bench, program: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(local, "BUSY_S", 0.2)
    with program.open("r+b"):
        assert here.run(str(program)).status == 126
    assert "Text file busy" in here.text("stderr")
