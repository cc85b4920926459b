"""Conditions of local hosts: threads of this process start processes while another thread stores a program."""

from __future__ import annotations

import os
import shutil
import subprocess
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from asct.hosts.base import SessionSpec
from asct.hosts.factory import make_host
from asct.plan.model import HostSpec
from tests.awaiting import until
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


LOCK = Path("/var/tmp/asct.lock")


def stand_in(folder: Path, monkeypatch: pytest.MonkeyPatch, name: str, script: str) -> None:
    """Let the runner's shell run `script`, then the real program with the same arguments."""
    real = shutil.which(name)
    folder.mkdir(exist_ok=True)
    program = folder / name
    program.write_text(f'#!/bin/sh\n{script}\nexec {real} "$@"\n')
    program.chmod(0o755)
    monkeypatch.setenv("PATH", f"{folder}:{os.environ['PATH']}")


def test_a_lock_without_a_card_is_awaited(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A session that begins or ends holds the lock for a moment without a card; here until the fourth attempt."""
    LOCK.touch()
    held, attempts = tmp_path / "held", tmp_path / "attempts"
    keep = f"touch {held}; while [ -e {held} ]; do sleep 0.05; done"
    holder = subprocess.Popen(["flock", str(LOCK), "sh", "-c", keep])
    until(held.exists)
    # the fourth attempt waits until the lock is free
    released = f"rm {held}; flock {LOCK} true"
    count = f'[ "$2" != 9 ] || {{ echo >>{attempts}; [ "$(wc -l <{attempts})" != 4 ] || {{ {released}; }}; }}'
    stand_in(tmp_path / "bin", monkeypatch, "flock", count.replace("flock /", f"{shutil.which('flock')} /"))
    host = make_host(HostSpec("here", "local", workdir=str(tmp_path / "work")))
    host.open(SessionSpec("tests", "the tests"))
    host.close()
    assert holder.wait() == 0
    assert len(attempts.read_text().splitlines()) == 4 + 1  # the last one is of `flock -u 9`


def test_the_card_goes_after_the_lock(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Who finds the lock held meanwhile is told by whom."""
    log = tmp_path / "log"
    host = make_host(HostSpec("here", "local", workdir=str(tmp_path / "work")))
    for name in ("rm", "flock"):
        stand_in(tmp_path / "bin", monkeypatch, name, f'echo "{name} $*" >>{log}')
    host.open(SessionSpec("tests", "the tests"))
    work = host.work
    card = f"{LOCK}.{Path(work, '.pid').read_text().split()[0]}"
    host.close()
    assert log.read_text().splitlines()[-3:] == [f"rm -rf -- {work}", "flock -u 9", f"rm -f -- {card}"]
    assert not os.path.lexists(card)
