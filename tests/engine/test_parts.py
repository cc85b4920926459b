"""The small parts of the engine, tested individually."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import threading
from pathlib import Path

import pytest

from asct.diagnostics.model import Diagnostic
from asct.engine import events
from asct.engine.events import EventBus
from asct.engine.failures import command_line, failure_of, signal_name
from asct.engine.points import middle, shared_results
from asct.engine.run import git_commit
from asct.engine.stop import StopRequest, signals
from asct.sdk.step import Kernel, Output, Step, Tool
from asct.store.writer import RunWriter
from tests.store.make import head


def test_the_middle_of_repeats_is_a_value_that_was_measured() -> None:
    assert middle([3, 1, 2]) == 2
    assert middle([4096, 8192]) == 4096
    assert middle([1.0, 2.0]) == 1.5
    assert middle(["a", "b", "b"]) == "b"
    assert middle([True, False, True]) is True


def test_exports_on_which_points_differ_are_left_out() -> None:
    first = [{"size": value, "same": 5} for value in (1, 9, 2)]
    assert shared_results([first]) == {"size": 2, "same": 5}
    assert shared_results([first, [{"size": 3, "same": 5, "only": 1.5}]]) == {"same": 5, "only": 1.5}
    assert shared_results([]) == {}


def git(folder: Path, *arguments: str) -> str:
    environment = {**os.environ, "GIT_CONFIG_GLOBAL": "/dev/null", "GIT_CONFIG_SYSTEM": "/dev/null"}
    command = ["git", "-c", "user.name=n", "-c", "user.email=e@example.org", *arguments]
    return subprocess.run(
        command, cwd=folder, check=True, capture_output=True, text=True, env=environment
    ).stdout.strip()


def test_the_commit_of_a_plan(tmp_path: Path) -> None:
    repository = tmp_path / "repository"
    (repository / "plans").mkdir(parents=True)
    plan = repository / "plans" / "a.yaml"
    plan.write_text("plan: 1\n")
    git(repository, "init", "-q", "-b", "trunk")
    assert git_commit(plan) is None
    git(repository, "add", ".")
    git(repository, "commit", "-q", "-m", "first")
    commit = git(repository, "rev-parse", "HEAD")
    assert git_commit(plan) == commit
    git(repository, "pack-refs", "--all")
    assert git_commit(plan) == commit
    git(repository, "worktree", "add", "-q", str(tmp_path / "other"))
    assert git_commit(tmp_path / "other" / "plans" / "a.yaml") == commit
    git(repository, "checkout", "-q", "--detach")
    assert git_commit(plan) == commit
    (repository / ".git" / "HEAD").write_text("ref: ../../../etc/passwd\n")
    assert git_commit(plan) is None


def test_no_repository_no_commit(tmp_path: Path) -> None:
    assert git_commit(tmp_path / "a.yaml") is None


def failure(
    program: Kernel | Tool, status: int, stdout: str = "", stderr: str = "", timed_out_s: float | None = None
) -> Diagnostic | None:
    step = Step("step", program, env={"A": "b c"})
    output = Output(step, status, {"stdout": stdout, "stderr": stderr})
    return failure_of(output, "h", "jobs/x", ("/bin/x", "a b"), timed_out_s)


@pytest.mark.parametrize(
    ("stdout", "code"),
    [
        ('{"t":"end","ok":true}\n', None),
        ('{"t":"meta"}\n{"t":"end","ok":true}\n', None),
        ('{"t":"end","ok":true}', "E607"),
        ('{"t":"end","ok":true}\n{"t":"sample"}\n', "E607"),
        ('{"t":"end","ok":1}\n', "E606"),
        ('"end"\n', "E607"),
        ("\n", "E607"),
        ("", "E607"),
    ],
)
def test_only_a_whole_end_line_is_a_good_end(stdout: str, code: str | None) -> None:
    found = failure(Kernel("k"), 0, stdout)
    assert (found.code if found else None) == code


def test_failures_show_the_last_lines_and_the_command() -> None:
    found = failure(Tool("fio"), 1, stderr="\n".join(f"line {n}" for n in range(50)) + "\n" + "x" * 9999)
    assert found is not None
    notes = [text for text, _ in found.notes]
    assert notes[0] == "last lines of its output:"
    assert notes[1].strip() == "line 46" and len(notes[5]) < 500
    assert notes[-2:] == ["complete output: jobs/x/", "to run it again on h: env 'A=b c' /bin/x 'a b'"]
    timeout = failure(Tool("fio"), 0, timed_out_s=2.5)
    assert timeout is not None and "limit of 2.5 s" in timeout.message
    assert failure(Tool("fio"), 0) is None
    assert (signal_name(11), signal_name(99)) == ("SIGSEGV", "signal 99")
    assert command_line(("a", "$(b)"), {}) == "a '$(b)'"


def test_a_signal_wins_over_fail_fast_and_the_first_one_counts() -> None:
    stop = StopRequest()
    stop.request("fail-fast")
    assert stop.requested and not stop.at_once
    stop.on_signal(signal.SIGTERM, None)
    stop.on_signal(signal.SIGINT, None)
    assert (stop.reason, stop.signal, stop.at_once) == ("signal", signal.SIGTERM, True)


def test_only_the_second_sigint_ends_the_reports() -> None:
    stop, reached = StopRequest(), []
    with signals(stop):
        for number in (signal.SIGINT, signal.SIGINT):
            os.kill(os.getpid(), number)
        with pytest.raises(KeyboardInterrupt), stop.reporting():
            for number in (signal.SIGTERM, signal.SIGINT, signal.SIGTERM, signal.SIGINT, signal.SIGINT):
                reached.append(number)
                os.kill(os.getpid(), number)
        os.kill(os.getpid(), signal.SIGINT)
    assert reached == [signal.SIGTERM, signal.SIGINT, signal.SIGTERM, signal.SIGINT]


def test_handlers_are_left_alone_outside_of_the_main_thread() -> None:
    before = signal.getsignal(signal.SIGINT)
    seen = []

    def body() -> None:
        with signals(StopRequest()):
            seen.append(signal.getsignal(signal.SIGINT))

    thread = threading.Thread(target=body)
    thread.start()
    thread.join()
    assert seen == [before]


def test_a_closed_terminal_is_reported_as_sigterm() -> None:
    stop = StopRequest()
    before = signal.signal(signal.SIGHUP, signal.SIG_DFL)
    try:
        with signals(stop):
            os.kill(os.getpid(), signal.SIGHUP)
        assert (stop.reason, stop.signal, stop.at_once) == ("signal", signal.SIGTERM, True)
        assert signal.getsignal(signal.SIGHUP) is signal.SIG_IGN, "a second one would end the clean-up"
    finally:
        signal.signal(signal.SIGHUP, before)


def test_another_signal_leaves_hang_ups_as_they_were() -> None:
    stop = StopRequest()
    before = signal.getsignal(signal.SIGHUP)
    with signals(stop):
        os.kill(os.getpid(), signal.SIGTERM)
    assert (stop.signal, signal.getsignal(signal.SIGHUP)) == (signal.SIGTERM, before)


def test_a_hang_up_that_is_ignored_stays_ignored() -> None:
    stop = StopRequest()
    before = signal.signal(signal.SIGHUP, signal.SIG_IGN)
    try:
        with signals(stop):
            os.kill(os.getpid(), signal.SIGHUP)
        assert not stop.requested
    finally:
        signal.signal(signal.SIGHUP, before)


def test_all_listeners_and_the_journal_see_one_order(tmp_path: Path) -> None:
    writer = RunWriter.create(tmp_path, head(), "", "{}")
    seen: list[list[str]] = [[], []]
    bus = EventBus(writer, [lambda event, mine=mine: mine.append(event.text) for mine in seen])  # type: ignore[misc]

    def tell(name: str) -> None:
        for number in range(50):
            bus.emit(events.HostReady(name, f"{name}{number}"))

    threads = [threading.Thread(target=tell, args=(name,)) for name in "abc"]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    writer.close()
    lines = writer.layout.journal.read_text().splitlines()
    assert seen[0] == seen[1] and len(lines) == 150
    assert [json.loads(line)["text"] for line in lines] == seen[0]


def test_the_journal_is_flushed_before_a_host_is_changed_and_when_a_job_ends(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A resumed run needs the token of a session and the ends of points."""
    writer = RunWriter.create(tmp_path, head(), "", "{}")
    flushed: list[str] = []

    def flush(_: int) -> None:
        flushed.append(json.loads(writer.layout.journal.read_text().splitlines()[-1])["t"])

    monkeypatch.setattr(os, "fdatasync", flush)
    bus = EventBus(writer, ())
    bus.emit(events.HostOpening("h", "0" * 32))
    bus.emit(events.HostReady("h"))
    bus.emit(events.JobStarted("h", "j", "noop", 1))
    bus.emit(events.JobEnded("h", "j", {"ok": 1}))
    writer.close()
    assert flushed == ["host-opening", "job-ended"]
