"""Dependencies: added, reused, omitted and ordered. Their results have example values during planning, and are bound
during the run."""

from __future__ import annotations

import pytest

from asct.engine.points import bind, is_bound
from asct.errors import NotMeasured
from asct.plan.model import PendingValue
from asct.planner.model import Job
from tests.planner.building import job, refused, resolved

SIZE = 553_648_128


def named(text: str) -> list[tuple[str, str, dict[str, str]]]:
    """Return (key, reason, needs) for all jobs."""
    return [(item.key, item.reason, dict(item.needs)) for item in resolved(text).jobs]


PLANNED = "named in the plan"
NEEDED = {
    "a benchmark's own dependency is added before it on each host": (
        "hosts: {a: {transport: local}, b: {transport: local}}\nbenchmarks: [disk, {uses: peak, hosts: [b]}]",
        [("a/disk", PLANNED, {}), ("b/disk", PLANNED, {}), ("b/levels", "needed by peak", {}),
         ("b/peak", PLANNED, {"cache": "levels"})],
    ),
    "an entry with default settings is reused": (
        "benchmarks: [{id: p, uses: peak}, {id: curve, uses: levels}]",
        [("local/curve", PLANNED, {}), ("local/p", PLANNED, {"cache": "curve"})],
    ),
    "an entry with other settings is not reused": (
        "benchmarks: [{uses: levels, config: {stride: 128}}, peak]",
        [("local/levels", PLANNED, {}), ("local/levels-default", "needed by peak", {}),
         ("local/peak", PLANNED, {"cache": "levels-default"})],
    ),
    "the needs of the plan come first and replace the dependency": (
        "benchmarks: [{uses: peak, needs: {cache: wide}}, {id: wide, uses: levels, config: {stride: 128}}]",
        [("local/wide", PLANNED, {}), ("local/peak", PLANNED, {"cache": "wide"})],
    ),
}  # fmt: skip


@pytest.mark.parametrize("case", NEEDED)
def test_what_a_job_needs_stands_before_it(case: str) -> None:
    text, jobs = NEEDED[case]
    assert named(text) == jobs


def test_one_dependency_serves_all_who_need_it() -> None:
    text = "benchmarks: [{id: p, uses: peak}, {id: q, uses: peak}]"
    assert [key for key, _, _ in named(text)] == ["local/levels", "local/p", "local/q"]


@pytest.mark.parametrize("given", ["config: {data_size: 1GiB}", "sweep: {data_size: [1GiB, 2GiB]}"])
def test_an_explicit_setting_takes_the_dependency_away(given: str) -> None:
    assert [key for key, _, _ in named(f"benchmarks: [{{uses: peak, {given}}}]")] == ["local/peak"]


def test_writing_out_the_default_does_not() -> None:
    text = "benchmarks: [{uses: peak, config: {data_size: auto}}]"
    assert [key for key, _, _ in named(text)] == ["local/levels", "local/peak"]


def test_a_needed_job_runs_although_it_is_not_selected() -> None:
    text = "benchmarks: [{id: x, uses: disk}, {id: y, uses: disk, needs: {c: x}}, {id: z, uses: disk}]"
    found = resolved(text, benchmarks=("y",)).jobs
    assert [(item.id, item.reason) for item in found] == [("x", "needed by y"), ("y", "named in the plan")]


def test_jobs_of_a_long_chain_stand_in_order() -> None:
    entries = [f"{{id: n{i}, uses: disk, needs: {{c: n{i + 1}}}}}" for i in range(400)]
    text = f"benchmarks: [{', '.join(entries)}, {{id: n400, uses: disk}}]"
    assert [item.id for item in resolved(text).jobs] == [f"n{i}" for i in range(400, -1, -1)]


def test_a_circle_is_named_in_order() -> None:
    text = """
benchmarks:
  - {id: x, uses: disk, needs: {c: y}}
  - {id: y, uses: disk, needs: {c: z}}
  - {id: z, uses: disk, needs: {c: x}}
  - {id: w, uses: disk, needs: {c: x}}
"""
    assert refused(text)[0].message == "dependencies form a cycle: `x` needs `y` needs `z` needs `x`"


def test_a_job_that_needs_itself_is_a_circle() -> None:
    assert refused("benchmarks: [{uses: disk, needs: {me: disk}}]")[0].code == "E223"


def peak(template: str) -> Job:
    return job(f"vars: {{n: 2}}\nbenchmarks: [{{uses: peak, config: {{data_size: '{template}'}}}}]", "peak")


def test_results_stay_deferred_and_keep_what_else_they_read() -> None:
    settings = peak("${needs.cache.dram.optimum_size * vars.n}").points[0].settings
    deferred = settings["data_size"]
    assert isinstance(deferred, PendingValue) and not is_bound(deferred)
    assert deferred.aliases == ("cache",) and dict(deferred.values) == {"vars.n": 2}
    assert bind(settings, {"cache.dram.optimum_size": SIZE}) == {"data_size": 2 * SIZE, "time_cap": 1.0}


def test_a_template_alone_keeps_the_dependency() -> None:
    found = peak("${needs.cache.dram.optimum_size}")
    assert found.needs == {"cache": "levels"}


def test_the_example_is_checked_like_a_value() -> None:
    text = "benchmarks: [levels, {uses: disk, needs: {c: levels}, config: {iodepth: '${needs.c.dram.latency}'}}]"
    [found] = refused(text)
    assert found.code == "E208" and "`needs.c.dram.latency` = " in found.notes[0][0]
    fits = "benchmarks: [levels, {uses: disk, needs: {c: levels}, config: {duration: '${needs.c.dram.latency}'}}]"
    assert bind(job(fits, "disk").points[0].settings, {"c.dram.latency": 2.5})["duration"] == 2.5


def test_a_list_may_wait_in_part() -> None:
    config = "{filename: [x, 'y${needs.c.dram.optimum_size}']}"
    text = f"benchmarks: [levels, {{uses: disk, needs: {{c: levels}}, config: {config}}}]"
    settings = job(text, "disk").points[0].settings
    assert bind(settings, {"c.dram.optimum_size": 7})["file_names"] == ["x", "y7"]


def test_an_unknown_alias_is_an_error_at_its_place() -> None:
    text = "benchmarks: [{uses: peak, config: {data_size: '${needs.cahce.dram.optimum_size}'}}]"
    found = refused(text)
    assert "did you mean `cache`?" in found[0].hint and found[0].span is not None


def test_a_missing_result_names_the_way_out() -> None:
    with pytest.raises(NotMeasured) as caught:
        bind(peak("${needs.cache.dram.optimum_size}").points[0].settings, {})
    found = caught.value.diagnostics[0]
    assert found.code == "E226" and "cache.dram.optimum_size" in found.message
    assert "set `data_size` in the plan" in found.hint and found.span is not None


def test_ids_tell_deferred_settings_apart() -> None:
    ids = {
        peak(text).points[0].id for text in ("${needs.cache.dram.optimum_size}", "${needs.cache.dram.optimum_size * 2}")
    }
    assert len(ids) == 2
