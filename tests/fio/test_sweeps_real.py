"""Sweeps with the real fio on a loop device whose limit is known exactly."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest

from asct.benchmarks.storage_access_pattern_sweep import BENCHMARK as PATTERNS
from asct.benchmarks.storage_io_depth_sweep import BENCHMARK as DEPTHS
from asct.benchmarks.storage_request_size_sweep import BENCHMARK as SIZES
from asct.instruments.fio.rows import gather
from asct.instruments.fio.timeline import level_changes
from asct.instruments.fio.verdict import CHANGED
from asct.sdk.benchmark import Benchmark
from asct.sdk.figure import Table
from asct.sdk.guard import Consent
from asct.sdk.record import Record
from tests.disks.loop import Loop, Throttle, loop_device, throttle
from tests.fio.running import facts_here, records_of, run_points

pytestmark = [pytest.mark.fio, pytest.mark.disks, pytest.mark.rates]


@pytest.fixture
def loop(memory: Path) -> Iterator[Loop]:
    with loop_device(memory, 32) as found:
        yield found


def swept(
    benchmark: Benchmark[Any], loop: Loop, work: Path, points: Sequence[dict[str, Any]], **shared: Any
) -> list[Record]:
    """Return the records of the points on the loop device, each point in one process."""
    common = {"file_names": str(loop.path), "numjobs": 1, "engine": "libaio", **shared}
    params = [benchmark.params_model(**{**common, **point}) for point in points]
    consents = {str(loop.path): Consent(str(loop.path), str(loop.backing))}
    results = run_points(benchmark, params, work, facts_here(), consents)
    return records_of(benchmark, [(point, found) for point, (_, found) in zip(points, results, strict=True)])


def table(benchmark: Benchmark[Any], records: Sequence[Record], suffix: str = "") -> Table:
    return next(one for one in benchmark.tables(records) if one.slug == benchmark.name + suffix)


def told_limit(benchmark: Benchmark[Any], loop: Loop, work: Path, points: Sequence[dict[str, Any]]) -> str:
    """Return what the table states about a limit. The rates are far below the capability of the machine, and there are
    six attempts, because a machine that is busy for a second does not produce equal rates."""
    for attempt in range(6):
        records = swept(benchmark, loop, work / str(attempt), points, duration=3.0, ramp_time=0.3)
        found = [text for text in table(benchmark, records).notes if "limit" in text]
        if found:
            return found[0]
    return ""


def test_a_limit_of_requests_is_told_with_its_number(loop: Loop, folder: Path) -> None:
    with throttle(loop, riops=500):
        note = told_limit(DEPTHS, loop, folder, [{"iodepth": depth} for depth in (4, 16, 64)])
    number = float(note.split("limit of ")[1].split(" IOPS")[0].replace(",", ""))
    assert number == pytest.approx(500, rel=0.05)
    assert "at iodepth 4 to 64" in note


def test_limits_of_requests_and_of_bytes_over_sizes(loop: Loop, folder: Path) -> None:
    with throttle(loop, riops=500, rbps=10 * 2**20):
        note = told_limit(SIZES, loop, folder, [{"block_size": size} for size in (4096, 8192, 16384, 65536, 131072)])
    assert "at block_size 64K to 128K" in note
    megabytes = float(note.split(" MB/s")[0].split(" ")[-1])
    assert megabytes == pytest.approx(10 * 2**20 / 1e6, rel=0.1)


def in_flight(records: Sequence[Record]) -> dict[Any, float]:
    """Return the requests in flight, keyed by depth."""
    return {record.point["iodepth"]: record.value for record in records if record.metric == "in_flight"}


def test_depths_that_are_no_powers_of_two_are_measured_as_asked(loop: Loop, folder: Path) -> None:
    points = [{"iodepth": depth} for depth in (4, 5, 6, 7, 8)]
    with throttle(loop, riops=100):  # requests that take long, compared with the time that fio waits for a processor
        records = swept(DEPTHS, loop, folder, points, engine="auto", duration=3.0, ramp_time=0.3)
    assert in_flight(records) == {depth: pytest.approx(depth, rel=0.05) for depth in (4, 5, 6, 7, 8)}
    assert not {"invalid", "depth-rounded"} & {flag for record in records for flag in record.flags}
    assert len({record.coords["engine"] for record in records if record.metric == "queue_depth"}) == 1


def test_the_flag_of_a_rounded_depth_is_true(loop: Loop, folder: Path) -> None:
    with throttle(loop, riops=500):
        records = swept(DEPTHS, loop, folder, [{"iodepth": 5}], engine="io_uring", duration=2.0, ramp_time=0.3)
    rounded = any("depth-rounded" in record.flags for record in records)
    assert in_flight(records)[5] == pytest.approx(7 if rounded else 5, rel=0.05)
    assert any("invalid" in record.flags for record in records) == rounded


def writes_of(loop: Loop) -> int:
    return int(Path(f"/sys/block/{loop.path.name}/stat").read_text().split()[4])


def slow_down(loop: Loop, group: Throttle, writes: int) -> None:
    """Limit the device to 200 writes per second once it has processed this number of writes."""
    deadline = time.monotonic() + 60.0
    while writes_of(loop) < writes and time.monotonic() < deadline:
        time.sleep(0.02)
    group.limit(wiops=200)


def test_a_cliff_in_mid_run_is_told_with_its_second(loop: Loop, folder: Path) -> None:
    """The rate falls from 800 to 200 writes per second after 4,000 writes."""
    with throttle(loop, wiops=800) as group:
        watcher = threading.Thread(target=slow_down, args=(loop, group, writes_of(loop) + 4000))
        watcher.start()
        records = swept(PATTERNS, loop, folder / "w", [{"rw": "randwrite"}], duration=11.0, iodepth=16)
        watcher.join()
    [row] = gather(records)
    turn = next(turn for turn in level_changes(row) if turn.after < 400)
    assert turn.after < turn.before / 1.5
    assert turn.moved == pytest.approx(4000 * 4096, rel=0.3)
    assert CHANGED in str(table(PATTERNS, records).rows[0]["flags"])
    told = next(text for text in table(PATTERNS, records).notes if "fell" in text)
    assert "GiB written" in told
