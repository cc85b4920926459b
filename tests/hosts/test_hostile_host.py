"""Hostile hosts: any response results in a diagnostic, quickly and without exhausting local memory."""

from __future__ import annotations

import resource
import time
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import cast

import pytest

from asct.errors import AsctError, HostError, HostLost, HostTimeout
from asct.hosts import link, runner_session
from asct.hosts.base import Process, SessionSpec, Task
from asct.hosts.factory import make_host
from asct.hosts.link import SLOWEST, Channel, TimedLink
from asct.hosts.shell_files import ShellFiles
from tests.awaiting import PATIENCE_S, until
from tests.hosts.forced import end, force, through
from tests.sshd import Sshd

pytestmark = pytest.mark.ssh

SHORT_S = 3.0
LONGER_S = 15.0
"""Limit for a program that prints without end, which a busy machine may start late."""
MEMORY_KIB = 300 << 10
OPENINGS = {
    "random bytes": "exec head -c 3000000 /dev/urandom",
    "zeros without end": "exec cat /dev/zero",
    "one line without end": "printf asct:work; exec cat /dev/zero | tr '\\0' a",
    "lines without end": "exec yes asct:work /tmp",
    "new words without end": 'exec awk \'BEGIN { while (1) print "asct:word" n++ " x" }\'',
    "tasks without end": 'exec awk \'BEGIN { while (1) print "asct:started k" n++ " 1" }\'',
    "errors without end": "exec yes trouble >&2",
    "silence": "exec sleep 45",
    "nothing": "exit 0",
    "a death": "kill -9 $$",
    "no numbers": "printf 'asct:work /tmp\\nasct:cache /tmp\\nasct:ready\\nasct:serving x\\n'; exec sleep 45",
    "a negative number": "printf 'asct:work /tmp\\nasct:cache /tmp\\nasct:ready\\nasct:serving -1\\n'; exec sleep 45",
    "half of it": "printf 'asct:work\\nasct:ready\\nasct:serving\\n'; exec sleep 45",
    "folders elsewhere": "printf 'asct:work ../x\\nasct:cache \\nasct:ready\\nasct:serving 1\\n'; exec sleep 45",
    "refusals": "printf 'asct:failed \\033[2J%05000d\\n'",
    "a lock": "printf 'asct:locked\\n'",
}
LIES = {
    "no time": "s/^\\(asct:started [^ ]*\\) .*/\\1 nan/",
    "no end of time": "s/^\\(asct:ended [^ ]*\\) [^ ]*/\\1 1e999/",
    "time backwards": "s/^\\(asct:ended [^ ]*\\) [^ ]*/\\1 -5/",
    "a wild status": "s/^\\(asct:ended [^ ]* [^ ]*\\) .*/\\1 99999999999999999999 0/",
    "a negative status": "s/^\\(asct:ended [^ ]* [^ ]*\\) .*/\\1 -7 0/",
    "no status": "s/^asct:ended .*/asct:ended/",
    "too many files": "s/^\\(asct:done [^ ]*\\) .*/\\1 ffffffffffffffff/",
    "too few files": "s/^\\(asct:done [^ ]*\\) .*/\\1 f/",
    "files that are not there": "s/^\\(asct:done [^ ]*\\) .*/\\1 fff/",
    "no flags": "s/^\\(asct:done [^ ]*\\) .*/\\1 zzz x y/",
    "wild companions": "s/^\\(asct:done [^ ]* [^ ]*\\).*/\\1 1e9 99999999999999999999/",
    "another task": "s/^\\(asct:[a-z]*\\) [^ ]*/\\1 other/",
}


@pytest.fixture(autouse=True)
def impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    """Shorten the limits of exchanges, because the test only checks that they apply."""
    for name in ("SHORT_S", "PING_S", "PONG_S", "STOP_S", "KILL_S"):
        monkeypatch.setattr(runner_session, name, SHORT_S)
    monkeypatch.setattr(runner_session, "RECONNECT_S", SHORT_S)


def ends(server: Sshd, tmp_path: Path) -> AsctError | None:
    """Open the host and run a task. This must not take much time or memory, and must raise an error meant for users."""
    before, began = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss, time.monotonic()
    host = make_host(server.spec(options={"connect_timeout": PATIENCE_S, "reconnect_timeout": SHORT_S}))
    try:
        host.open(SessionSpec("run", "somebody"))
        task = Task(Process(("echo", "x"), f"{host.work}/t"), tmp_path / "into", collect=("f",), timeout_s=5)
        host.run(task)
    except AsctError as error:
        assert error.diagnostics
        return error
    finally:
        host.close()
        end(server)
        assert time.monotonic() - began < 120
        assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < MEMORY_KIB
    return None


