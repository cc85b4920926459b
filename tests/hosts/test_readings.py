"""Readings before and after each task, on every transport and while the connection is down."""

from __future__ import annotations

import os
import re
import signal
import threading
import time
from itertools import pairwise
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from asct.errors import HostError
from asct.hosts.base import Process, ReadingSpec, SessionSpec, Task, TaskResult
from asct.hosts.factory import make_host
from asct.hosts.readings import MOST_BYTES, ReadingLog
from asct.plan.model import HostSpec
from asct.sdk.step import HostReadings
from tests.awaiting import PATIENCE_S, until
from tests.hosts.conftest import READING, SESSION, Bench
from tests.sshd import Sshd

LOG = """= a before
/proc/uptime:1.00 1.00
= a used
0m0.00s 0m0.00s
1m2.50s 0m0.25s
= a after
/proc/uptime:2.00 1.50
= a over
= b again
= b used
0m0.000000s 0m0.000000s
0m0.010000s 0m0.000000s
= b after
/proc/uptime:3.00 1.50
= b over
= c again
= c used
0m0.001s 0m0.002s
0m0.003s 0m0.004s
= c over
= d before
/proc/uptime:4.00 1.50
= d used
0m0.001s 0m0.002s
0m0.003s 0m0.004s
= d over
= e again
= e used
0m0.001s 0m0.000s
0m0.010s 0m0.000s
= e over
= f again
= f used
0m0.002s 0m0.000s
0m0.200s 0m0.000s
= f after
/proc/uptime:5.00 1.50
= f over
"""


@pytest.fixture
def log() -> ReadingLog:
    found = ReadingLog()
    found.take(LOG.encode())
    return found


def test_the_log_tells_both_ends_of_each_task(log: ReadingLog) -> None:
    assert all(map(log.has, "abcdef")) and not log.has("g")
    assert log.of("a") == HostReadings("/proc/uptime:1.00 1.00", "/proc/uptime:2.00 1.50", 62_760_000_000)
    assert log.of("b") == HostReadings("/proc/uptime:2.00 1.50", "/proc/uptime:3.00 1.50", 15_000_000)
    assert log.of("g") == HostReadings() and log.offset == len(LOG)


def test_brief_tasks_have_what_was_read_last_before_them(log: ReadingLog) -> None:
    assert log.of("c") == HostReadings("/proc/uptime:3.00 1.50", brief=True)
    assert log.of("d") == log.of("e") == HostReadings("/proc/uptime:4.00 1.50", brief=True)


def test_the_time_of_brief_tasks_counts_in_the_window_they_share(log: ReadingLog) -> None:
    """Otherwise, the window from before d to after f would attribute the time of d and e to other programs."""
    assert log.of("f") == HostReadings("/proc/uptime:4.00 1.50", "/proc/uptime:5.00 1.50", (202 + 10 + 11) * 1_000_000)


def test_ticks_rounded_down_are_counted_as_their_mean() -> None:
    """dash prints 0.01 s for anything below 0.02 s, whereas bash prints milliseconds."""
    log = ReadingLog()
    log.take(b"= a before\n/x:1\n= a used\n0m0.00s 0m0.00s\n0m0.11s 0m0.02s\n= a after\n/x:2\n= a over\n")
    log.take(b"= b again\n= b used\n0m0.001s 0m0.00s\n0m0.110s 0m0.020s\n= b after\n/x:3\n= b over\n")
    assert (log.of("a").cpu_ns, log.of("b").cpu_ns) == (140_000_000, 131_000_000)


def test_a_task_that_was_killed_has_only_its_beginning() -> None:
    log = ReadingLog()
    log.take(b"= a before\n/x:1\n= a after\n/x:2\n= b before\n/x:3\n= b after\n/x:4\n= b over\n")
    assert not log.has("a") and log.of("a") == HostReadings(before="/x:1")
    assert log.of("b") == HostReadings("/x:3", "/x:4")


@given(st.lists(st.integers(0, len(LOG)), max_size=8))
def test_pieces_of_any_size_are_put_together(cuts: list[int]) -> None:
    log, whole = ReadingLog(), ReadingLog()
    whole.take(LOG.encode())
    places = [0, *sorted(cuts), len(LOG)]
    for start, end in pairwise(places):
        log.take(LOG[start:end].encode())
    assert [log.of(key) for key in "abcdef"] == [whole.of(key) for key in "abcdef"]


@given(st.binary(max_size=300))
def test_no_log_is_too_odd(data: bytes) -> None:
    log = ReadingLog()
    log.take(data + b"\n= a before\n" + data + b"\n= a after\n" + data + b"\n= a over\n")
    assert log.has("a") and log.of("a").after.count("\n") <= data.count(b"\n")


def test_a_log_without_an_end_is_bounded() -> None:
    log = ReadingLog()
    for _ in range(64):
        log.take(b"/x:" + b"1" * 4000 + b"\n")
        log.take(b"2" * 9000)
    log.take(b"\n= a over\n")
    assert sum(map(len, vars_of(log))) < 3 * MOST_BYTES


def test_empty_lines_without_an_end_are_bounded() -> None:
    log = ReadingLog()
    for _ in range(64):
        log.take(b"\n" * 4000)
    assert len(log._lines) <= MOST_BYTES


def vars_of(log: ReadingLog) -> list[bytes | str]:
    return [log._rest, *log._lines]


