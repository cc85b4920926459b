"""Sweeps with the real fio on a loop device whose limit is known to the request."""

from __future__ import annotations

import tempfile
import threading
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest

from asct.benchmarks.storage_access_pattern_sweep import BENCHMARK as PATTERNS
from asct.benchmarks.storage_io_depth_sweep import BENCHMARK as DEPTHS
from asct.benchmarks.storage_request_size_sweep import BENCHMARK as SIZES
from asct.sdk import Record, Table
from asct.sdk.benchmark import Benchmark
from asct.sdk.fio.course import CHANGED, turns
from asct.sdk.fio.rows import gather
from asct.sdk.guard import Consent
from tests.disks.loop import Loop, loop_device, throttle
from tests.fio.running import facts_here, records_of, run_points

pytestmark = [pytest.mark.fio, pytest.mark.disks]


@pytest.fixture
def folder() -> Iterator[Path]:
    with tempfile.TemporaryDirectory(dir="/var/tmp") as path:
        yield Path(path)


@pytest.fixture
def loop(folder: Path) -> Iterator[Loop]:
    with loop_device(folder, 32) as found:
        yield found


def swept(
    benchmark: Benchmark[Any], loop: Loop, work: Path, points: Sequence[dict[str, Any]], **shared: Any
) -> list[Record]:
    """The records of the points on the loop device, in one process each."""
    common = {"file_names": str(loop.path), "numjobs": 1, "engine": "libaio", **shared}
    params = [benchmark.params_model(**{**common, **point}) for point in points]
    consents = {str(loop.path): Consent(str(loop.path), str(loop.backing))}
    results = run_points(benchmark, params, work, facts_here(), consents)
    return records_of(benchmark, [(point, found) for point, (_, found) in zip(points, results, strict=True)])


def table(benchmark: Benchmark[Any], records: Sequence[Record], suffix: str = "") -> Table:
    return next(one for one in benchmark.tables(records) if one.slug == benchmark.name + suffix)


def test_a_limit_of_requests_is_told_with_its_number(loop: Loop, folder: Path) -> None:
    with throttle(loop, riops=2000):
        points = [{"iodepth": depth} for depth in (1, 4, 16, 64)]
        records = swept(DEPTHS, loop, folder / "w", points, duration=1.5, ramp_time=0.3, latency_bound=0.005)
    [note] = [text for text in table(DEPTHS, records).notes if "limit" in text]
    told = float(note.split("limit of ")[1].split(" IOPS")[0].replace(",", ""))
    assert told == pytest.approx(2000, rel=0.02)
    rows = gather(records)
    assert {row.value("latency_bound") for row in rows} == {0.005}
    assert [row.value("iops") for row in rows] == pytest.approx([2000] * 4, rel=0.02)


def test_limits_of_requests_and_of_bytes_over_sizes(loop: Loop, folder: Path) -> None:
    with throttle(loop, riops=2000, rbps=40 * 2**20):
        points = [{"block_size": size} for size in (4096, 8192, 16384, 65536, 131072)]
        records = swept(SIZES, loop, folder / "w", points, duration=4.0, ramp_time=0.3)
    [note] = [text for text in table(SIZES, records).notes if "limit" in text]
    assert "at block_size 4K to 16K" in note
    assert "at block_size 64K to 128K" in note
    rows = {row["block_size"]: row for row in table(SIZES, records).rows}
    assert rows[131072]["bandwidth"] == pytest.approx(40 * 2**20, rel=0.05)


def test_a_cliff_in_mid_run_is_told_with_its_second(loop: Loop, folder: Path) -> None:
    """Writes fall from 4,000 to 1,000 a second about half way."""
    with throttle(loop, wiops=4000) as group:
        timer = threading.Timer(4.5, lambda: group.limit(wiops=1000))
        timer.start()
        records = swept(PATTERNS, loop, folder / "w", [{"rw": "randwrite"}], duration=9.0, iodepth=4)
        timer.join()
    [row] = gather(records)
    [turn] = turns(row)
    assert turn.before == pytest.approx(4000, rel=0.05)
    assert turn.after == pytest.approx(1000, rel=0.05)
    assert 2.0 <= turn.second <= 7.0
    assert CHANGED in str(table(PATTERNS, records).rows[0]["flags"])
    [told] = [text for text in table(PATTERNS, records).notes if "fell" in text]
    assert "GiB written" in told
