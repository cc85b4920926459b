"""cmnwatch: load, counts and how it ends. No mesh is available here, so software events replace watchpoints."""

from __future__ import annotations

import os
import signal
import subprocess
from pathlib import Path

import pytest

from tests.kernels.building import Ran, run

pytestmark = pytest.mark.kernels

CPU_CLOCK = "1 {on} 0 0 0"
"""PERF_TYPE_SOFTWARE, PERF_COUNT_SW_CPU_CLOCK: the time in ns, whether the CPU is busy or not, so it counts on every
machine."""
CONTEXT_SWITCHES = "1 {on} 3 0 0"
NO_SUCH = "1 {on} 0xffff 0 0"
CPUS = sorted(os.sched_getaffinity(0))[:2]

root = pytest.mark.skipif(os.geteuid() != 0, reason="counting for the whole system is for root")


def events(folder: Path, *lines: str) -> str:
    place = folder / "events"
    place.write_text("".join(line.format(on=CPUS[0]) + "\n" for line in lines))
    return str(place)


def watched(watch: Path, folder: Path, *lines: str, more: tuple[str, ...] = ()) -> Ran:
    cpus = ",".join(map(str, CPUS))
    options = ("--events", events(folder, *lines), "--cpus", cpus, "--window-us", "2000", "--size", "1048576")
    return run(watch, *options, *more)


@root
def test_each_cpu_is_loaded_and_each_event_counted_with_and_without_it(watch: Path, tmp_path: Path) -> None:
    ran = watched(watch, tmp_path, CPU_CLOCK, CONTEXT_SWITCHES, CPU_CLOCK, more=("--batch", "2"))
    assert (ran.status, ran.stderr) == (0, "")
    samples = ran.of("sample")
    assert [sample["cpu"] for sample in samples] == CPUS
    for sample in samples:
        assert {len(sample[name]) for name in ("counts", "idle", "lines", "ns", "idle_ns")} == {3}
        assert sample["lines"][0] == sample["lines"][1], "one batch is one load"
        for index in (0, 2):
            assert min(sample["ns"][index], sample["idle_ns"][index]) >= 2_000_000
            assert min(sample["counts"][index], sample["idle"][index], sample["lines"][index]) > 0
    assert (ran.end["ok"], ran.end["cpus"], ran.end["events"]) == (True, len(CPUS), 3)


@root
def test_an_event_that_is_refused_is_told_and_the_others_are_counted(watch: Path, tmp_path: Path) -> None:
    ran = watched(watch, tmp_path, NO_SUCH, CPU_CLOCK)
    told, *samples = ran.of("sample")
    assert told["event"] == 0 and told["error"]
    assert [sample["counts"][0] for sample in samples] == [-1] * len(CPUS)
    assert all(sample["counts"][1] > 0 for sample in samples)


@root
def test_without_any_event_it_ends_with_3(watch: Path, tmp_path: Path) -> None:
    ran = watched(watch, tmp_path, NO_SUCH)
    assert ran.status == 3 and ran.of("end") == []
    assert ran.stderr.startswith("cmnwatch: no event can be opened: ")


@root
def test_without_the_right_to_watch_it_says_the_way_out(watch: Path, tmp_path: Path) -> None:
    place = events(tmp_path, CPU_CLOCK)
    for path in (*reversed(tmp_path.parents[:3]), tmp_path):
        path.chmod(path.stat().st_mode | 0o055)
    program = tmp_path / "cmnwatch"
    program.write_bytes(watch.read_bytes())
    program.chmod(0o755)
    paranoid = int(Path("/proc/sys/kernel/perf_event_paranoid").read_text())
    ran = run(program, "--events", place, "--cpus", str(CPUS[0]), "--window-us", "100", user=65534, group=65534)
    if paranoid > 0:
        assert ran.status == 3 and "run it as root, or set kernel.perf_event_paranoid to 0" in ran.stderr
    else:
        assert ran.status == 0


@root
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_it_ends_at_once_and_leaves_whole_lines(watch: Path, tmp_path: Path, number: signal.Signals) -> None:
    """The kernel is stopped before its first line, which takes two windows of 10 s."""
    place = events(tmp_path, CPU_CLOCK)
    command = [watch, "--events", place, "--cpus", ",".join(map(str, CPUS)), "--window-us", "10000000"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as running:
        assert running.stdout is not None
        assert [running.stdout.readline()[:13] for _ in range(2)] == ['{"t":"meta","', '{"t":"ready"}']
        running.send_signal(number)
        rest = running.stdout.read()
        assert running.wait(timeout=60) == -number
    assert rest == ""


WRONG = {
    "no file": ((), "--events:  cannot be read"),
    "too few words": (("1 0 0 0",), "line 1 of {place} is not TYPE ON CONFIG"),
    "a negative word": (("1 0 0 0 0", "1 -1 0 0 0"), "line 2 of {place} is not TYPE ON CONFIG"),
    "a word too many": (("1 0 0 0 0 0",), "line 1 of {place} is not TYPE ON CONFIG"),
    "no number": (("1 0 zero 0 0",), "line 1 of {place} is not TYPE ON CONFIG"),
    "beyond 64 bits": (("1 0 0x10000000000000000 0 0",), "line 1 of {place} is not TYPE ON CONFIG"),
    "empty": (("",), "line 1 of {place} is not TYPE ON CONFIG"),
}


@pytest.mark.parametrize("case", WRONG)
def test_wrong_events_end_with_2(case: str, watch: Path, tmp_path: Path) -> None:
    lines, message = WRONG[case]
    place = events(tmp_path, *lines) if lines else ""
    ran = run(watch, "--events", place, "--cpus", "0")
    assert ran.status == 2 and message.format(place=place) in ran.stderr


def test_wrong_use_ends_with_2(watch: Path, tmp_path: Path) -> None:
    place = events(tmp_path, CPU_CLOCK)
    assert "--cpus lists no CPU" in run(watch, "--events", place).stderr
    both = run(watch, "--events", place, "--look", "1")
    assert both.status == 2 and "--look and --events are mutually exclusive" in both.stderr
    (tmp_path / "events").write_text("")
    assert "lists no event" in run(watch, "--events", place, "--cpus", "0").stderr


@root
def test_a_cpu_that_is_not_there_ends_with_3(watch: Path, tmp_path: Path) -> None:
    ran = run(watch, "--events", events(tmp_path, CPU_CLOCK), "--cpus", "8000", "--window-us", "100")
    assert ran.status == 3 and "CPU 8000 does not exist" in ran.stderr


def test_it_prints_what_only_root_may_read(watch: Path) -> None:
    ran = run(watch, "--look", "1")
    lines = [sample["text"] for sample in ran.of("sample") if sample["path"] == "/proc/iomem"]
    assert lines == Path("/proc/iomem").read_text().splitlines()
