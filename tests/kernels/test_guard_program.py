"""guard and its program: handles, signals, all ways in which the program may end, samples, and orders to stop."""

from __future__ import annotations

import json
import os
import signal
import subprocess
from pathlib import Path

import pytest

from asct.instruments.guard_output import GuardOutput
from asct.sdk.guard import StopRule, Target
from tests.awaiting import until
from tests.disks.loop import loop_device, throttle
from tests.kernels.guarding import Guard, owned

pytestmark = pytest.mark.kernels


@pytest.fixture
def target(tmp_path: Path) -> Target:
    """Return an empty file to be written."""
    file = tmp_path / "file"
    file.write_bytes(bytes(1 << 20))
    return Target(str(file), "write")


def written(found: Path) -> str:
    """Wait until the file contains a line, and return its text."""
    until(lambda: found.exists() and found.read_text().endswith("\n"))
    return found.read_text()


def alive(pid: int) -> bool:
    """Return whether the process is running. A zombie does not count."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[0] != "Z"
    except OSError:
        return False


def wait_for_end(pids: list[int]) -> None:
    """Wait until these processes have ended."""
    until(lambda: not any(map(alive, pids)))


def groups() -> set[str]:
    """Return guard's control groups."""
    return {
        str(path) for root in ("cpuacct", "unified", ".") for path in Path("/sys/fs/cgroup", root).glob("asct-guard-*")
    }


def change(watch: GuardOutput, place: int) -> int:
    first, last = watch.samples[0].devices[0], watch.samples[-1].devices[0]
    assert first is not None and last is not None
    return last[place] - first[place]


def test_the_program_has_its_handles_and_nothing_else(guard: Guard, target: Target, tmp_path: Path) -> None:
    second = tmp_path / "second"
    second.write_bytes(bytes(4096))
    command = "readlink /proc/$$/fd/100 /proc/$$/fd/101; ls /proc/$$/fd; cat; echo words >&2"
    ran = guard.run([target, Target(str(second), "read")], "sh", "-c", command)
    assert ran.watch.status == 0 and ran.output.stderr == "words\n"
    assert (guard.folder / "program.stdout").read_text().split() == [
        target.path,
        str(second),
        "0",
        "1",
        "100",
        "101",
        "2",
    ]


@pytest.mark.parametrize(("command", "status"), [("exit 7", 7), ("kill -KILL $$", -9), ("true", 0)])
def test_the_status_is_the_programs(guard: Guard, target: Target, command: str, status: int) -> None:
    ran = guard.run([target], "sh", "-c", command)
    assert (ran.output.status, ran.watch.status, ran.watch.stopped) == (0, status, "")
    assert ran.watch.started_ns < ran.watch.ended_ns
    assert ran.watch.samples[0].mono_ns <= ran.watch.started_ns and ran.watch.ended_ns <= ran.watch.samples[-1].mono_ns


def test_a_program_that_is_not_there_ends_with_3(guard: Guard, target: Target) -> None:
    ran = guard.run([target], "/nowhere/fio")
    assert ran.output.status == 3 and "cannot be run: No such file" in ran.output.stderr
    with pytest.raises(ValueError, match="status 3"):
        assert ran.watch


def ended_after(number: int, guard: Guard, target: Target, traps: str) -> int:
    """Send a signal to a guard whose program has these traps, and return the exit status of the program."""
    started = guard.start([target], ["sh", "-c", f"{traps}; echo $$ >started; while :; do sleep 0.05; done"])
    written(guard.folder / "started")
    started.send_signal(number)
    out, _ = started.communicate(timeout=60)
    lines = [json.loads(line) for line in out.splitlines()]
    (status,) = [line["status"] for line in lines if line["t"] == "exit"]
    assert started.returncode == 0 and lines[-1]["ok"] is True
    return int(status)


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_signals_reach_the_program_and_its_last_words_are_kept(guard: Guard, target: Target, number: int) -> None:
    status = ended_after(number, guard, target, "trap 'echo int; exit 5' INT; trap 'echo term; exit 6' TERM")
    assert status == (5 if number == signal.SIGINT else 6)
    assert (guard.folder / "program.stdout").read_text() == ("int\n" if number == signal.SIGINT else "term\n")


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP])
def test_a_program_that_ignores_the_request_to_end_is_killed(guard: Guard, target: Target, number: int) -> None:
    assert ended_after(number, guard, target, "trap '' TERM") == -signal.SIGKILL


