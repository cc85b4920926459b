"""A session on a host: the runner without a connection, and resuming the session."""

from __future__ import annotations

import os
import signal
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from itertools import pairwise
from pathlib import Path

import paramiko
import pytest

from asct.errors import HostError, HostLocked, HostLost
from asct.hosts import link, runner_session, script
from asct.hosts.base import Host, Process, SessionSpec, Task
from asct.hosts.factory import make_host
from asct.hosts.remote import RemoteHost
from asct.hosts.ssh.link import SshLink
from tests.awaiting import PATIENCE_S, until
from tests.hosts.forced import force, with_programs
from tests.sshd import Sshd

pytestmark = pytest.mark.ssh
SESSION = SessionSpec("r1", "run r1 of the tests", "5e" * 16)


def session_of(host: Host) -> int:
    """Return the process of the ssh server that serves the connection."""
    return int(host.execute(["sh", "-c", "echo $PPID"]).stdout)


def noted(host: Host, name: str) -> int:
    """Return the process that the runner recorded as `name`."""
    return int(Path(host.work, name).read_text().split()[0])


def opened(server: Sshd, session: SessionSpec = SESSION) -> RemoteHost:
    host = make_host(server.spec(options={"reconnect_timeout": PATIENCE_S}))
    host.open(session)
    assert isinstance(host, RemoteHost)
    return host


@pytest.fixture
def host(own_sshd: Sshd) -> Iterator[RemoteHost]:
    found = opened(own_sshd)
    try:
        yield found
    finally:
        found.close()


@pytest.fixture
def brief_linger(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let idle runners without a connection end after one second."""
    text = script.runner().replace("LINGER_S=30", "LINGER_S=1")
    monkeypatch.setattr(script, "runner", lambda: text)


def counting(host: Host, into: Path, number: int, seconds: float = 0.0, after: Path | None = None) -> Task:
    """Return a task that adds a line to a file of the session each time it runs, and then waits until `after`
    exists."""
    log = f"{host.work}/log"
    gate = f"until [ -e {after} ]; do sleep 0.05; done; " if after else ""
    script = f"echo {number} >>{log}; {gate}sleep {seconds}; echo {number}"
    return Task(Process(("sh", "-c", script), f"{host.work}/t{number}"), into / str(number), key=f"k{number}")


def runs(host: Host) -> list[str]:
    log = Path(host.work, "log")
    return log.read_text().split() if log.exists() else []


def meanwhile(holds: Callable[[], object], act: Callable[[], object]) -> threading.Thread:
    """Call `act` in another thread once a condition is true."""

    def wait() -> None:
        until(holds)
        act()

    thread = threading.Thread(target=wait)
    thread.start()
    return thread


def said(into: Path, number: int) -> str:
    return (into / str(number) / "stdout").read_text()


def ended(pid: int) -> bool:
    """Return whether a process has ended. Zombies count as ended."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(") ")[2][0] == "Z"
    except OSError:
        return True


def gone(pid: int) -> bool:
    until(lambda: ended(pid), f"process {pid} goes on")
    return True


def test_announced_tasks_are_run_once_and_in_order(host: RemoteHost, tmp_path: Path) -> None:
    tasks = [counting(host, tmp_path, number) for number in range(5)]
    host.announce(tasks)
    done = [host.run(task) for task in tasks]
    assert [one.status for one in done] == [0] * 5
    assert [said(tmp_path, number) for number in range(5)] == [f"{number}\n" for number in range(5)]
    assert runs(host) == ["0", "1", "2", "3", "4"]


def test_what_was_not_announced_comes_last(host: RemoteHost, tmp_path: Path) -> None:
    tasks = [counting(host, tmp_path, number) for number in range(3)]
    host.announce(tasks[:2])
    assert host.run(tasks[2]).status == 0
    assert runs(host) == ["0", "1", "2"]
    assert host.run(tasks[0]).status == 0


