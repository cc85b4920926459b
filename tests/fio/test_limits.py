"""Limits that appear as equal rates, in the published tables of a limited volume and on ordinary drives."""

from __future__ import annotations

from typing import Any

import pytest

from asct.benchmarks.storage_io_depth_sweep import BENCHMARK as DEPTH_SWEEP
from asct.instruments.fio.operating import limit_note, limits
from asct.instruments.fio.rows import gather
from asct.instruments.fio.tables import sweep_table
from tests.fio.synthetic import DEPTHS, MIB, PROCESSES, SIZES, drive, point, published, side


def note(name: str, records: list[Any]) -> str:
    return limit_note(limits(gather(records), name), name)


def test_a_limit_of_requests_and_of_bytes_over_sizes() -> None:
    told = note("block_size", published("block_size", SIZES))
    assert told.startswith(
        "This looks like a provisioned limit of 3,050 IOPS (all rates equal to within 0.2 % at block_size 4K to 32K)"
    )
    assert "and 133 MB/s = 127 MiB/s (all rates equal to within 0.1 % at block_size 64K to 128K)" in told


def test_a_limit_of_gigabytes_is_written_without_an_exponent() -> None:
    records = []
    for size in (65536, 131072, 262144, 524288):
        records += point({"block_size": size}, side(3.12e9 / size, size, 1e-3))
    assert "3,120 MB/s = 2,980 MiB/s" in note("block_size", records)


def test_a_limit_over_depths_that_were_not_kept() -> None:
    told = note("iodepth", published("iodepth", DEPTHS))
    assert "3,050 IOPS (all rates equal to within 0.1 % at iodepth 1 to 128)" in told
    assert "latency did not grow with iodepth: 4 requests were in flight at every setting" in told


def test_a_limit_over_processes_that_brought_one_request_each() -> None:
    told = note("numjobs", published("numjobs", PROCESSES))
    assert "3,050 IOPS (all rates equal to within 0.1 % at numjobs 2 to 16)" in told
    assert "2 to 16 requests were in flight instead of 32 to 256" in told


def test_a_limit_behind_which_requests_wait_for_their_turn() -> None:
    records = []
    for depth in (1, 2, 4, 8, 16, 32):
        in_flight = 4.0 * depth
        rate = min(4000.0, in_flight / 500e-6)
        records += point({"iodepth": depth}, side(rate, 4096, in_flight / rate))
    assert "latency grew with iodepth, so requests wait in a queue" in note("iodepth", records)


def usual_drive() -> list[Any]:
    records = []
    for depth in (1, 2, 4, 8, 16, 32, 64):
        records += point({"iodepth": depth}, side(*_drive(depth)))
    return records


def _drive(depth: int) -> tuple[float, int, float]:
    rate, latency = drive(4 * depth, 70_000, 200e-6)
    return rate, 4096, latency


def test_a_drive_that_slows_down_by_degrees_has_no_limit() -> None:
    assert note("iodepth", usual_drive()) == ""


def test_a_drive_whose_link_is_full_has_a_limit_of_bytes_alone() -> None:
    records = []
    for size in (4096, 16384, 65536, 131072, 262144):
        rate = min(60_000 / (1 + size / 30_000), 550e6 / size)
        records += point({"block_size": size}, side(rate, size, 64 / rate))
    [limit] = limits(gather(records), "block_size")
    assert limit.metric == "bandwidth"
    assert limit.value == pytest.approx(550e6)


def test_a_host_that_is_the_limit_is_none_of_the_volume() -> None:
    records = published("iodepth", DEPTHS)
    for record in records:
        if record.point == {"iodepth": 64}:
            record.flags.append("host-limited")
    assert note("iodepth", records) == ""


def test_short_runs_are_allowed_what_was_in_flight_at_their_ends() -> None:
    """The run had 1,500 requests, of which up to 64 were in flight when it ended."""
    records = []
    for depth, rate in ((1, 500.0), (4, 500.0), (16, 485.0)):
        values = side(rate, 4096, 4 * depth / rate)
        records += point({"iodepth": depth}, values | {"ios": 3 * rate})
    assert "limit of 500 IOPS (all rates equal to within 3.1 % at iodepth 1 to 16)" in note("iodepth", records)
    longer = [one.model_copy(update={"value": 60 * 500.0}) if one.metric == "ios" else one for one in records]
    assert note("iodepth", longer) == ""


@pytest.mark.parametrize(("cost", "found"), [(20e-6, True), (1.2e-3, False)])
def test_a_busy_host_whose_jobs_are_idle_is_not_the_limit(cost: float, found: bool) -> None:
    records = []
    for depth in (1, 4, 16):
        values = side(3000.0, 4096, 4 * depth / 3000) | {"cpu_time_per_io": cost}
        records += point({"iodepth": depth}, values, flags=("host-limited",))
    assert bool(note("iodepth", records)) is found


@pytest.mark.parametrize("depths", [(16, 32), (16, 24, 32)])
def test_few_or_near_points_are_no_evidence(depths: tuple[int, ...]) -> None:
    records = [record for depth in depths for record in point({"iodepth": depth}, side(3000, 4096, 1e-3))]
    assert note("iodepth", records) == ""


def test_every_curve_of_a_matrix_tells_its_own() -> None:
    records = []
    for size in (4096, 8192):
        for depth in (1, 4, 16):
            records += point({"iodepth": depth, "block_size": size}, side(1000.0 * size / 4096, size, 1e-3))
    table = sweep_table(records, "x", "X", "iodepth")[0]
    told = [text for text in table.notes if "limit" in text]
    assert [text.split(":")[0] for text in told] == ["block_size 4K", "block_size 8K"]


def test_the_table_of_the_sweep_tells_it() -> None:
    table = DEPTH_SWEEP.tables(published("iodepth", DEPTHS))[0]
    assert [row["iodepth"] for row in table.rows] == [1, 2, 4, 8, 16, 32, 64, 128]
    assert table.rows[0]["bandwidth"] == pytest.approx(11.9 * MIB)
    assert any(text.startswith("This looks like a provisioned limit of 3,050 IOPS") for text in table.notes)
