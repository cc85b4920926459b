"""Conditions of local hosts: threads of this process start processes while another thread stores a program."""

from __future__ import annotations

import subprocess
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from asct.hosts.base import SessionSpec
from asct.hosts.factory import make_host
from asct.plan.model import HostSpec
from tests.hosts.conftest import Bench


@pytest.fixture
def here(tmp_path: Path) -> Iterator[Bench]:
    host = make_host(HostSpec("here", "local", workdir=str(tmp_path / "work")))
    host.open(SessionSpec("tests", "the tests"))
    try:
        yield Bench(host, tmp_path / "into")
    finally:
        host.close()


def test_a_program_just_put_there_is_never_busy(here: Bench) -> None:
    over = threading.Event()

    def start_programs() -> None:
        while not over.is_set():
            subprocess.run(["true"], check=True)

    thread = threading.Thread(target=start_programs)
    thread.start()
    try:
        for number in range(20):
            program = f"{here.host.work}/program{number}"
            here.host.put(Path("/bin/true"), program, mode=0o700)
            assert here.run(program).status == 0, here.text("stderr")
    finally:
        over.set()
        thread.join()


def test_a_program_that_is_held_open_is_told(here: Bench, tmp_path: Path) -> None:
    program = tmp_path / "program"
    program.write_bytes(Path("/bin/true").read_bytes())
    program.chmod(0o700)
    with program.open("r+b"):
        assert here.run(str(program)).status == 126
    assert "busy" in here.text("stderr")


def test_a_runner_that_was_killed_is_replaced_and_repeats_its_task(here: Bench, tmp_path: Path) -> None:
    killed = f"touch {tmp_path}/marker; read pid rest <{here.host.work}/.work; kill -KILL $pid; sleep 60"
    done = here.run("sh", "-c", f"[ -e {tmp_path}/marker ] || {{ {killed}; }}; echo again")
    assert (done.status, here.text()) == (0, "again\n")
    assert here.run("true").status == 0