@pytest.mark.parametrize("case", OPENINGS)
def test_what_a_host_says_when_it_is_opened(
    own_sshd: Sshd, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, case: str
) -> None:
    if "without end" in case:
        monkeypatch.setattr(runner_session, "SHORT_S", LONGER_S)
    force(own_sshd, OPENINGS[case] + "\n")
    error = ends(own_sshd, tmp_path)
    assert error is not None
    assert all(len(item.message) < 1000 for item in error.diagnostics)
    if "without end" in case:  # it is not told as silence
        assert error.diagnostics[0].code == "E327"


@pytest.mark.parametrize("case", LIES)
def test_what_a_host_says_of_a_task(own_sshd: Sshd, tmp_path: Path, case: str) -> None:
    force(own_sshd, through(LIES[case]))
    error = ends(own_sshd, tmp_path)
    assert error is None or isinstance(error, HostError)


def test_a_host_that_answers_file_transfer_with_words(own_sshd: Sshd, tmp_path: Path) -> None:
    for script in ("exec yes", "exec cat /dev/urandom", "exec sleep 45", "exit 0"):
        first = own_sshd.folder / "account" / f"first-{script.split()[1]}"  # the session is opened as usual
        force(own_sshd, f"[ -e {first} ] || {{ : >{first}; exec sh -s; }}\n{script}\n")
        assert isinstance(ends(own_sshd, tmp_path), AsctError)


class Node:
    """The channel to the files of a host, with replies chosen by the test."""

    def __init__(self, *answers: bytes) -> None:
        self.answers = [b"asct:ready\n", *answers]

    def send(self, data: bytes) -> None:
        """Ignore the request."""

    def receive(self, timeout_s: float) -> bytes:
        return self.answers.pop(0) if len(self.answers) > 1 else self.answers[0]

    def message(self) -> str:
        return ""


def files_of(node: Node, progress: Callable[[int], None] = lambda _: None) -> ShellFiles:
    return ShellFiles("h", "h (node)", cast(Channel, node), progress)


@pytest.mark.parametrize(
    "answer",
    [b"asct:ok 4098\n", b"asct:ok -1\n", b"asct:ok 1e3\n", b"asct:ok\n", b"a" * 70_000,
     b"asct:done\n", b"line\n", b"asct:ok 4\nabc\nd"],
)  # fmt: skip
def test_what_a_node_of_slurm_says_of_a_file(tmp_path: Path, answer: bytes) -> None:
    """A reply must not be longer than requested. After any other reply, nothing that follows is taken for a reply."""
    files = files_of(Node(answer))
    with pytest.raises(HostError) as error:
        files.fetch("/x", tmp_path / "x", 4096)
    assert error.value.diagnostics[0].code == "E327"
    assert not (tmp_path / "x").exists()
    with pytest.raises(HostLost):
        files.exists("/x")


def test_lines_between_replies_are_ignored(tmp_path: Path) -> None:
    """A login script may have left a program running."""
    answers = [b"hello\nasct:ok 4\nabc\n\n", b"hel", b"lo\nasct:there\n", b"hello\nasct:done\n"]
    files = files_of(Node(*answers))
    assert files.fetch("/x", tmp_path / "x", 3) and (tmp_path / "x").read_text() == "abc"
    assert files.exists("/x")
    files.write("/x", b"")


def test_an_interrupted_transfer_ends_the_channel(tmp_path: Path) -> None:
    """Otherwise, the rest of its content would be taken for the next reply."""

    class Interrupted(Node):
        def receive(self, timeout_s: float) -> bytes:
            if len(self.answers) == 2:
                self.answers.pop(0)
                raise KeyboardInterrupt
            return super().receive(timeout_s)

    files = files_of(Interrupted(b"asct:ok 12\n", b"", b"asct:there\n\n\n"))
    with pytest.raises(KeyboardInterrupt):
        files.fetch("/x", tmp_path / "x", 100)
    with pytest.raises(HostLost):
        files.exists("/x")


class SlowNode(Node):
    """A node whose clock advances by `seconds` before each answer. An empty answer is a pause."""

    def __init__(self, seconds: float, *answers: bytes) -> None:
        super().__init__(*answers)
        self.connection = SlowLink("h")
        self.seconds = seconds
        self.now = 0.0

    def receive(self, timeout_s: float) -> bytes:
        self.now += self.seconds
        if self.connection.overdue():
            until(lambda: self.connection.late, "the connection is not dropped")
            return b""
        answer = super().receive(timeout_s)
        if not answer:
            raise TimeoutError
        return answer


