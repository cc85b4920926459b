"""What a kernel reports about the noise around it: the actual values if the system provides them, otherwise null."""

from __future__ import annotations

import os
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from asct.instruments.memory.kernel_flags import noise_flags
from tests.kernels.building import Builds, run
from tests.kernels.load import QUICK

pytestmark = pytest.mark.kernels

LAST = max(os.sched_getaffinity(0))
STEADY = ("--cpu", str(LAST), "--patience-ms", "0", "--pages", "4k")
SHORT = ("--sizes", "4096,8192")
LONG = ("--sizes", ",".join(str(size << 20) for size in range(8, 14)), "--time-cap-ms", "200", "--batches", "1024")


def noise(chase: Path, *arguments: str, through: tuple[str, ...] = ()) -> dict[str, Any]:
    ran = run([*through, str(chase)], *arguments)
    assert ran.status == 0, ran.stderr
    found: dict[str, Any] = ran.end["noise"]
    return found


@contextmanager
def spinning(cpu: int) -> Iterator[None]:
    """Run another program that always wants the CPU."""
    process = subprocess.Popen(["taskset", "-c", str(cpu), "sh", "-c", "while :; do :; done"])
    try:
        while not used_ticks(process.pid):
            time.sleep(0.01)
        yield
    finally:
        process.kill()
        process.wait()


def used_ticks(process: int) -> int:
    """Return the processor time used in user mode, in ticks."""
    return int(Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[11])


def test_times_and_clock_belong_together(chase: Path) -> None:
    found = noise(chase, *STEADY, *SHORT)
    assert found["cpus"] == 1
    assert 0 < found["own_ns"] <= found["elapsed_ns"] + 20_000_000
    assert 0 < found["cycle_fs_min"] <= found["cycle_fs_max"]
    assert found["steal_ns"] is not None and found["others_ns"] is not None


def test_another_program_on_the_cpu_is_seen_and_told(chase: Path) -> None:
    with spinning(LAST):
        found = noise(chase, *STEADY, *LONG)
    assert found["others_ns"] > 0.2 * found["elapsed_ns"]
    assert found["involuntary_switches"] > 10
    assert "noisy-pressure" in noise_flags({"noise": found})


def test_the_extremes_of_the_clock_are_those_of_samples_and_not_of_single_probes(built: Builds) -> None:
    """Interruptions, and other programs on the same core, lengthen cycles. A sample therefore reports its shortest
    cycle."""
    with spinning(LAST):
        stream = run(built["stream"], "--cpus", str(LAST), "--variants", "all", "--sizes", "16384", "--pages", "4k")
        chase = run(built["chase"], *STEADY, *SHORT)
        load = run(built["load"], *QUICK, "--delays", "900,100")
    cycles = [sample["cycle_fs"] for sample in stream.of("sample")]
    assert (stream.end["noise"]["cycle_fs_min"], stream.end["noise"]["cycle_fs_max"]) == (min(cycles), max(cycles))
    for ran in (chase, load):
        medians = [sample["cycle_fs"] for sample in ran.of("sample")]
        assert 0 < ran.end["noise"]["cycle_fs_min"] <= ran.end["noise"]["cycle_fs_max"] <= max(medians)


@pytest.mark.skipif(os.geteuid() != 0, reason="hides files in a namespace of its own, which needs root")
@pytest.mark.parametrize(
    ("hidden", "unknown"),
    [("/proc/stat", ["steal_ns", "others_ns"]), ("/proc/pressure/cpu", ["pressure_us", "group_pressure_us"])],
)
def test_what_the_system_does_not_tell_is_null(hidden: str, unknown: list[str], chase: Path) -> None:
    hide = ("unshare", "-m", "sh", "-c", f'mount --bind /dev/null {hidden} && exec "$0" "$@"')
    found = noise(chase, *STEADY, *SHORT, through=hide)
    assert [found[key] for key in unknown] == [None] * len(unknown)
    assert found["own_ns"] > 0