def test_a_killed_guard_takes_all_that_its_program_started_along(guard: Guard, target: Target) -> None:
    family = "setsid sleep 1000 & a=$!; sleep 1000 & echo $$ $a $! >started; wait"
    started = guard.start([target], ["sh", "-c", family])
    pids = [int(word) for word in written(guard.folder / "started").split()]
    assert all(map(alive, pids))
    started.kill()
    started.communicate(timeout=60)
    wait_for_end(pids if os.geteuid() == 0 else pids[::2])
    until(lambda: f"asct-guard-{started.pid}" not in {Path(group).name for group in groups()})


def test_what_a_program_leaves_running_ends_with_it(guard: Guard, target: Target) -> None:
    ran = guard.run([target], "sh", "-c", "setsid sleep 1000 & echo $! >left; sleep 1000 & echo $! >>left")
    assert ran.watch.status == 0
    wait_for_end([int(word) for word in (guard.folder / "left").read_text().split()])


@pytest.mark.skipif(os.geteuid() != 0, reason="makes a control group")
def test_the_cpu_time_of_all_that_the_program_starts_is_counted(guard: Guard, target: Target) -> None:
    spin = "(i=0; while [ $i -lt 200000 ]; do i=$((i+1)); done) & wait; times >times"
    watch = guard.run([target], "sh", "-c", spin).watch
    (first, last) = (watch.samples[place] for place in (0, -1))
    assert first.program_cpu_ns is not None and last.program_cpu_ns is not None
    assert first.host_cpu_ns is not None and last.host_cpu_ns is not None
    minutes, seconds = (guard.folder / "times").read_text().splitlines()[1].split()[0].rstrip("s").split("m")
    assert last.program_cpu_ns - first.program_cpu_ns >= 0.8 * (60 * float(minutes) + float(seconds)) * 1e9 > 0
    assert last.host_cpu_ns - first.host_cpu_ns >= 0.8 * (last.program_cpu_ns - first.program_cpu_ns)


@pytest.mark.skipif(os.geteuid() != 0, reason="makes control groups")
def test_empty_groups_of_guards_that_no_longer_exist_are_removed(guard: Guard, target: Target) -> None:
    started = guard.start([target], ["sh", "-c", "echo >started; until [ -e enough ]; do sleep 0.1; done"])
    written(guard.folder / "started")
    (group,) = (Path(group) for group in groups() if group.endswith(f"asct-guard-{started.pid}"))
    (guard.folder / "enough").touch()
    started.communicate(timeout=60)
    assert not group.exists()
    abandoned, kept = (group.with_name(f"asct-guard-{pid}") for pid in (started.pid, os.getpid()))
    abandoned.mkdir()
    kept.mkdir()
    try:
        assert guard.run([target], "true").watch.status == 0
        assert not abandoned.exists() and kept.exists()
    finally:
        kept.rmdir()


def ticks(pid: int) -> int:
    """Return the processor time that a process has used, in ticks."""
    return sum(map(int, Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[11:13]))


def test_samples_come_at_their_times_and_cost_little(guard: Guard, target: Target) -> None:
    started = guard.start([target], ["sh", "-c", "echo >started; until [ -e enough ]; do sleep 0.1; done"])
    written(guard.folder / "started")
    assert started.stdout is not None
    samples = (line for line in started.stdout if line.startswith('{"t":"sample"'))
    before, lines = ticks(started.pid), [next(samples) for _ in range(25)]
    used = ticks(started.pid) - before
    (guard.folder / "enough").touch()
    moments = [json.loads(line)["mono_ns"] for line in [*lines, *samples]]
    started.communicate(timeout=60)
    assert moments == sorted(moments) and len(moments) <= (moments[-1] - moments[0]) / 1e8 + 2
    assert used <= 5  # ticks of 10 ms for 2.5 s of samples: 2 %, of which the resolution is half


@pytest.mark.disks
@pytest.mark.fio
def test_the_counters_add_up_to_what_fio_says(guard: Guard, tmp_path: Path) -> None:
    with loop_device(tmp_path, 16) as loop:
        job = (
            "--name=x",
            "--filename=/proc/self/fd/100",
            "--rw=randwrite",
            "--bs=4k",
            "--direct=1",
            "--ioengine=libaio",
        )
        out = ("--iodepth=4", "--output-format=json", "--output=fio.json")
        watch = guard.run([owned(loop)], "fio", *job, *out).watch
        done = json.loads((guard.folder / "fio.json").read_text())["jobs"][0]["write"]
        assert watch.status == 0 and done["total_ios"] == 4096
        assert change(watch, 3) == done["io_bytes"] and change(watch, 2) <= 4096 and change(watch, 1) == 0


