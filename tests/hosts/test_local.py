"""Conditions specific to local hosts: threads of this process start processes while another thread stores a program."""

from __future__ import annotations

import fcntl
import os
import shutil
import signal
import subprocess
import threading
from collections.abc import Iterator
from contextlib import nullcontext
from pathlib import Path

import pytest

from asct.errors import ConnectError, HostLocked
from asct.hosts import script
from asct.hosts.base import Host, SessionSpec
from asct.hosts.factory import make_host
from asct.plan.model import HostSpec
from tests.awaiting import until
from tests.hosts.conftest import Bench

SESSION = SessionSpec("tests", "the tests")


@pytest.fixture
def host(tmp_path: Path) -> Host:
    """Return this machine, which has not been opened yet."""
    return make_host(HostSpec("here", "local", workdir=str(tmp_path / "work")))


@pytest.fixture
def here(host: Host, tmp_path: Path) -> Iterator[Bench]:
    host.open(SESSION)
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


def test_a_runner_whose_listener_was_killed_is_replaced(here: Bench) -> None:
    """Nothing pings a runner on this machine, so the runner itself ends."""
    assert here.run("true").status == 0
    listener = int(Path(here.host.work, ".hear").read_text().split()[0])
    os.kill(listener, signal.SIGKILL)
    assert here.run("true").status == 0


