"""Zones of a hard disk: their positions, the workloads that run in them, and the values computed from the results."""

from __future__ import annotations

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from asct.benchmarks.storage_hdd import BENCHMARK
from asct.benchmarks.storage_hdd.params import HddParams, zone_visits, zone_workload, zones_of

MIB = 2**20


@given(st.integers(1, 2**44), st.integers(2, 512))
def test_zones_lie_side_by_side_within_the_disk(size: int, count: int) -> None:
    try:
        zones = zones_of(size, count, 4096)
    except ValueError:
        assert size // count < 4096
        return
    assert len(zones) == count
    assert zones[0].offset == 0
    assert all(one.offset % 4096 == one.size % 4096 == 0 for one in zones)
    assert all(one.offset + one.size <= other.offset for one, other in pairwise(zones))
    assert size - count * 2 * MIB <= zones[-1].offset + zones[-1].size <= size


def test_a_zone_below_a_request_is_refused_with_the_way_out() -> None:
    with pytest.raises(
        ValueError,
        match="dividing 64M into 128 zones leaves 512K per zone, which is less than a request of 1M; reduce `zones`",
    ):
        zones_of(64 * MIB, 128, MIB)


def test_every_cell_of_every_zone_is_visited_once() -> None:
    zones = zones_of(64 * MIB, 16, MIB)
    cells = HddParams().cells()
    for scattered in (False, True):
        found = list(zone_visits(zones, cells, scattered))
        assert len(found) == len(set(found)) == 16 * 13
    ascending = [zone.index for zone, _ in zone_visits(zones, cells[:1], scattered=False)]
    assert ascending == list(range(16))
    first = [zone.index for zone, _ in zone_visits(zones, cells[:1], scattered=True)][:8]
    assert max(first) >= 12, "half of the visits reach from one end"
    assert min(first) <= 3, "to the other"


def test_the_cells_are_those_of_tkperf() -> None:
    cells = HddParams().cells()
    random = {(cell.reads, cell.block_size) for cell in cells if cell.random}
    assert random == {(reads, size) for reads in (100, 50, 0) for size in (65536, 16384, 4096)}
    assert [cell for cell in cells if not cell.random] == [
        zone_workload(size, reads, random=False) for size in (MIB, 4096) for reads in (100, 0)
    ]
    assert len({cell.name for cell in cells}) == len(cells)


def test_nothing_writes_without_write() -> None:
    params = HddParams(write=False, file_names="/dev/disk/by-id/x")
    assert not params.writes
    assert {cell.rw for cell in params.cells()} == {"randread", "read"}
    assert not params.whole().writes
    assert BENCHMARK.needs(params, None).writes_bytes == ()
    assert list(BENCHMARK.check(params)) == []


def test_requests_below_a_logical_block_are_left_out() -> None:
    params = HddParams(block_sizes=(4096, 512), sequential_block_sizes=(512,), mixes=(100,))
    assert [cell.block_size for cell in params.cells(4096)] == [4096]
    assert [cell.block_size for cell in params.cells(512)] == [4096, 512, 512, 512]


@pytest.mark.parametrize(
    ("settings", "where", "message"),
    [
        ({"write": False, "mixes": (0,), "test": "iops"}, "write", "leaves nothing to measure"),
        ({"mixes": (100, 101)}, "mixes", "exceed 100"),
        ({"file_names": ("/dev/a", "/dev/b")}, "file_names", "single target"),
    ],
)
def test_settings_that_leave_nothing_to_measure(settings: dict[str, object], where: str, message: str) -> None:
    found = list(BENCHMARK.check(HddParams.model_validate(settings)))
    assert [(name, message in text) for name, text in found] == [(where, True)]


def test_a_disk_goes_on_where_it_was_cut_off_and_a_file_that_is_gone_does_not() -> None:
    assert BENCHMARK.continues(HddParams(file_names="/dev/disk/by-id/x"))
    assert not BENCHMARK.continues(HddParams())
