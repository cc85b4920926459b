"""Expectations are resolved to checks in base units, with canonical coordinates, for the right hosts."""

from __future__ import annotations

from asct.planner.model import Check
from tests.planner.building import refused, resolved

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


def unplanned(
    text: str, sets: tuple[str, ...] = (), profile: str | None = None, **selection: tuple[str, ...]
) -> list[str]:
    return [check.unplanned for check in resolved(text, sets, profile, **selection).checks]


def test_expectations_about_what_is_not_selected_are_not_planned() -> None:
    bounds = "[{metric: levels.latency, at: {level: L1}, max: 1 s}, {metric: disk.iops, min: 1}]"
    text = f"benchmarks: [disk, levels]\nexpect: {bounds}"
    left, kept = resolved(text, benchmarks=("disk",)).checks
    assert (left.job_id, left.at, left.unplanned) == ("levels", {"level": "L1"}, "`levels` is not selected")
    assert (kept.job_id, kept.unplanned) == ("disk", "")


def test_an_expectation_about_a_deselected_dependency_is_not_planned() -> None:
    text = "benchmarks: [peak, disk]\nexpect: [{metric: levels.latency, at: {level: DRAM}, max: 130 ns}]"
    assert unplanned(text) == [""]
    assert unplanned(text, benchmarks=("disk",)) == ["`levels` is not selected"]


def test_an_expectation_whose_only_host_is_not_selected_is_not_planned() -> None:
    text = HOSTS + "benchmarks: [disk]\nexpect: [{metric: disk.iops, by: {b: {min: 1}}}]"
    assert unplanned(text, hosts=("a",)) == ["`disk` is not selected on its hosts"]
    assert unplanned(text, hosts=("b",)) == [""]


def test_an_expectation_of_a_job_that_was_added() -> None:
    text = "benchmarks: [peak]\nexpect: [{metric: levels.latency, at: {level: DRAM}, max: 130 ns}]"
    assert checked(text)[0].job_id == "levels"


SWEPT = """
vars: {most: 64}
benchmarks:
  - {id: depth, uses: disk, sweep: {iodepth: [1, 8, 32], where: iodepth <= vars.most}}
  - levels
expect: [{id: deep, metric: depth.iops, at: {iodepth: %s}, min: 100, severity: warn}]
profiles:
  quick: {benchmarks: {depth: {sweep: {iodepth: [1]}}}}
  small: {vars: {most: 8}}
  large: {benchmarks: {depth: {sweep: {iodepth: [64]}}}}
  loose: {expect: {deep: {min: 50, severity: fail}}}
"""


def test_a_profile_and_set_may_remove_the_point_of_an_expectation() -> None:
    assert unplanned(SWEPT % 32) == [""]
    assert unplanned(SWEPT % 32, profile="quick") == ["`iodepth` is never 32 in `depth`"]
    assert unplanned(SWEPT % 32, profile="small") == ["`iodepth` is never 32 in `depth`"]
    assert unplanned(SWEPT % 32, ("depth.iodepth=8",)) == ["`iodepth` is never 32 in `depth`"]
    assert unplanned(SWEPT % 32, ("depth.sweep.iodepth=[1, 2]",)) == ["`iodepth` is never 32 in `depth`"]
    assert unplanned(SWEPT % 8, ("depth.iodepth=8",)) == [""]


def test_a_profile_may_narrow_a_sweep_beside_an_exclude() -> None:
    text = """
benchmarks: [{id: depth, uses: disk, sweep: {iodepth: [1, 8, 32], exclude: [{iodepth: %s}]}}]
profiles: {quick: {benchmarks: {depth: {sweep: {iodepth: [1]}}}}}
"""
    for profile, points in ((None, 2), ("quick", 1)):
        assert len(resolved(text % 32, profile=profile).jobs[0].points) == points
        assert [item.code for item in refused(text % 33, profile=profile)] == ["E215"]


def test_a_point_that_only_another_profile_plans_is_not_planned() -> None:
    assert unplanned(SWEPT % 64) == ["`iodepth` is never 64 in `depth`"]
    assert unplanned(SWEPT % 64, profile="large") == [""]


def test_a_point_that_no_profile_plans_is_an_error_with_and_without_a_profile() -> None:
    for profile in (None, "quick", "large"):
        assert [item.code for item in refused(SWEPT % 33, profile=profile)] == ["E236"]
    assert [item.code for item in refused(SWEPT % 33, ("depth.iodepth=8",))] == ["E236"]


def test_profiles_and_set_change_bounds_by_id_or_metric() -> None:
    def bounds(*sets: str, profile: str | None = None) -> list[tuple[float | None, str, str]]:
        found = resolved(SWEPT % 8, sets, profile).checks
        return [(check.min, check.severity, check.text.rpartition(": ")[2]) for check in found]

    assert bounds() == [(100.0, "warn", "at least 100")]
    assert bounds(profile="loose") == [(50.0, "fail", "at least 50")]
    assert bounds("expect.deep.min=70") == [(70.0, "warn", "at least 70")]
    assert bounds("expect.depth.iops.min=1k", profile="loose") == [(1000.0, "fail", "at least 1k")]


def test_a_changed_bound_keeps_the_line_of_its_expectation() -> None:
    lines = [check.span.line for check in resolved(SWEPT % 8, profile="loose").checks if check.span]
    assert lines == [check.span.line for check in resolved(SWEPT % 8).checks if check.span]


def test_an_expectation_that_is_not_planned_does_not_change_the_hash() -> None:
    bare = (
        (SWEPT % 32)
        .replace("expect: [{id: deep", "expect: []  # [{id: deep")
        .replace("  loose: {expect", "  # {expect")
    )
    assert resolved(SWEPT % 32, profile="quick").hash == resolved(bare, profile="quick").hash
    assert resolved(SWEPT % 32).hash != resolved(bare).hash


def test_a_reference_needs_no_bound_and_does_not_change_the_hash() -> None:
    text = """
benchmarks: [depth]
expect:
  - {metric: depth.iops, at: {iodepth: 2}, reference: 130k}
  - {metric: depth.iops, at: {iodepth: 4}, min: 100k, reference: 140 kops/s}
  - {metric: depth.bandwidth, min: 85%, of: theoretical_bandwidth, reference: 2 GB/s}
"""
    alone, beside, share = checked(text)
    assert (alone.reference, alone.bounded, alone.text) == (130_000.0, False, "depth.iops at iodepth 2: reference 130k")
    assert (beside.reference, beside.min, beside.bounded) == (140_000.0, 100_000.0, True)
    assert beside.text == "depth.iops at iodepth 4: at least 100k"
    assert (share.reference, share.min) == (2e9, 0.85)
    bare = text.replace(", reference: 140 kops/s", "").replace(
        "  - {metric: depth.iops, at: {iodepth: 2}, reference: 130k}\n", ""
    )
    assert resolved(text).hash == resolved(bare).hash


def test_hosts_may_have_their_own_reference() -> None:
    text = HOSTS + "benchmarks: [disk]\nexpect: [{metric: disk.iops, reference: 2k, by: {g: {reference: 3k}}}]"
    assert [(check.hosts, check.reference) for check in checked(text)] == [
        (("a",), 2000.0), (("b",), 3000.0), (("c",), 3000.0),
    ]  # fmt: skip