@pytest.mark.disks
@pytest.mark.rates
def test_a_volume_ends_the_program(guard: Guard, memory: Path) -> None:
    with loop_device(memory, 32) as loop, throttle(loop, wbps=16 << 20):
        copy = "dd if=/dev/zero of=/proc/self/fd/100 bs=1M count=32 oflag=direct conv=notrunc"
        write = f"while :; do {copy} 2>/dev/null; done"
        watch = guard.run([owned(loop)], "sh", "-c", write, more=("--max-write-bytes", str(4 << 20))).watch
        assert watch.stopped == "volume" and watch.status == -signal.SIGINT
        assert 4 << 20 <= change(watch, 3) < 24 << 20


def test_a_volume_that_cannot_be_watched_is_refused(guard: Guard) -> None:
    shared = Path("/dev/shm") / f"asct-test-{os.getpid()}"
    shared.write_bytes(bytes(4096))
    try:
        ran = guard.run([Target(str(shared), "write")], "touch", "started", more=("--max-write-bytes", "4096"))
        assert ran.output.status == 3 and "cannot be counted" in ran.output.stderr
        assert not (guard.folder / "started").exists()
        assert guard.run([Target(str(shared), "write")], "true").watch.samples[0].devices == (None,)
    finally:
        shared.unlink()


@pytest.mark.disks
@pytest.mark.fio
@pytest.mark.rates
def test_a_rate_that_has_settled_ends_the_program(guard: Guard, memory: Path) -> None:
    read = ("--name=x", "--filename=/proc/self/fd/100", "--rw=randread", "--bs=4k", "--direct=1", "--ioengine=libaio")
    more = ("--iodepth=4", "--time_based", "--runtime=60", "--output-format=json", "--output=fio.json", "--readonly")
    with loop_device(memory, 16) as loop, throttle(loop, riops=500):
        rule = StopRule(interval=0.1, min_s=2.0, min_ios=1500)
        watch = guard.run([Target(str(loop.path), "read")], "fio", *read, *more, stop=rule).watch
        assert watch.stopped == "interval" and watch.status == 128
        text = (guard.folder / "fio.json").read_text()
        done = json.loads(text[text.index("{\n") :])["jobs"][0]["read"]
        assert done["total_ios"] >= 1500 and 2000 <= done["runtime"] < 60000


def test_a_drive_below_two_targets_counts_once(guard: Guard, target: Target, tmp_path: Path) -> None:
    (tmp_path / "other").write_bytes(bytes(4096))
    watch = guard.run([target, Target(str(tmp_path / "other"), "read")], "true").watch
    first, second = watch.samples[0].devices
    if first is not None:
        assert second == (0,) * 7 and any(first)


def test_orders_that_make_no_sense_end_with_2(guard: Guard) -> None:
    for arguments, words in (
        ([], "specify either"),
        (["--scan", "1", "--", "true"], "--scan does not run a program"),
        (["--targets", "/nowhere"], "/nowhere cannot be read"),
        (["--targets", "/dev/null", "--"], "no program follows --"),
    ):
        done = subprocess.run([guard.program, *arguments], capture_output=True, text=True, check=False)
        assert (done.returncode, done.stdout) == (2, "") or "cannot be read" in words
        assert done.returncode == 2 and words in done.stderr


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("write\t0\t0\t-\n", "line 1 has no field 5"),
        ("erase\t0\t0\t-\t/x\n", "access must be read or write, not erase"),
        ("write\tyes\t0\t-\t/x\n", "overwrite must be 0 or 1, not yes"),
        ("read\t0\t0\t-\t/x\nread\t0\t2\t-\t/x\n", "line 2: dirty must be 0 or 1, not 2"),
        ("read\t0\t0\t-\t/x", "line 1 is not a complete line"),
        ("read\t0\t0\t-\t/x\n" * 65, "more than 64"),
    ],
)
def test_a_file_of_targets_that_is_wrong_ends_with_2(guard: Guard, text: str, words: str) -> None:
    (guard.folder / "targets").write_text(text)
    done = subprocess.run(
        [guard.program, "--targets", "targets"], cwd=guard.folder, capture_output=True, text=True, check=False
    )
    assert done.returncode == 2 and words in done.stderr
