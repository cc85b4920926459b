"""A quantity that is measured twice in a run: either both values agree, or each is marked with the name of the
other."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest

from asct.analysis.agreement import Disagreement, agreed
from asct.analysis.expectations import judge
from asct.analysis.groups import gather
from asct.registry import installed
from asct.sdk.facts import HostFacts, NumaNode
from asct.sdk.record import Record, Stats
from tests.analysis.test_expectations import check, run_of
from tests.export import sample
from tests.records import record

NS = 1e-9
LOCAL = {"run_node": 0, "memory_node": 0}
DEFAULTS: dict[str, Any] = {"pages": "auto", "stride": None, "data_size": None, "width": "auto", "traffic": "all-reads"}
Reached = tuple[list[Record], tuple[Disagreement, ...]]


def value(job: str, metric: str, coords: dict[str, Any], middle: float, half: float = 0.0, **changes: Any) -> Record:
    """Return a value with the interval `middle` +- `half`, or without an interval if `half` is not set. `job` is the
    name of a benchmark, or `id=benchmark`."""
    name, _, uses = job.partition("=")
    benchmark = installed().get(uses or name)
    assert benchmark is not None
    ends = (middle - half, middle + half) if half else None
    unit = next(one.unit for one in benchmark.metrics if one.name == metric)
    stats = Stats(n=6, median=middle, mad=half, ci95=ends, min=middle, max=middle)
    measured = {"benchmark": benchmark.name, "version": benchmark.version, "metric": metric, "unit": unit}
    return record(middle, **{**measured, "host": "a", "id": name, "coords": coords, "stats": stats, **changes})


def facts(nodes: int = 1) -> HostFacts:
    found = sample.facts("a")
    return found.model_copy(
        update={"nodes": [NumaNode(id=n, cpus=[n], memory_bytes=1 << 30, distances=[10] * nodes) for n in range(nodes)]}
    )


def read(records: Sequence[Record], nodes: int = 1, **settings: dict[str, Any]) -> Reached:
    """Return the records as reports see them. `settings` contains the settings of each entry that differ from the
    defaults; `_` stands for `-` in entry names."""
    jobs = [
        {"host": host, "id": job, "settings": DEFAULTS | settings.get(job.replace("-", "_"), {})}
        for host, job in dict.fromkeys((one.host, one.id) for one in records)
    ]
    hosts = {one.host: facts(nodes) for one in records}
    return agreed(records, {"jobs": jobs}, hosts, installed())


def dram(sweep: float = 158.0, idle: float = 187.0, loaded: float = 161.0, half: float = 2.0) -> list[Record]:
    return [
        value("latency-sweep", "latency", {"level": "DRAM"}, sweep * NS, half * NS),
        value("idle-latency", "latency", LOCAL, idle * NS, half * NS),
        value("loaded-latency", "idle_latency", {}, loaded * NS, half * NS),
    ]


def flags(reached: Reached) -> list[list[str]]:
    return [record.flags for record in reached[0]]


def test_three_latencies_of_memory_name_the_ones_they_disagree_with() -> None:
    reached = read(dram())
    assert flags(reached) == [
        ["disagrees:idle-latency"], ["disagrees:latency-sweep", "disagrees:loaded-latency"], ["disagrees:idle-latency"],
    ]  # fmt: skip
    texts = {(side.id, side.text) for side in reached[1]}
    assert ("idle-latency", "latency-sweep 158 ns") in texts and ("loaded-latency", "idle-latency 187 ns") in texts


@pytest.mark.parametrize(
    "records",
    [
        dram(158.0, 165.0, 161.0, 0.5),  # within 5 %
        dram(158.0, 187.0, 170.0, 16.0),  # the intervals overlap
        dram(158.0, 187.0)[:1],
    ],
)
def test_values_that_agree_have_no_flag(records: list[Record]) -> None:
    assert read(records) == (records, ())


def test_values_in_other_units_are_flagged_with_the_value() -> None:
    cycles = value("idle-latency", "latency_cycles", LOCAL, 560.0)
    assert "disagrees:latency-sweep" in read([*dram(), cycles])[0][-1].flags


def test_an_invalid_value_is_no_second_opinion() -> None:
    records = dram(loaded=187.0)
    records[0].flags.append("invalid-host")
    assert flags(read(records)) == [["invalid-host"], [], []]


def test_a_noisy_value_is_one() -> None:
    records = dram(loaded=187.0)
    records[0].flags.append("noisy")
    assert flags(read(records))[0] == ["noisy", "disagrees:idle-latency", "disagrees:loaded-latency"]


@pytest.mark.parametrize("setting", [{"pages": "4k"}, {"data_size": 1 << 26}, {"stride": 128}])
def test_other_conditions_are_another_quantity(setting: dict[str, Any]) -> None:
    assert read(dram(loaded=158.0), idle_latency=setting)[1] == ()
    assert read(dram(loaded=158.0))[1] != ()


def test_a_swept_condition_counts_as_the_setting_it_replaces() -> None:
    records = dram(loaded=158.0)
    records[1] = records[1].model_copy(update={"point": {"pages": "4k"}})
    assert read(records)[1] == ()


def test_hosts_and_versions_are_kept_apart() -> None:
    records = dram(loaded=158.0)
    assert read([records[0], records[1].model_copy(update={"host": "b"})])[1] == ()
    assert read([records[0], records[1].model_copy(update={"version": "0"})])[1] == ()


def test_memory_of_another_node_is_another_quantity() -> None:
    """latency-sweep measures memory on the first node."""
    far = [value("idle-latency", "latency", {"run_node": a, "memory_node": b}, 300 * NS) for a, b in ((0, 1), (1, 1))]
    near = value("idle-latency", "latency", LOCAL, 187 * NS)
    reached = read([dram()[0], near, *far], nodes=2)
    assert [bool(found) for found in flags(reached)] == [True, True, False, False]


def level_and_curve(level: float, curve: Sequence[float]) -> list[Record]:
    at = {"level": "L1", "traffic": "all-reads"}
    sizes = (16384, 22528, 24576, 28672, 65536)
    return [
        value("bandwidth-sweep", "bandwidth", at, level, 0.01 * level),
        value("bandwidth-sweep", "data_size", {"level": "L1"}, 24256.0),
        *(
            value("bandwidth-sweep", "bandwidth", {"size": size, "traffic": "all-reads"}, rate)
            for size, rate in zip(sizes, curve, strict=True)
        ),
    ]


def test_a_level_and_its_own_curve_are_compared() -> None:
    """The level L1 has 162 GB/s, but the curve has 203 GB/s. Sizes that belong to other levels do not count."""
    reached = read(level_and_curve(162e9, [203e9, 203e9, 204e9, 202e9, 90e9]))
    assert flags(reached) == [["disagrees:curve"], [], [], *[["disagrees:level"]] * 3, []]
    assert reached[1][0].text == "curve 203 GB/s"
    assert read(level_and_curve(200e9, [150e9, 203e9, 204e9, 202e9, 90e9]))[1] == ()


def test_levels_are_told_in_the_order_of_the_records() -> None:
    """If the levels were a set of names, the order in the report would change from one process to the next."""
    names = ("L1", "L2", "L3", "LLC", "DRAM")
    records = [
        record
        for number, name in enumerate(names)
        for record in (
            value("bandwidth-sweep", "bandwidth", {"level": name, "traffic": "all-reads"}, 1e9),
            value("bandwidth-sweep", "data_size", {"level": name}, 1000.0 * 4**number),
            value(
                "bandwidth-sweep", "bandwidth", {"size": 1000 * 4**number, "traffic": "all-reads"}, (2 + number) * 1e9
            ),
        )
    ]
    texts = [side.text for side in read(records)[1] if side.other == "curve"]
    assert texts == [f"curve {2 + number} GB/s" for number in range(5)]


def test_the_latency_of_a_level_is_compared_with_the_smaller_half_of_its_sizes() -> None:
    records = [
        value("latency-sweep", "latency", {"level": "L2"}, 3.7 * NS, 0.01 * NS),
        value("latency-sweep", "lower_bound", {"level": "L2"}, 50_000.0),
        value("latency-sweep", "optimum_size", {"level": "L2"}, 200_000.0),
        *(
            value("latency-sweep", "latency", {"size": size}, one * NS)
            for size, one in ((32_768, 1.2), (65_536, 4.4), (131_072, 4.5), (400_000, 3.7))
        ),
    ]
    assert flags(read(records)) == [["disagrees:curve"], [], [], [], *[["disagrees:level"]] * 2, []]


def curve_of_l2(*sizes: tuple[float, float]) -> list[Record]:
    """Return the latency of L2 as 3.7 ns, and the curve inside L2: the latency and its half-width at each size, in
    nanoseconds."""
    return [
        value("latency-sweep", "latency", {"level": "L2"}, 3.7 * NS, 0.01 * NS),
        value("latency-sweep", "lower_bound", {"level": "L2"}, 50_000.0),
        value("latency-sweep", "optimum_size", {"level": "L2"}, 400_000.0),
        *(
            value("latency-sweep", "latency", {"size": 65_536 + 1024 * at}, one * NS, half * NS)
            for at, (one, half) in enumerate(sizes)
        ),
    ]


@pytest.mark.parametrize("wide", [(4.5, 2.0), (4.4, 0.9), (3.7, 0.5), (9.0, 6.0)])
def test_one_wide_size_of_a_curve_hides_no_disagreement(wide: tuple[float, float]) -> None:
    clear = [(4.4, 0.02), (4.5, 0.02), (4.45, 0.02)]
    assert read(curve_of_l2(*clear))[1] != ()
    assert read(curve_of_l2(*clear, wide))[1] != ()
    assert read(curve_of_l2(*clear[:2], wide))[1] != ()


def test_a_curve_agrees_if_half_of_its_sizes_are_wide() -> None:
    assert read(curve_of_l2(*[(4.4, 0.8)] * 4))[1] == ()
    assert read(curve_of_l2((4.4, 0.8), (4.4, 0.01)))[1] == (), "one clear size is no proof"


def test_a_curve_that_rises_within_a_level_agrees_with_each_of_its_values() -> None:
    rising = [(one / 10, 0.01) for one in range(34, 46)]  # the median is 3.95 ns
    assert read(curve_of_l2(*rising, (4.4, 0.8)))[1] == ()


def test_bandwidths_are_compared_at_the_same_traffic_and_width() -> None:
    def profile(width: str, rate: float) -> Record:
        return value("memory-profile", "bandwidth", {"traffic": "all-reads", "width": width}, rate)

    peak = value("peak-bandwidth", "bandwidth", {"traffic": "all-reads"}, 33e9, 1e8)
    other = value("peak-bandwidth", "bandwidth", {"traffic": "copy"}, 20e9, 1e8)
    cross = value("cross-numa-bandwidth", "bandwidth", LOCAL, 28e9, 1e8)
    widest = "16"  # the CPU of the facts lists no flags
    assert [one.flags for one in read([peak, other, profile(widest, 33e9), profile("64", 20e9)])[0]] == [[], [], [], []]
    assert flags(read([peak, other, cross]))[::2] == [["disagrees:cross-numa-bandwidth"], ["disagrees:peak-bandwidth"]]
    assert flags(read([peak, profile(widest, 28e9)])) == [["disagrees:memory-profile"], ["disagrees:peak-bandwidth"]]
    assert read([peak, cross], cross_numa_bandwidth={"traffic": "write"})[1] == ()
    assert read([peak, cross], nodes=2)[1] == ()


def test_memory_measured_by_all_threads_of_a_sweep_is_compared_with_the_peak() -> None:
    at = {"level": "DRAM", "traffic": "all-reads"}
    records = [
        value("bandwidth-sweep", "bandwidth", at, 20e9, 1e8),
        value("bandwidth-sweep", "bandwidth", at | {"level": "LLC"}, 60e9, 1e8),
        value("peak-bandwidth", "bandwidth", {"traffic": "all-reads"}, 28e9, 1e8),
    ]
    expected = [["disagrees:peak-bandwidth"], [], ["disagrees:bandwidth-sweep"]]
    assert flags(read(records, bandwidth_sweep={"threads": "all"})) == expected
    assert read(records, bandwidth_sweep={"threads": "one"})[1] == ()
    assert read(records, bandwidth_sweep={"threads": "all", "cpus": [0]})[1] == ()


def test_the_caches_of_a_profile_are_compared_with_a_sweep_over_all_threads() -> None:
    at = {"level": "L1", "traffic": "all-reads"}
    peak = value("memory-profile", "peak_cache_bandwidth", {"traffic": "all-reads"}, 300e9)
    records = [
        value("bandwidth-sweep", "bandwidth", at, 380e9, 1e8),
        value("bandwidth-sweep", "bandwidth", at | {"level": "L2"}, 180e9, 1e8),
        value("memory-profile", "level_bandwidth", at, 300e9, 1e8),
        value("memory-profile", "level_bandwidth", at | {"level": "L2"}, 182e9, 1e8),
        peak,
        peak.model_copy(update={"coords": {"traffic": "copy"}}),
    ]
    here, there = ["disagrees:memory-profile"], ["disagrees:bandwidth-sweep"]
    assert flags(read(records, bandwidth_sweep={"threads": "all"})) == [here, [], there, [], there, []]
    records[1] = value("bandwidth-sweep", "bandwidth", at | {"level": "L2"}, 140e9, 1e8)
    records[0] = value("bandwidth-sweep", "bandwidth", at, 300e9, 1e8)
    assert flags(read(records, bandwidth_sweep={"threads": "all"})) == [[], here, [], there, [], []]
    assert read(records, bandwidth_sweep={"threads": "one"})[1] == ()
    assert read(records, bandwidth_sweep={"threads": "all"}, memory_profile={"data_size": 1 << 26})[1] == ()


def load_and_peak(loaded: float, peak: float = 28e9, delay: int = 0) -> list[Record]:
    return [
        value("loaded-latency", "bandwidth", {"delay": delay}, loaded, 1e9),
        value("loaded-latency", "peak_bandwidth", {}, loaded, 1e9),
        value("loaded-latency", "knee_bandwidth", {}, loaded, 1e9),
        value("peak-bandwidth", "bandwidth", {"traffic": "all-reads"}, peak, 1e9),
        value("peak-bandwidth", "bandwidth", {"traffic": "copy"}, 20e9, 1e9),
    ]


def test_all_cpus_are_not_slower_than_all_but_one() -> None:
    here, there = ["disagrees:peak-bandwidth"], ["disagrees:loaded-latency"]
    assert flags(read(load_and_peak(33e9))) == [here, here, [], there, []]
    assert flags(read(load_and_peak(33e9), nodes=2)) == [here, here, [], there, []]
    assert read(load_and_peak(16e9))[1] == (), "the other CPU adds bandwidth"
    assert read(load_and_peak(29.5e9))[1] == (), "the intervals overlap"
    assert read(load_and_peak(33e9, delay=10))[1] == (), "the load is not the heaviest"


@pytest.mark.parametrize(
    "settings",
    [
        {"traffic": "nt-write"}, {"width": "64"}, {"pages": "4k"}, {"load_size": 1 << 26}, {"load_cpus": [0]},
        {"bw_cpu_blocklist": [1]}, {"memory_node": 1},
    ],
)  # fmt: skip
def test_a_load_under_other_conditions_is_no_lower_bound(settings: dict[str, Any]) -> None:
    assert read(load_and_peak(33e9), nodes=2, loaded_latency=settings)[1] == ()


def test_two_lower_bounds_are_not_compared() -> None:
    one, two = (
        value(f"{name}=loaded-latency", "bandwidth", {"delay": 0}, rate) for name, rate in (("a", 9e9), ("b", 5e9))
    )
    assert read([one, two])[1] == ()


def test_a_pair_of_cpus_measured_by_two_entries_is_compared() -> None:
    at = {"cpu_a": 0, "cpu_b": 1, "node_a": 0, "node_b": 0, "memory_node": 0}
    token, cas = at | {"method": "token"}, at | {"method": "cas"}
    here, there = "one=core-to-core-latency", "two=core-to-core-latency"
    records = [value(here, "one_way", token, 55 * NS), value(there, "one_way", token, 225 * NS),
               value(there, "one_way", cas, 28 * NS)]  # fmt: skip
    assert flags(read(records)) == [["disagrees:two"], ["disagrees:one"], []]


@pytest.mark.parametrize(
    ("bound", "outcome"),
    [({"max": 170 * NS}, "unknown"), ({"max": 200 * NS}, "pass"), ({"max": 150 * NS}, "fail"),
     ({"max": None, "min": 187 * NS}, "unknown"), ({"max": 187 * NS}, "pass")],
)  # fmt: skip
def test_a_bound_between_two_values_of_one_quantity_is_not_judged(bound: dict[str, Any], outcome: str) -> None:
    records, found = read(dram(loaded=158.0))
    wanted = check(job_id="latency-sweep", metric="latency", **bound)
    (verdict,) = judge([wanted], gather(records, found), jobs_of(), {})
    assert verdict.outcome == outcome
    assert ("disagrees:idle-latency" in verdict.reason) == (outcome != "unknown")
    assert ("also contains idle-latency 187 ns" in verdict.reason) == (outcome == "unknown")
    (strict,) = judge([wanted], gather(records, found), jobs_of(), {}, strict=("a/latency-sweep",))
    assert strict.outcome == "unknown" and "`strict` rejects" in strict.reason


def jobs_of() -> Any:
    run = run_of()
    jobs = [job.model_copy(update={"id": "latency-sweep"}) for job in run.jobs]
    return run.model_copy(update={"jobs": jobs})


@pytest.mark.parametrize(("curve", "flagged"), [(550_000, True), (480_000, False), (270_000, False), (130_000, True)])
def test_the_end_of_a_cache_on_the_curves_of_latency_and_bandwidth(curve: int, flagged: bool) -> None:
    """The latency rises at 272 kB. If the bandwidth falls only at 550 kB, the latency shows the reach of a TLB, not the
    end of the cache."""
    seen, _ = read(
        [
            value("latency-sweep", "upper_bound", {"level": "L2"}, 272_000),
            value("bandwidth-sweep", "curve_end", {"level": "L2"}, curve),
        ]
    )
    expected = [["disagrees:bandwidth-sweep"], ["disagrees:latency-sweep"]] if flagged else [[], []]
    assert [one.flags for one in seen] == expected