def test_the_connection_breaks_and_the_host_goes_on(host: RemoteHost, tmp_path: Path) -> None:
    broken, connection = Path(host.work, "broken"), session_of(host)
    tasks = [counting(host, tmp_path, number, 0.2, broken if number == 1 else None) for number in range(4)]

    def break_it() -> None:
        os.kill(connection, signal.SIGKILL)
        broken.touch()

    host.announce(tasks)
    breaker = meanwhile(lambda: len(runs(host)) == 2, break_it)
    assert [host.run(task).status for task in tasks] == [0] * 4
    breaker.join()
    assert runs(host) == ["0", "1", "2", "3"]
    assert host.resumed


def test_what_waits_is_known_after_a_break_though_the_journal_does_not_name_it(
    host: RemoteHost, tmp_path: Path
) -> None:
    broken, connection = Path(host.work, "broken"), session_of(host)
    tasks = [counting(host, tmp_path, number, 0.4, broken) for number in range(3)]
    host.announce(tasks)
    os.kill(connection, signal.SIGKILL)
    broken.touch()
    assert host.run(tasks[0]).status == 0
    assert host._session.key_of("k2") == ("k2", True)
    assert [host.run(task).status for task in tasks[1:]] == [0] * 2
    assert runs(host) == ["0", "1", "2"]


