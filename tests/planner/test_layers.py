"""Which layer takes precedence, and how the origin of a value is described."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.planner.building import job, refused, resolved

ORDER = ("defaults", "group g", "host a", "config", "sweep", "--set")
VALUES = {layer: 10 + number for number, layer in enumerate(ORDER)}


def plan_with(layers: set[str]) -> tuple[str, tuple[str, ...]]:
    """Return a plan whose layers each set iodepth to a different value."""

    def config(layer: str) -> str:
        return f"config: {{iodepth: {VALUES[layer]}}}" if layer in layers else "config: {}"

    sweep = f", sweep: {{iodepth: [{VALUES['sweep']}]}}" if "sweep" in layers else ""
    text = f"""
hosts: {{a: {{{config("host a")}}}}}
groups: {{g: {{hosts: [a], {config("group g")}}}}}
defaults: {{{config("defaults")}}}
benchmarks: [{{uses: disk, {config("config")}{sweep}}}]
"""
    return text, (f"disk.iodepth={VALUES['--set']}",) if "--set" in layers else ()


@given(st.sets(st.sampled_from(ORDER)))
def test_the_highest_layer_wins_and_is_named(layers: set[str]) -> None:
    found = job(*plan_with(layers)[:1], None, plan_with(layers)[1])
    winner = next((layer for layer in reversed(ORDER) if layer in layers), "default")
    assert found.points[0].settings["iodepth"] == VALUES.get(winner, 1)
    assert found.origins["iodepth"].layer == winner
    assert (found.origins["iodepth"].span is None) is (winner == "default")


def test_an_origin_points_at_the_value() -> None:
    text = "benchmarks:\n  - uses: disk\n    config:\n      bs: 8K"
    span = job(text).origins["block_size"].span
    assert span is not None and (span.file, span.line, span.column) == ("plan.yaml", 4, 11)


def test_shared_layers_reach_only_the_benchmarks_that_have_the_setting() -> None:
    text = "defaults: {config: {iodepth: 8, stride: 128}}\nbenchmarks: [disk, levels]"
    assert job(text, "disk").points[0].settings["iodepth"] == 8
    assert job(text, "levels").points[0].settings == {"stride": 128, "pages": "auto", "time_cap": 2.0}


def test_a_shared_setting_of_a_benchmark_that_is_not_in_the_plan_is_fine() -> None:
    text = "hosts: {a: {config: {stride: 128}}}\nbenchmarks: [disk]"
    assert len(resolved(text).jobs) == 1


def test_groups_that_agree_are_fine() -> None:
    text = """
hosts: {a: {transport: local}}
groups: {g: {hosts: [a], config: {iodepth: 2}}, h: {hosts: [a], config: {iodepth: 2}}}
benchmarks: [disk]
"""
    assert job(text).points[0].settings["iodepth"] == 2


@pytest.mark.parametrize("path", ["one.iodepth", "one.config.iodepth", "disk.iodepth"])
def test_set_reaches_an_entry_by_id_or_by_benchmark(path: str) -> None:
    text = "benchmarks: [{id: one, uses: disk}, levels]"
    assert job(text, "one", (f"{path}=64",)).points[0].settings["iodepth"] == 64


def test_set_of_an_id_leaves_other_entries_alone() -> None:
    text = "benchmarks: [{id: one, uses: disk}, {id: two, uses: disk}]"
    found = {item.id: item.points[0].settings["iodepth"] for item in resolved(text, ("one.iodepth=64",)).jobs}
    assert found == {"one": 64, "two": 1}


def test_set_reaches_a_job_that_another_needs() -> None:
    assert job("benchmarks: [peak]", "levels", ("levels.stride=256",)).points[0].settings["stride"] == 256


def test_set_pins_a_swept_setting_and_equal_points_become_one() -> None:
    text = """
benchmarks:
  - uses: disk
    sweep: {iodepth: [1, 2], bs: [4K, 8K], exclude: [{iodepth: 2, bs: 8K}], include: [{iodepth: 4, bs: 4K}]}
expect: [{metric: disk.iops, at: {iodepth: 2}, min: 1}]
"""
    found = resolved(text, ("disk.iodepth=64",))
    assert [dict(point.swept) for point in found.jobs[0].points] == [
        {"iodepth": 64, "block_size": 4096}, {"iodepth": 64, "block_size": 8192},
    ]  # fmt: skip
    assert [check.unplanned for check in found.checks] == ["`iodepth` is never 2 in `disk`"]
    zipped = "benchmarks: [{uses: disk, sweep: {zip: [{iodepth: [1, 2], numjobs: [3, 4]}]}}]"
    assert [point.swept["numjobs"] for point in job(zipped, None, ("disk.iodepth=64",)).points] == [3, 4]


def test_an_unknown_setting_of_set_is_an_error() -> None:
    assert [item.code for item in refused("benchmarks: [disk]", ("disk.iodeth=4",))] == ["E202"]


def test_steps_are_an_axis_of_the_single_setting() -> None:
    point = job("benchmarks: [depth]").points[-1]
    assert [item.swept for item in job("benchmarks: [depth]").points] == [
        {"iodepth": 1},
        {"iodepth": 2},
        {"iodepth": 4},
    ]
    assert "iodepth_sweep_steps" not in point.settings and point.settings["iodepth"] == 4


@pytest.mark.parametrize(
    ("entry", "depths"),
    [
        ("config: {iodepth_sweep_steps: [4, 5]}", [4, 5]),
        ("config: {iodepth_sweep_steps: {from: 1, to: 8, times: 2}}", [1, 2, 4, 8]),
        ("config: {iodepth: 16}", [16]),
        ("sweep: {iodepth: [3, 9]}", [3, 9]),
        ("config: {iodepth_sweep_steps: [4, 5]}, sweep: {iodepth: [3, 9]}", [3, 9]),
    ],
)
def test_who_decides_on_the_steps(entry: str, depths: list[int]) -> None:
    assert [point.swept["iodepth"] for point in job(f"benchmarks: [{{uses: depth, {entry}}}]").points] == depths


def test_the_higher_layer_decides_between_steps_and_single_setting() -> None:
    text = "defaults: {config: {%s}}\nbenchmarks: [{uses: depth, config: {%s}}]"
    assert len(job(text % ("iodepth: 3", "iodepth_sweep_steps: [7, 8]")).points) == 2
    assert [p.swept for p in job(text % ("iodepth_sweep_steps: [7, 8]", "iodepth: 3")).points] == [{"iodepth": 3}]
    assert [p.swept for p in job("benchmarks: [depth]", None, ("depth.iodepth_sweep_steps=[5]",)).points] == [
        {"iodepth": 5}
    ]


def test_templates_read_variables_and_the_host() -> None:
    text = """
vars: {run: 30s, depths: [1, 2]}
hosts: {a: {vars: {disk: /tmp/a}}, b: {vars: {disk: /tmp/b}}}
benchmarks:
  - uses: disk
    config: {duration: "${vars.run * 2}", filename: ["${host.vars.disk}"]}
    sweep: {iodepth: "${vars.depths}"}
"""
    found = resolved(text)
    assert [item.points[0].settings["file_names"] for item in found.jobs] == [["/tmp/a"], ["/tmp/b"]]
    assert found.jobs[0].points[1].settings["duration"] == 60.0
    assert len(found.jobs[0].points) == 2


def test_hosts_that_do_not_differ_share_their_points() -> None:
    text = 'hosts: {"n[1:9]": {}}\nbenchmarks: [{uses: disk, sweep: {iodepth: [1, 2]}}]'
    assert len({id(item.points) for item in resolved(text).jobs}) == 1
