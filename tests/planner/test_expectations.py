"""Expectations become checks in base units, at canonical places, for the right hosts."""

from __future__ import annotations

from asct.planner.model import Check
from tests.planner.building import resolved, run

HOSTS = "hosts: {a: {transport: local}, b: {transport: local}, c: {transport: local}}\ngroups: {g: {hosts: [b, c]}}\n"


def checked(text: str, sets: tuple[str, ...] = (), **selection: tuple[str, ...]) -> list[Check]:
    return list(resolved(text, sets, **selection).checks)


def test_bounds_are_in_the_base_unit_of_the_metric() -> None:
    text = """
benchmarks: [levels, depth]
expect:
  - {metric: levels.latency, at: {level: DRAM}, max: 130 ns}
  - {metric: depth.iops, at: {iodepth: 4}, min: 550k, severity: warn, if_missing: pass}
  - {metric: depth.bandwidth, min: 1 GiB/s, max: 2 GB/s}
"""
    latency, iops, bandwidth = checked(text)
    assert (latency.job_id, latency.metric, latency.at, latency.hosts) == ("levels", "latency", {"level": "DRAM"}, None)
    assert latency.max == 130e-9 and latency.min is None
    assert latency.text == "levels.latency at level DRAM: at most 130 ns"
    assert (iops.min, iops.at, iops.severity, iops.if_missing) == (550_000.0, {"iodepth": 4}, "warn", "pass")
    assert (bandwidth.min, bandwidth.max) == (2.0**30, 2e9)


def test_places_are_canonical() -> None:
    text = """
benchmarks: [{uses: disk, sweep: {block_size: [4K, 8K]}}, levels]
expect:
  - {metric: disk.iops, at: {bs: 4KiB}, min: 1}
  - {metric: levels.latency, at: {size: 32K}, max: 1 s}
"""
    assert [check.at for check in checked(text)] == [{"block_size": 4096}, {"size": 32768}]


def test_by_splits_hosts() -> None:
    text = HOSTS + "benchmarks: [disk]\nexpect: [{metric: disk.iops, min: 200k, max: 9M, by: {g: {min: 180k}}}]"
    found = [(check.hosts, check.min, check.max) for check in checked(text)]
    assert found == [(("a",), 200_000.0, 9e6), (("b",), 180_000.0, 9e6), (("c",), 180_000.0, 9e6)]


def test_by_of_a_host_left_out_by_a_selection_is_no_error() -> None:
    text = HOSTS + "benchmarks: [disk]\nexpect: [{metric: disk.iops, min: 2, by: {b: {min: 1}}}]"
    assert [(check.hosts, check.min) for check in checked(text, hosts=("a",))] == [(None, 2.0)]
    assert [(check.hosts, check.min) for check in checked(text, hosts=("b",))] == [(("b",), 1.0)]


def test_a_share_is_a_fraction() -> None:
    place = "at: {traffic: all-reads}, min: 85%, of: theoretical_bandwidth"
    text = f"benchmarks: [peak]\nexpect: [{{metric: peak.bandwidth, {place}}}]"
    check = checked(text)[0]
    assert (check.min, check.relative_to) == (0.85, "theoretical_bandwidth")


def test_a_comparison_with_the_baseline() -> None:
    text = """
benchmarks: [disk, levels]
baseline: {run: results/x/golden}
expect: [{metric: "*", versus: baseline, no_worse_than: 5%, if_missing: warn}]
"""
    check = checked(text)[0]
    assert (check.job_id, check.metric, check.versus, check.no_worse_than) == ("*", "*", "baseline", 0.05)
    assert resolved(text).baseline == "results/x/golden"


def test_patterns_take_in_what_fits() -> None:
    text = """
benchmarks: [{id: d1, uses: disk, sweep: {iodepth: [1]}}, {id: d2, uses: disk}, levels]
expect: [{metric: "d*.iops", min: 1}, {metric: "*.iops", at: {iodepth: 1}, min: 1}]
"""
    assert [(check.job_id, check.metric) for check in checked(text)] == [("d*", "iops"), ("*", "iops")]


def test_expectations_about_what_is_not_selected_are_left_out() -> None:
    text = "benchmarks: [disk, levels]\nexpect: [{metric: levels.latency, max: 1 s}, {metric: disk.iops, min: 1}]"
    assert [check.job_id for check in checked(text, benchmarks=("disk",))] == ["disk"]


def test_an_expectation_of_a_job_that_was_added() -> None:
    text = "benchmarks: [peak]\nexpect: [{metric: levels.latency, at: {level: DRAM}, max: 130 ns}]"
    assert checked(text)[0].job_id == "levels"


def test_a_swept_setting_pinned_by_set_warns() -> None:
    text = "benchmarks: [depth]\nexpect: [{metric: depth.iops, at: {iodepth: 2}, min: 1}]"
    found = run(text, ("depth.iodepth=64",))
    assert found.plan is not None
    assert [(item.code, item.severity) for item in found.diagnostics] == [("E236", "warning")]
