"""The composite workload without a drive: its mix, the part of the mix that a target supports, and its cost."""

from __future__ import annotations

import pytest

from asct.benchmarks.storage_composite_workload import BENCHMARK
from asct.benchmarks.storage_composite_workload.params import CompositeParams
from asct.instruments.fio.benchmark import ASSUMED_WRITE_BYTES_PER_S
from asct.instruments.qualification.demand_plan import DEMAND_PLANS
from asct.sdk.benchmark import Unsuitable
from tests.benchmarks.test_storage_figures import at, lines

KIB = 1024


def test_the_mix_is_that_of_jesd219() -> None:
    params = CompositeParams()
    small = {size: 1 for size in (1024, 1536, 2048, 2560, 3072, 3584)}
    large = {4 * KIB: 67, 8 * KIB: 10, 16 * KIB: 7, 32 * KIB: 3, 64 * KIB: 3}
    assert params.shares == {512: 4, **small, **large}
    assert (params.demanded.reads, params.prewrites.reads) == (40, 0)
    assert params.demanded.rw == "randrw" and params.prewrites.rw == "randwrite"
    assert params.demanded.block_size == 7680, "the mean of 7,818 bytes, in whole sectors"
    options = dict(params.demanded.options)
    assert options["random_distribution"] == "zoned:50/5:30/15:20/80" and options["blockalign"] == 4096


def test_a_drive_with_large_blocks_gets_the_share_of_the_small_requests_in_its_smallest() -> None:
    params = CompositeParams(blockalign=512).on(4096)
    assert params.shares == {4 * KIB: 77, 8 * KIB: 10, 16 * KIB: 7, 32 * KIB: 3, 64 * KIB: 3}
    assert params.blockalign == 4096
    assert CompositeParams().on(512).shares == CompositeParams().shares
    with pytest.raises(
        Unsuitable, match="no request size in `bssplit` is a multiple of the target's logical block size"
    ):
        CompositeParams(bssplit="512/50:1K/50").on(4096)


def test_a_mix_is_written_as_for_fio() -> None:
    assert CompositeParams(bssplit="4k/60:64k/40").shares == {4 * KIB: 60, 64 * KIB: 40}
    for text in ("", "4K", "4K/60:", "4K/60,8K/40", "4K/60:8K/"):
        with pytest.raises(ValueError, match="is not a mix of request sizes; write each size with its share"):
            CompositeParams(bssplit=text)


@pytest.mark.parametrize(
    ("settings", "told"),
    [
        ({"bssplit": "4K/50:8K/40"}, "the shares add up to 90 %, but must add up to 100 %"),
        ({"bssplit": "4K/50:4096/50"}, "contains a size twice; combine the shares of equal sizes"),
        ({"bssplit": "700/100"}, "must be a multiple of 512 bytes"),
        ({"bssplit": "512M/100"}, "at most 128 MiB"),
        ({"blockalign": 1000}, "is not a multiple of 512; round it"),
        ({"depths": "0,1"}, "must be at least 1"),
    ],
)
def test_impossible_mixes_are_refused(settings: dict[str, object], told: str) -> None:
    [(_, text)] = BENCHMARK.check(CompositeParams.model_validate(settings))
    assert told in text


def test_the_bounds_cover_all_rounds_at_full_speed() -> None:
    params = CompositeParams(active_range=10**9, file_names=("/dev/loop0",))
    plan, needs = DEMAND_PLANS["pts"], BENCHMARK.needs(params, None)
    load = 25 * (plan.prewrite_time + 49 * 60.0) + 3 * (plan.settle_time + plan.histogram_time)
    assert needs.longest_s is not None and needs.longest_s > load + 25 * 60.0
    [(target, most)] = needs.writes_bytes
    assert target == "/dev/loop0" and most >= (load + 25 * 60.0) * ASSUMED_WRITE_BYTES_PER_S
    [(_, likely)] = needs.likely_bytes
    assert 5 * 49 * 60.0 * 0.6 * 75_000 * 7680 < likely < most / 5
    assert 5 * 49 * 60.0 < needs.seconds < needs.longest_s / 3


def test_every_request_in_flight_has_a_buffer() -> None:
    params = CompositeParams(bssplit="4K/50:1M/50")
    assert BENCHMARK.needs(params, None).memory_bytes >= 32 * 32 * 2**20


def test_rounds_of_other_loads_than_those_with_the_most_jobs_are_not_drawn() -> None:
    records = [
        at(metric, value, numjobs=jobs, iodepth=depth, **more)
        for jobs in (1, 2)
        for depth in (1, 4)
        for metric, value, more in (
            ("demand_iops", 100.0 * jobs * depth, {}),
            ("demand_latency", depth * 1e-3, {}),
            *(("round_iops", 90.0 + number, {"stage": "matrix", "round": number}) for number in (1, 2, 3)),
        )
    ]
    windows = [
        at("window_excursion", 2.2, stage="matrix", window=2, excursion=20.0),
        at("matrix_rounds", 3.0),
    ]
    charts = lines(BENCHMARK.figures([*records, *windows]))
    assert [line.name for line in charts["demand-rounds-matrix"].series] == ["2 jobs, depth 4", "2 jobs, depth 1"]
    assert charts["demand-window-matrix"].series[0].y == (92.0, 93.0)
    assert [(line.name, line.x) for line in charts["demand-variation"].series] == [
        ("1 job", (1, 4)), ("2 jobs", (1, 4)),
    ]  # fmt: skip
    [table] = [one for one in BENCHMARK.tables([*records, *windows]) if one.slug.endswith("steady-state")]
    assert table.rows[0]["rounds"] == "2 to 3" and table.rows[0]["reached"] == "reached"