def test_a_frozen_connection_is_noticed(host: RemoteHost, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(runner_session, "PING_S", 0.5)
    monkeypatch.setattr(runner_session, "PONG_S", 4.0)
    frozen = session_of(host)
    os.kill(frozen, signal.SIGSTOP)
    try:
        assert host.run(counting(host, tmp_path, 1)).status == 0
    finally:
        os.kill(frozen, signal.SIGKILL)
    assert runs(host) == ["1"]


def test_a_connection_that_takes_nothing_holds_nothing_up(
    host: RemoteHost, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """There are more events than fit into the pipe to a stopped server. The host continues, and all results arrive in
    the end."""
    monkeypatch.setattr(runner_session, "PONG_S", PATIENCE_S)
    number = 500
    tasks = [
        Task(Process(("sh", "-c", f"echo {one} >>{host.work}/log"), f"{host.work}/t"), tmp_path / "t", key=f"k{one}",
             fresh=False)
        for one in range(number)
    ]  # fmt: skip
    stopped = session_of(host)
    host.announce(tasks)
    until(lambda: runs(host))
    os.kill(stopped, signal.SIGSTOP)
    try:
        until(lambda: len(runs(host)) == number)
    finally:
        os.kill(stopped, signal.SIGCONT)
    assert [host.run(task).status for task in tasks] == [0] * number
    assert not host.resumed and len(runs(host)) == number


def test_steps_after_a_broken_connection_are_heard_of_soon(
    host: RemoteHost, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """No events arrive through the new connection. After each message, the journal is read again soon, and then less
    and less often."""
    os.kill(session_of(host), signal.SIGKILL)
    assert host.run(counting(host, tmp_path, 0)).status == 0 and host.resumed
    enough, course = Path(host.work, "enough"), list[float | str]()
    look, wait = host._link.files.tail, host._session._wake.wait

    def looked(path: str, offset: int) -> bytes:
        data = look(path, offset)
        if data and path.endswith("/.journal"):
            course.append("word")
        return data

    def paused(seconds: float) -> bool:
        course.append(seconds)
        if course.count(runner_session.POLL_S) == 2:
            enough.touch()
        return wait(seconds)

    monkeypatch.setattr(host._link.files, "tail", looked)
    monkeypatch.setattr(host._session._wake, "wait", paused)
    assert host.run(counting(host, tmp_path, 1, after=enough)).status == 0
    assert "word" in course[:-1], "it is told that it began, and later that it ended"
    for one, next_one in pairwise(course):
        expected = runner_session.FIRST_POLL_S if isinstance(one, str) else min(runner_session.POLL_S, 2 * one)
        assert next_one in ("word", expected), course


@pytest.mark.parametrize("who", [".pid", ".hear", ".work"])
def test_a_runner_that_was_killed_is_started_again(
    host: RemoteHost, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, who: str
) -> None:
    monkeypatch.setattr(runner_session, "PING_S", 0.5)
    monkeypatch.setattr(runner_session, "PONG_S", 4.0)
    tasks = [counting(host, tmp_path, number, 0.3) for number in range(3)]
    host.announce(tasks)
    assert host.run(tasks[0]).status == 0
    os.kill(noted(host, who), signal.SIGKILL)
    assert [host.run(task).status for task in tasks[1:]] == [0, 0]
    assert [said(tmp_path, number) for number in range(3)] == ["0\n", "1\n", "2\n"]
    assert host.run(counting(host, tmp_path, 3)).status == 0


@pytest.mark.parametrize("who", ["program", "shell"])
def test_a_task_that_was_killed_is_told(host: RemoteHost, tmp_path: Path, who: str) -> None:
    """Either the program and its group are killed, or the shell that would report it; in the latter case, the program
    is killed as well."""
    tasks = [counting(host, tmp_path, number, 60.0 * (number == 0)) for number in range(2)]
    host.announce(tasks)
    until(lambda: runs(host))
    program = noted(host, ".task")
    shell = int(Path(f"/proc/{program}/stat").read_text().rpartition(") ")[2].split()[1])
    if who == "program":
        os.killpg(program, signal.SIGKILL)
    else:
        os.kill(shell, signal.SIGKILL)
    done = host.run(tasks[0])
    assert done.status == -9 and gone(program)
    assert done.notes == (() if who == "program" else ("the process group was killed",))
    assert host.run(tasks[1]).status == 0


def test_the_folder_goes_also_when_the_connection_breaks_at_the_end(host: RemoteHost, tmp_path: Path) -> None:
    assert host.run(counting(host, tmp_path, 1)).status == 0
    work, runner, session = host.work, noted(host, ".pid"), session_of(host)
    os.kill(session, signal.SIGSTOP)
    threading.Timer(1.0, os.kill, (session, signal.SIGKILL)).start()
    host.close()
    assert not Path(work).exists() and gone(runner)


def test_ending_a_session_gives_up_on_a_host_without_a_sign_of_life(
    brief_linger: None, host: RemoteHost, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(link, "ANSWER_S", 0.5)
    work, frozen, runner = host.work, session_of(host), noted(host, ".pid")
    os.kill(frozen, signal.SIGSTOP)
    try:
        left = host.close()
    finally:
        os.kill(frozen, signal.SIGKILL)
    assert left is not None and left.code == "E320" and f"`pgrep -f {work}`" in left.hint
    assert host.close() is None
    assert gone(runner) and not Path(work).exists()


def test_ending_a_session_waits_for_a_host_that_gives_signs_of_life(
    host: RemoteHost, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The runner takes seconds to end the task."""
    monkeypatch.setattr(link, "CHECK_S", 0.05)
    await_answer, asked = SshLink._await_answer, list[float | None]()

    def counted(self: SshLink, transport: paramiko.Transport) -> None:
        await_answer(self, transport)
        asked.append(self.asked)

    monkeypatch.setattr(SshLink, "_await_answer", counted)
    work = Path(host.work)
    stubborn = "trap '' INT TERM; while :; do sleep 0.1; done"
    host.announce([Task(Process(("sh", "-c", f"echo >{work}/begun; {stubborn}"), f"{work}/t"), tmp_path, key="k")])
    until((work / "begun").exists)
    assert host.close() is None
    assert not work.exists() and asked.count(None) > 1


def test_another_part_of_the_run_takes_what_was_finished(own_sshd: Sshd, tmp_path: Path) -> None:
    first = opened(own_sshd)
    work = first.work
    tasks = [counting(first, tmp_path, number, 0.3) for number in range(3)]
    first.announce(tasks)
    first._link.cut()  # as when asct is killed: nothing is said to the host
    second = opened(own_sshd, SESSION)
    assert second.resumed and second.work == work
    second.wait_until_idle()
    assert runs(second) == ["0", "1", "2"]
    assert [second.run(task).status for task in tasks] == [0, 0, 0]
    assert second.run(counting(second, tmp_path, 7)).status == 0
    assert runs(second) == ["0", "1", "2", "7"]
    runner = noted(second, ".pid")
    second.close()
    assert not Path(work).exists() and gone(runner)


def test_what_lost_its_shells_does_not_hold_the_session(own_sshd: Sshd, tmp_path: Path) -> None:
    """All processes that record remaining ones were killed. The remaining ones are found because they have the session
    file open."""
    first = opened(own_sshd)
    work = first.work
    first.announce([counting(first, tmp_path, 1, 120.0)])
    until(lambda: runs(first))
    first._link.cut()
    left = noted(first, ".task")
    os.killpg(noted(first, ".pid"), signal.SIGKILL)
    os.kill(left, signal.SIGKILL)
    second = opened(own_sshd, SESSION)
    assert second.resumed
    assert second.run(counting(second, tmp_path, 2)).status == 0
    second.close()
    assert not Path(work).exists()


def test_a_folder_goes_although_a_shell_of_the_runner_still_writes_into_it(own_sshd: Sshd) -> None:
    """A task has just started when asct leaves the session, which a thread simulates."""
    host = opened(own_sshd)
    work = Path(host.work)

    def write() -> None:
        over = None
        while over is None or time.monotonic() < over:
            if over is None and not (work / ".control").exists():
                over = time.monotonic() + 0.1
            for number in range(20):
                with suppress(OSError):
                    (work / f"note{number}").write_text("")

    writer = threading.Thread(target=write)
    writer.start()
    host.close()
    writer.join()
    assert not work.exists()


def test_a_runner_that_was_told_nothing_is_reminded(
    host: RemoteHost, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The message about a job is lost. The runner reports that it is idle, and is notified again."""
    session = host._session
    said: list[str] = []
    say = session._send

    def lossy(line: str) -> None:
        said.append(line)
        if line != "job 2" or line in said[:-1]:
            say(line)

    monkeypatch.setattr(session, "_send", lossy)
    assert host.run(counting(host, tmp_path, 0)).status == 0
    host.wait_until_idle()  # until then it looks for the next job without being told
    while session._journal.counts["pong"] < sum(line.startswith("ping") for line in said):  # some answers may be late
        session._process(session._receive(runner_session.POLL_S))
    monkeypatch.setattr(runner_session, "PING_S", 0.5)
    assert host.run(counting(host, tmp_path, 1)).status == 0
    assert [line for line in said if line.startswith("job")] == ["job 1", "job 2", "job 2"]
    assert session._journal.tasks["k1"].reminded and runs(host) == ["0", "1"]


def test_a_task_that_the_runner_passes_over_is_refused(
    host: RemoteHost, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The job file is missing. The runner is reminded once, and then the task fails."""
    monkeypatch.setattr(runner_session, "PING_S", 0.5)
    monkeypatch.setattr(host._link.files, "write", lambda *_: None)
    with pytest.raises(HostError) as error:
        host.run(counting(host, tmp_path, 0))
    assert "skipped" in error.value.diagnostics[0].message


@pytest.mark.parametrize("how", ["left", "lingered"])
def test_the_card_goes_with_the_runner(brief_linger: None, own_sshd: Sshd, how: str) -> None:
    host = opened(own_sshd)
    runner = noted(host, ".pid")
    card = Path(f"/var/tmp/asct.lock.{runner}")
    assert str(card.readlink()).endswith(f" {SESSION.owner}")
    if how == "left":
        host.close()
    else:
        host._link.cut()
    assert gone(runner) and not os.path.lexists(card)


def test_a_session_of_another_boot_is_not_taken_up(own_sshd: Sshd, tmp_path: Path) -> None:
    first = opened(own_sshd)
    work = first.work
    assert first.run(counting(first, tmp_path, 1)).status == 0
    first._link.cut()
    os.killpg(noted(first, ".pid"), signal.SIGKILL)
    Path(work, ".session").write_text("another-boot\n")
    second = opened(own_sshd, SESSION)
    assert not second.resumed and second.work == work and not Path(work, "log").exists()
    second.close()


def test_a_host_that_was_started_anew_is_told(host: RemoteHost, tmp_path: Path) -> None:
    def reboot() -> None:
        os.killpg(noted(host, ".pid"), signal.SIGKILL)
        os.killpg(noted(host, ".task"), signal.SIGKILL)
        Path(host.work, ".session").write_text("another-boot\n")
        os.kill(connection, signal.SIGKILL)

    connection = session_of(host)
    rebooting = meanwhile(lambda: runs(host), reboot)
    with pytest.raises(HostLost) as error:
        host.run(counting(host, tmp_path, 1, 2 * PATIENCE_S))
    rebooting.join()
    assert error.value.diagnostics[0].code == "E335"


def alone(host: Host, into: Path, script: str) -> tuple[Task, Path]:
    """Return a task that leaves a process in a separate session, and the file that contains the pid of this process."""
    note = Path(host.work, "stray")
    stray = f"setsid sh -c 'echo $$ >{note}; exec sleep 300' </dev/null >/dev/null 2>&1 &"
    text = f"{stray} while [ ! -s {note} ]; do sleep 0.02; done; {script}"
    return Task(Process(("sh", "-c", text), f"{host.work}/t"), into / "t", key="k"), note


def test_what_a_killed_program_left_in_a_session_of_its_own_is_ended(host: RemoteHost, tmp_path: Path) -> None:
    task, note = alone(host, tmp_path, "kill -KILL $$")
    assert host.run(task).status == -signal.SIGKILL
    assert host.run(counting(host, tmp_path, 1)).status == 0
    assert ended(int(note.read_text()))


def test_a_guardian_outlives_what_it_waits_for(host: RemoteHost, tmp_path: Path) -> None:
    """Like guard's process that removes a RAID set, the guardian waits for a program that does not end on request."""
    texts = {
        "deaf.sh": "trap : TERM; echo $$ >deaf; while :; do sleep 0.1; done",
        "guardian.sh": "trap '' TERM; : >ready; while kill -0 $(cat deaf) 2>/dev/null; do sleep 0.1; done; : >removed",
    }
    text = "setsid sh deaf.sh & while [ ! -s deaf ]; do sleep 0.02; done; setsid sh guardian.sh & "
    text += "while [ ! -e ready ]; do sleep 0.02; done; kill -KILL $$"
    folder = Path(host.work, "t")
    task = Task(Process(("sh", "-c", f"exec </dev/null >/dev/null 2>&1; {text}"), str(folder)), tmp_path / "t", texts)
    assert host.run(task).status == -signal.SIGKILL
    assert host.run(counting(host, tmp_path, 1)).status == 0
    assert (folder / "removed").exists() and ended(int((folder / "deaf").read_text()))


def test_a_guardian_outlives_what_it_waits_for_when_a_resumed_session_ends(
    host: RemoteHost, own_sshd: Sshd, tmp_path: Path
) -> None:
    """Nothing is heard from the runner of a resumed session, so another shell tells it to end and waits for that."""
    removed = own_sshd.folder / "account" / "removed"  # the work folder is removed as well
    texts = {
        "deaf.sh": "trap : TERM; echo $$ >deaf; while :; do sleep 0.1; done",
        "guardian.sh": f"trap '' TERM; : >ready; while kill -0 $(cat deaf); do sleep 0.1; done; : >{removed}",
    }
    text = "setsid sh deaf.sh & while [ ! -s deaf ]; do sleep 0.02; done; setsid sh guardian.sh & "
    text += "while [ ! -e ready ]; do sleep 0.02; done"
    process = Process(("sh", "-c", f"exec </dev/null >/dev/null 2>&1; {text}"), f"{host.work}/t")
    assert host.run(Task(process, tmp_path / "t", texts)).status == 0
    os.kill(session_of(host), signal.SIGKILL)
    assert host.run(counting(host, tmp_path, 1)).status == 0 and host.resumed
    host.close()
    assert removed.exists()


def test_a_program_left_behind_may_end_in_its_time_if_sleep_takes_only_whole_seconds(
    own_sshd: Sshd, tmp_path: Path
) -> None:
    whole = {"sleep": 'case $1 in *.*) exit 1 ;; esac\nexec /bin/sleep "$1"'}
    force(own_sshd, with_programs(own_sshd.folder / "whole", whole))
    host = opened(own_sshd)
    folder = Path(host.work, "t")
    orderly = "trap '/bin/sleep 4; : >cleaned; exit' TERM; : >ready; while :; do sleep 1; done"
    text = "setsid sh orderly.sh & while [ ! -e ready ]; do /bin/sleep 0.02; done; kill -KILL $$"
    process = Process(("sh", "-c", f"exec </dev/null >/dev/null 2>&1; {text}"), str(folder))
    assert host.run(Task(process, tmp_path / "t", {"orderly.sh": orderly})).status == -signal.SIGKILL
    assert host.run(counting(host, tmp_path, 1)).status == 0
    assert (folder / "cleaned").exists()
    host.close()


def test_what_a_program_left_behind_does_not_keep_the_host(host: RemoteHost, own_sshd: Sshd, tmp_path: Path) -> None:
    task, note = alone(host, tmp_path, "exit 0")
    assert host.run(task).status == 0
    stray, work = int(note.read_text()), Path(host.work)
    assert not ended(stray)
    host.close()
    assert ended(stray) and not work.exists()
    opened(own_sshd).close()


def test_a_resumed_run_writes_over_what_was_half_sent(own_sshd: Sshd, tmp_path: Path) -> None:
    source = tmp_path / "kernel"
    source.write_bytes(b"x" * 100_000)
    first = opened(own_sshd)
    target = Path(first.cache, "kernels", "k", "kernel")
    first.put(source, str(target), mode=0o755)
    partial = target.with_name(f"kernel.{first._mark}.part")
    target.rename(partial)
    partial.write_bytes(b"half")
    first.close()
    second = opened(own_sshd)
    second.put(source, str(target), mode=0o755)
    assert target.read_bytes() == source.read_bytes() and list(target.parent.iterdir()) == [target]
    second.close()


def test_one_run_at_a_time(host: RemoteHost, own_sshd: Sshd) -> None:
    with pytest.raises(HostLocked) as error:
        opened(own_sshd, SessionSpec("r2", "run r2 of the tests"))
    found = error.value
    assert (found.owner, found.exit_code, found.diagnostics[0].code) == (SESSION.owner, 4, "E334")
    assert f"(process {noted(host, '.pid')})" in found.diagnostics[0].message
    assert list(Path(host.work).parent.glob("run-*")) == [Path(host.work)]  # the refused one left none
    host.close()
    opened(own_sshd, SessionSpec("r2", "run r2 of the tests")).close()


def test_this_machine_and_ssh_to_it_share_the_lock(host: RemoteHost, tmp_path: Path) -> None:
    from asct.plan.model import HostSpec

    here = make_host(HostSpec("here", "local", workdir=str(tmp_path / "w")))
    with pytest.raises(HostLocked) as error:
        here.open(SESSION)
    assert error.value.owner == SESSION.owner
    host.close()
    here.open(SESSION)
    here.close()


def test_cancel_ends_what_runs_and_forgets_the_rest(host: RemoteHost, tmp_path: Path) -> None:
    tasks = [counting(host, tmp_path, number, PATIENCE_S) for number in range(3)]
    host.announce(tasks)
    until(lambda: runs(host))
    host.cancel()
    assert runs(host) == ["0"]
    assert host.run(counting(host, tmp_path, 9)).status == 0


@pytest.mark.parametrize("used", [True, False])
def test_an_idle_runner_without_a_connection_lets_the_host_go(
    brief_linger: None, own_sshd: Sshd, tmp_path: Path, used: bool
) -> None:
    """The folder remains for `asct resume` if it contains results."""
    host = opened(own_sshd)
    work, runner = host.work, noted(host, ".pid")
    if used:
        assert host.run(counting(host, tmp_path, 1)).status == 0
    host._link.cut()
    assert gone(runner) and Path(work).exists() == used
    opened(own_sshd, SessionSpec("r2", "run r2 of the tests")).close()