class SlowLink(TimedLink):
    def cut(self) -> None:
        """Do nothing: the node ends the channel."""


def copy_slowly(node: SlowNode, copy: Callable[[ShellFiles], object], monkeypatch: pytest.MonkeyPatch) -> None:
    """Copy a file with a time limit of 30 s by the node's clock."""
    monkeypatch.setattr(link, "time", SimpleNamespace(monotonic=lambda: node.now))
    monkeypatch.setattr(link, "CHECK_S", 0.01)
    node.connection.watch()
    try:
        with node.connection.within(30, "copying"):
            copy(files_of(node, node.connection.progress))
    finally:
        node.connection.unwatch()


def test_a_transfer_may_take_long_while_data_arrive(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    node = SlowNode(10, b"asct:ok 5000001\n", *[b"x" * 250_000] * 20, b"\n\n")
    copy_slowly(node, lambda files: files.fetch("/x", tmp_path / "x", 1 << 30), monkeypatch)
    assert (tmp_path / "x").stat().st_size == 5_000_000 and node.now > 200


def test_a_transfer_may_take_long_while_the_host_confirms_data(monkeypatch: pytest.MonkeyPatch) -> None:
    node = SlowNode(3, b"asct:done\n")
    copy_slowly(node, lambda files: files.write("/x", bytes(5_000_000)), monkeypatch)
    assert node.now > 200


@pytest.mark.parametrize(
    ("seconds", "answer"), [(1, b""), (10, b"x"), (2, b"x" * SLOWEST)], ids=["silent", "drop by drop", "too slow"]
)
def test_a_transfer_that_stalls_ends(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, seconds: float, answer: bytes
) -> None:
    node = SlowNode(seconds, b"asct:ok 1000000000\n", answer)
    with pytest.raises(HostTimeout):
        copy_slowly(node, lambda files: files.fetch("/x", tmp_path / "x", 1 << 30), monkeypatch)
    assert node.now < 70 and not (tmp_path / "x").exists()


@pytest.mark.parametrize(("seconds", "answer"), [(1, b""), (10, b"asct:done\n")], ids=["silent", "too slow"])
def test_a_transfer_that_the_host_does_not_confirm_ends(
    monkeypatch: pytest.MonkeyPatch, seconds: float, answer: bytes
) -> None:
    node = SlowNode(seconds, answer)
    with pytest.raises(HostTimeout):
        copy_slowly(node, lambda files: files.write("/x", bytes(5_000_000)), monkeypatch)
    assert node.now < 90


@pytest.mark.parametrize("answers", [False, True])
def test_while_a_session_is_ended_a_silent_host_is_given_up_soon(
    monkeypatch: pytest.MonkeyPatch, answers: bool
) -> None:
    """The limit applies to the time since anything last arrived. A host that sends something each second keeps the time
    of the exchange."""
    node = SlowNode(1, b"")
    node.connection.ask = lambda: setattr(node.connection, "asked", node.now)  # type: ignore[method-assign]
    node.connection.heard = lambda: node.now if answers else 0.0  # type: ignore[method-assign]

    def copy(files: ShellFiles) -> None:
        files.wait_until_ready()
        node.connection.hurry()
        until(lambda: node.connection.asked is not None)
        files.exists("/x")

    with pytest.raises(HostTimeout) as error:
        copy_slowly(node, copy, monkeypatch)
    limit_s = 30 if answers else link.ANSWER_S
    assert limit_s <= node.now < limit_s + 10 and f"within {limit_s:g} s" in str(error.value)


def test_a_revoked_key_is_refused_as_such(sshd: Sshd, tmp_path: Path) -> None:
    """A revoked key is refused even if another line trusts it; a key of a certificate authority is unknown."""
    line = sshd.known_hosts.read_text()
    name, key = line.split(" ", 1)
    known = tmp_path / "known"
    for lines, code in (
        (f"{line}@revoked * {key}", "E315"),
        (f"@revoked {name} {key}", "E315"),
        (f"@cert-authority {name} {key}", "E307"),
    ):
        known.write_text(lines)
        with pytest.raises(AsctError) as error:
            make_host(sshd.spec(known_hosts=str(known))).open()
        assert error.value.diagnostics[0].code == code