def uptimes(done: TaskResult) -> tuple[float, float]:
    texts = (done.readings.before, done.readings.after)
    found = [re.search(r"^/proc/uptime:([0-9.]+) ", text, re.MULTILINE) for text in texts]
    assert found[0] and found[1], texts
    return float(found[0][1]), float(found[1][1])


def test_a_task_is_read_around_on_every_transport(bench: Bench) -> None:
    busy = 'i=0; while [ "$i" -lt 200000 ]; do i=$((i + 1)); done; sleep 0.3'
    done = bench.run("sh", "-c", busy)
    before, after = uptimes(done)
    assert 0.28 <= after - before < 60
    assert done.readings.cpu_ns is not None and 10_000_000 <= done.readings.cpu_ns < 60e9
    assert "/proc/nothing" not in done.readings.before and "/proc/sys/kernel/ostype" in done.readings.before


def test_a_task_that_is_too_late_or_missing_is_read_around_as_well(bench: Bench) -> None:
    late = bench.run("sleep", "30", timeout_s=0.3)
    assert late.status is None and uptimes(late)[1] - uptimes(late)[0] >= 0.2
    missing = bench.run("no-such-program")
    assert missing.status == 127 and bool(missing.readings.after) is not missing.readings.brief


def test_a_limit_that_expires_before_the_program_starts_still_holds(tmp_path: Path) -> None:
    """The reading before the task lasts longer than the limit, because it reads from a pipe that is open."""
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)

    def delay() -> None:
        with pipe.open("wb"):  # returns when the reading has begun
            time.sleep(0.5)
            pipe.unlink()

    host = make_host(HostSpec("here", "local", workdir=str(tmp_path / "work")))
    host.open(SessionSpec("r", "the tests", reading=ReadingSpec(f"echo {pipe}", ".*")))
    try:
        delayed = threading.Thread(target=delay)
        delayed.start()
        process = Process(("sleep", "30"), f"{host.work}/t")
        assert host.run(Task(process, tmp_path / "into", timeout_s=0.01)).status is None
        delayed.join()
    finally:
        host.close()


@pytest.mark.ssh
@pytest.mark.parametrize("reading", [None, READING])
def test_brief_tasks_in_a_row_are_read_about_together(sshd: Sshd, tmp_path: Path, reading: object) -> None:
    """No reading follows a short task, and a reading precedes it only if the last reading is not recent."""
    host = make_host(sshd.spec())
    host.open(SessionSpec("r", "the tests", reading=reading))  # type: ignore[arg-type]
    try:
        tasks = [
            Task(Process(("true",), f"{host.work}/t{number}"), tmp_path / str(number), key=f"k{number}")
            for number in range(30)
        ]
        host.announce(tasks)
        done = [host.run(task) for task in tasks]
        log = Path(host.work, ".readings")
        if reading is None:
            assert not log.read_text() if log.exists() else True
            assert all(one.readings == HostReadings() for one in done)
            return
        text = log.read_text()
        assert text.count(" over\n") == text.count(" before\n") + text.count(" again\n") == 30
        assert [one.readings.brief for one in done] == [not one.readings.after for one in done]
        assert text.count(" after\n") == sum(not one.readings.brief for one in done)
    finally:
        host.close()


@pytest.mark.ssh
def test_tasks_are_read_around_while_nobody_is_there(own_sshd: Sshd, tmp_path: Path) -> None:
    host = make_host(own_sshd.spec(options={"reconnect_timeout": PATIENCE_S}))
    host.open(SESSION)
    try:
        tasks = [
            Task(Process(("sleep", "0.4"), f"{host.work}/t{number}"), tmp_path / str(number), key=f"k{number}")
            for number in range(4)
        ]
        host.announce(tasks)
        server = int(host.execute(["sh", "-c", "echo $PPID"]).stdout)
        threading.Timer(0.5, os.kill, (server, signal.SIGKILL)).start()
        spans = [uptimes(host.run(task)) for task in tasks]
        assert all(after - before >= 0.38 for before, after in spans)
        assert host.resumed
    finally:
        host.close()


@pytest.mark.ssh
def test_a_log_that_was_taken_away_costs_no_result(own_sshd: Sshd, tmp_path: Path) -> None:
    host = make_host(own_sshd.spec())
    host.open(SESSION)
    try:
        first = Task(Process(("sh", "-c", "sleep 0.1; echo 1"), f"{host.work}/t1"), tmp_path / "1", key="k1")
        host.announce([first])
        log = Path(host.work, ".readings")
        until(lambda: log.exists() and "= k1 over" in log.read_text())
        log.unlink()
        done = host.run(first)
        assert (done.status, done.readings) == (0, HostReadings())
        assert (tmp_path / "1" / "stdout").read_text() == "1\n"
    finally:
        host.close()


@pytest.mark.ssh
def test_a_task_that_came_to_nothing_does_not_make_an_old_reading_new(own_sshd: Sshd, tmp_path: Path) -> None:
    host = make_host(own_sshd.spec())
    host.open(SESSION)
    try:
        long_ago = host.run(Task(Process(("sleep", "0.1"), f"{host.work}/t1"), tmp_path / "1", key="k1"))
        time.sleep(0.5)
        Path(host.work, "file").write_text("")
        broken = Task(Process(("true",), f"{host.work}/file/t2"), tmp_path / "2", key="k2")
        last = Task(Process(("sleep", "0.1"), f"{host.work}/t3"), tmp_path / "3", key="k3")
        host.announce([broken, last])
        with pytest.raises(HostError):
            host.run(broken)
        assert uptimes(host.run(last))[0] >= uptimes(long_ago)[1] + 0.4
    finally:
        host.close()