def test_an_idle_session_is_not_ended_by_its_account(
    host: Host, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Accounts may have a time limit for idle shells, which bash applies to `read`. A session is idle while a task
    runs."""
    monkeypatch.setenv("TMOUT", "1")
    (tmp_path / "bin").mkdir()
    (tmp_path / "bin" / "sh").symlink_to(str(shutil.which("bash")))
    monkeypatch.setenv("PATH", f"{tmp_path}/bin:{os.environ['PATH']}")
    host.open(SESSION)
    here = Bench(host, tmp_path / "into")
    try:
        assert here.run("sleep", "3").status == 0
        assert here.run("true").status == 0
        assert not host.resumed
    finally:
        host.close()


LOCK = Path("/var/tmp/asct.lock")


def stand_in(folder: Path, monkeypatch: pytest.MonkeyPatch, name: str, script: str) -> None:
    """Make the runner's shell run `script` first, and then the real program with the same arguments."""
    real = shutil.which(name)
    folder.mkdir(exist_ok=True)
    program = folder / name
    program.write_text(f'#!/bin/sh\n{script}\nexec {real} "$@"\n')
    program.chmod(0o755)
    monkeypatch.setenv("PATH", f"{folder}:{os.environ['PATH']}")


def test_a_lock_without_a_card_is_awaited(host: Host, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """While a session begins or ends, it briefly holds the lock without a card; in this test, until the fourth
    attempt."""
    LOCK.touch()
    held, attempts = tmp_path / "held", tmp_path / "attempts"
    keep = f"touch {held}; while [ -e {held} ]; do sleep 0.05; done"
    holder = subprocess.Popen(["flock", str(LOCK), "sh", "-c", keep])
    until(held.exists)
    # the fourth attempt waits until the lock is free
    released = f"rm {held}; flock {LOCK} true"
    count = f'[ "$2" != 9 ] || {{ echo >>{attempts}; [ "$(wc -l <{attempts})" != 4 ] || {{ {released}; }}; }}'
    stand_in(tmp_path / "bin", monkeypatch, "flock", count.replace("flock /", f"{shutil.which('flock')} /"))
    host.open(SESSION)
    host.close()
    assert holder.wait() == 0
    assert len(attempts.read_text().splitlines()) == 4 + 1  # the last one is of `flock -u 9`


def test_the_card_goes_between_the_folder_and_the_lock(
    host: Host, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Processes that find the host locked can see who holds the lock until the folder has been removed."""
    log = tmp_path / "log"
    for name in ("rm", "flock"):
        stand_in(tmp_path / "bin", monkeypatch, name, f'echo "{name} $*" >>{log}')
    host.open(SESSION)
    work = host.work
    card = f"{LOCK}.{Path(work, '.pid').read_text().split()[0]}"
    host.close()
    assert log.read_text().splitlines()[-3:] == [f"rm -rf -- {work}", f"rm -f -- {card}", "flock -u 9"]
    assert not os.path.lexists(card)


def test_the_card_of_a_killed_runner_is_removed_by_the_next_connection(host: Host) -> None:
    host.open(SESSION)
    runner = int(Path(host.work, ".pid").read_text().split()[0])
    assert os.path.lexists(f"{LOCK}.{runner}")
    os.killpg(runner, signal.SIGKILL)
    host.close()
    assert not os.path.lexists(f"{LOCK}.{runner}")


def plant(kind: str, path: Path) -> None:
    if kind == "FIFO":
        os.mkfifo(path)
    elif kind == "link":
        path.symlink_to(path.with_name("target"))
    else:
        path.mkdir()


@pytest.fixture
def lock(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return the lock of hosts, which is in a folder of the test."""
    path = tmp_path / "shared" / "asct.lock"
    path.parent.mkdir()
    text = script.runner().replace(f"LOCK={LOCK}", f"LOCK={path}")
    monkeypatch.setattr(script, "runner", lambda: text)
    return path


@pytest.mark.parametrize("kind", ["FIFO", "link", "folder"])
def test_what_others_planted_in_place_of_the_lock_is_not_opened(host: Host, lock: Path, kind: str) -> None:
    plant(kind, lock)
    with pytest.raises(ConnectError) as error:
        host.open(SESSION)
    found = error.value.diagnostics[0]
    assert found.code == "E322" and f"{lock} is not a readable file" in found.message
    assert found.hint is not None and found.hint.startswith("remove the lock file"), "another `workdir` would not help"
    assert [path.name for path in lock.parent.iterdir()] == [lock.name]


@pytest.mark.parametrize("kind", ["FIFO", "link", "folder"])
def test_what_others_planted_in_place_of_cards_is_not_opened(tmp_path: Path, lock: Path, kind: str) -> None:
    for number in range(3):
        plant(kind, Path(f"{lock}.{number}"))
    first, second = (make_host(HostSpec("here", "local", workdir=str(tmp_path / "work"))) for _ in range(2))
    first.open(SESSION)
    try:
        with pytest.raises(HostLocked) as error:
            second.open(SessionSpec("others", "somebody else"))
        assert error.value.owner == "the tests"
    finally:
        first.close()
    assert not (lock.parent / "target").exists()


@pytest.mark.parametrize("planted", ["mkdir", f"{shutil.which('ln')} -s ."])
@pytest.mark.parametrize("name", ["*.lock", "*.lock.[0-9]*"])
def test_nothing_is_written_through_a_name_that_was_just_planted(
    name: str, planted: str, host: Host, lock: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Another account plants a folder, or a link to one, just before the runner creates the lock or its card."""
    plant_it = f'case $last in {name}) {planted} "$last" ;; esac'
    stand_in(tmp_path / "bin", monkeypatch, "ln", f"for last; do :; done\n{plant_it}")
    with pytest.raises(ConnectError) if name == "*.lock" else nullcontext():
        host.open(SESSION)
    host.close()
    assert {path.parent for path in lock.parent.rglob("*")} == {lock.parent}
    assert [path for path in lock.parent.iterdir() if not path.name.startswith(lock.name)] == []


@pytest.mark.parametrize("card", ["1 08 x", "1 a[$(>{mark})] x", "1 99999999999999999999 x", "", "1", "1 -5 x"])
def test_hostile_cards_are_only_text(host: Host, tmp_path: Path, lock: Path, card: str) -> None:
    """Another account holds the host's lock, and the card of its process may contain anything."""
    lock.touch()
    with lock.open() as held:
        fcntl.flock(held, fcntl.LOCK_EX)
        started = Path("/proc/self/stat").read_text().rpartition(") ")[2].split()[19]
        text = card.replace("1", started, 1).format(mark=tmp_path / "mark") or "x"
        Path(f"{lock}.{os.getpid()}").symlink_to(text + "\nasct:failed no")
        with pytest.raises(HostLocked) as error:
            host.open(SESSION)
    assert error.value.owner in ("x", "unknown", started)
    assert not (tmp_path / "mark").exists()
