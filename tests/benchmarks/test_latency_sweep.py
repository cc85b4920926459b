"""latency-sweep: settings, the command line, levels on recorded curves, tables and figures, and the real kernel."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import pytest

from asct.benchmarks.latency_sweep import BENCHMARK
from asct.benchmarks.latency_sweep.measure import NO_LEVELS_HINT, NOTES
from asct.sdk.benchmark import Context
from asct.sdk.facts import Cache, CacheLevel, Cpu, HostFacts, Memory, NumaNode
from asct.sdk.figure import Line
from asct.sdk.record import Measurement, Record, doubtful
from asct.sdk.step import Output, Step
from tests.benchmarks.kernels import measured_here, run_step
from tests.benchmarks.test_contract import FOLDER, bare_facts, option, records_of, replayed, showing

DATA = FOLDER / "latency_sweep" / "testdata"
params: Any = partial(BENCHMARK.params_model, visits=1)


def recorded(case: str) -> tuple[Any, HostFacts, list[Output]]:
    return replayed(BENCHMARK, json.loads((DATA / f"{case}.json").read_text(encoding="utf-8")))


def measured(case: str) -> Sequence[Measurement]:
    settings, facts, outputs = recorded(case)
    return BENCHMARK.parse(settings, outputs, facts)


def at_level(found: Sequence[Measurement], metric: str) -> dict[str, float]:
    return {str(item.coords["level"]): item.value for item in found if item.metric == metric and "level" in item.coords}


def first_step(facts: HostFacts, **settings: Any) -> Step:
    (step,) = BENCHMARK.steps(params(**settings), Context(facts, "/work"))
    return step


@pytest.mark.parametrize("text", ["4K", "4k", "4KiB", 4096])
def test_page_kinds_in_any_spelling(text: object) -> None:
    assert params(pages=text).pages == "4k"
    assert params(pages="THP").pages == "thp"
    assert params(pages="1GiB").pages == "1g"


def test_target_interval_as_percent_or_share() -> None:
    assert params(target_interval="0.5 %").target_interval == pytest.approx(0.005)
    assert params(target_interval=0.01).target_interval == 0.01
    assert params(sizes="4K,64K").sizes == (4096, 65536)


def test_contradictions_name_the_setting() -> None:
    assert [name for name, _ in BENCHMARK.check(params(min_size="1M", max_size="64K"))] == ["min_size"]
    assert [name for name, _ in BENCHMARK.check(params(min_size=128, stride=4096))] == ["min_size"]
    assert [name for name, _ in BENCHMARK.check(params(sizes=[64], stride=64))] == ["sizes"]
    assert [name for name, _ in BENCHMARK.check(params(sizes=["2G"], max_size="1G"))] == ["sizes"]
    assert not list(BENCHMARK.check(params(sizes=["2G"])))
    for stride in (16, 64, 128, 256, 4096):
        assert not list(BENCHMARK.check(params(stride=stride)))
    assert not list(BENCHMARK.check(params(sizes=["4K", "1G"])))


def test_arguments_carry_every_setting() -> None:
    given = first_step(
        bare_facts(), min_size="1K", max_size="64M", points_per_octave=8, stride=128, pages="2M", cpu=3, memory_node=1,
        target_interval="1 %", time_cap="50ms", seed=9,
    )  # fmt: skip
    expected = {
        "min-size": "1024", "max-size": "67108864", "points-per-octave": "8", "stride": "128", "pages": "2m",
        "cpu": "3", "node": "1", "time-cap-ms": "50", "seed": "9",
    }  # fmt: skip
    assert {name: option(given, name) for name in expected} == expected
    listed = first_step(bare_facts(), sizes=["64K", "4K", "4K"])
    assert option(listed, "sizes") == "4096,65536"
    assert option(listed, "min-size") is None


def test_the_last_allowed_cpu_of_the_node_measures() -> None:
    nodes = [NumaNode(id=0, cpus=[0, 1, 2, 3]), NumaNode(id=1, cpus=[4, 5, 6, 7]), NumaNode(id=2, cpus=[])]
    facts = bare_facts().model_copy(update={"nodes": nodes, "cpu": Cpu(allowed=[0, 1, 2, 5, 6])})
    assert option(first_step(facts), "cpu") == "2"
    assert option(first_step(facts, memory_node=1), "cpu") == "6"
    assert option(first_step(facts, memory_node=2), "cpu") == "2"
    assert option(first_step(facts, cpu=5), "cpu") == "5"
    assert option(first_step(facts.model_copy(update={"nodes": []})), "cpu") == "6"
    assert option(first_step(bare_facts()), "cpu") is None


def test_needs_grow_with_the_sweep() -> None:
    small, large = BENCHMARK.needs(params(max_size="1M"), None), BENCHMARK.needs(params(), None)
    assert small.kernels == ("chase",)
    assert large.memory_bytes >= 1 << 30
    assert large.memory_bytes > small.memory_bytes
    assert large.seconds > small.seconds
    assert BENCHMARK.needs(params(pages="thp"), None).privileges == ()
    assert "1 GiB" in BENCHMARK.needs(params(pages="1G"), None).privileges[0].why


def short_of_memory(available: int) -> HostFacts:
    return bare_facts().model_copy(update={"memory": Memory(available_bytes=available), "cpu": Cpu(allowed=[0, 1])})


def test_the_range_ends_at_what_is_free() -> None:
    facts = short_of_memory(600 << 20)
    (size,) = {option(first_step(facts), "max-size"), option(first_step(facts, pages="4k"), "max-size")}
    assert 256 << 20 < int(size or 0) < 600 << 20
    assert BENCHMARK.needs(params(), facts).memory_bytes < 600 << 20
    assert option(first_step(short_of_memory(8 << 30)), "max-size") == str(1 << 30)
    assert option(first_step(facts, max_size="1G"), "max-size") == str(1 << 30)
    assert BENCHMARK.needs(params(max_size="1G"), facts).memory_bytes > 1 << 30


@pytest.mark.parametrize(
    ("caches", "size"),
    [([], 1 << 30), ([32 << 20], 1 << 29), ([128 << 20], 1 << 29), ([256 << 20], 1 << 30), ([480 << 20], 1 << 31)],
)
def test_no_more_is_mapped_than_memory_needs(caches: list[int], size: int) -> None:
    known = [Cache(level=3, type="Unified", size_bytes=cache) for cache in caches]
    facts = short_of_memory(8 << 30).model_copy(update={"caches": known})
    assert option(first_step(facts), "max-size") == str(size)
    assert all(size >= 4 * cache for cache in caches)


def test_the_range_ends_at_what_is_free_on_the_node_of_the_memory() -> None:
    nodes = [
        NumaNode(id=0, cpus=[0], memory_bytes=8 << 30, free_bytes=6 << 30),
        NumaNode(id=3, cpus=[], memory_bytes=1 << 30, free_bytes=400 << 20, available_bytes=500 << 20),
    ]
    facts = bare_facts().model_copy(update={"nodes": nodes, "cpu": Cpu(allowed=[0])})
    assert option(first_step(facts), "max-size") == str(1 << 30)
    assert 300 << 20 < int(option(first_step(facts, memory_node=3), "max-size") or 0) < 500 << 20


def test_a_range_that_was_cut_short_is_told() -> None:
    settings, facts, outputs = recorded("default")
    short = facts.model_copy(update={"memory": Memory(available_bytes=600 << 20)})
    for settled, where, told in (
        (settings, short, True),
        (settings, facts, False),
        (params(max_size="1G"), short, False),
    ):
        found = BENCHMARK.parse(settled, outputs, where)
        (table,) = BENCHMARK.tables(records_of(BENCHMARK, found))
        assert any(note.startswith("There is too little free memory") for note in table.notes) is told


@pytest.mark.parametrize("case", ["default", "base-pages"])
def test_levels_of_recorded_curves(case: str) -> None:
    found = measured(case)
    lower, upper = at_level(found, "lower_bound"), at_level(found, "upper_bound")
    optimum, latency = at_level(found, "optimum_size"), at_level(found, "latency")
    assert list(latency) == ["L1", "L2", "LLC", "DRAM"]
    assert list(latency.values()) == sorted(latency.values())
    # the machine of the recording: 48 KiB of L1, 5 and about 16 cycles
    assert upper["L1"] == pytest.approx(48 * 1024, rel=0.04)
    assert at_level(found, "latency_cycles")["L1"] == pytest.approx(5.0, rel=0.01)
    assert at_level(found, "latency_cycles")["L2"] == pytest.approx(16.0, rel=0.02)
    ends = [bound for level in latency for bound in (lower[level], optimum[level], upper[level])]
    assert ends == sorted(ends)
    assert upper["DRAM"] == 1 << 30


@pytest.mark.parametrize(("scatter", "visits"), [(None, 6), (0.001, 6), (0.2, 12)])
def test_the_levels_of_an_earlier_run_determine_the_number_of_visits(scatter: float | None, visits: int) -> None:
    settings, facts, outputs = recorded("default")
    settings = settings.model_copy(update={"visits": None})
    values = [
        item.model_copy(
            update={"stats": stats.model_copy(update={"visits": 6, "between": (scatter * item.value) ** 2})}
        )
        for item in records_of(BENCHMARK, BENCHMARK.parse(settings, outputs, facts))
        if scatter is not None and (stats := item.stats) is not None
    ]
    steps = BENCHMARK.steps(settings, Context(facts, "/work", outputs, earlier=values))
    assert len(steps) == visits - 1


def visited(case: str, factors: Sequence[float]) -> Sequence[Measurement]:
    """Return a recorded case with additional visits. The latencies of each visit are those of the curve times a
    factor."""
    settings, facts, outputs = recorded(case)
    settings = settings.model_copy(update={"visits": 1 + len(factors)})
    lines = [json.loads(line) for output in outputs for line in output.stdout.splitlines()]
    samples = {line["size"]: line for line in reversed(lines) if line["t"] == "sample"}
    for step, factor in zip(BENCHMARK.steps(settings, Context(facts, "/work", outputs)), factors, strict=True):
        sizes = [int(size) for size in (option(step, "sizes") or "").split(",")]
        scaled = [
            {
                key: round(value * factor) if value and (key.endswith("_ps") or "mcycles" in key) else value
                for key, value in samples[size].items()
            }
            for size in sizes
        ]
        stream = [lines[0], *scaled, {"t": "end", "ok": True}]
        outputs = [*outputs, Output(step, 0, {"stdout": "\n".join(map(json.dumps, stream)) + "\n", "stderr": ""})]
    return BENCHMARK.parse(settings, outputs, facts)


@pytest.mark.parametrize("case", ["default", "base-pages"])
def test_the_latency_of_a_level_is_that_of_all_visits(case: str) -> None:
    once, often = at_level(visited(case, []), "latency"), visited(case, [1.02, 0.98, 1.01, 0.99, 1.0])
    assert at_level(often, "latency") == pytest.approx(once, rel=0.003)
    for item in often:
        if item.metric == "latency" and "level" in item.coords:
            assert item.stats is not None and item.stats.ci95 is not None
            assert item.stats.visits == 6
            low, high = item.stats.ci95
            assert low < item.value < high
            assert (high - low) / item.value == pytest.approx(2 * 2.571 * 0.01414 / 6**0.5, rel=0.05)
    curve = {item.coords["size"]: item for item in often if item.metric == "latency" and "size" in item.coords}
    again = {size for size, item in curve.items() if item.stats and item.stats.visits == 6}
    assert {size for size in curve if size <= 64 << 20} <= again, "every visit measures what is built quickly"
    assert all(curve[size].stats.ci95 for size in again)
    assert all(item.stats.visits == 1 and item.stats.ci95 is None for size, item in curve.items() if size not in again)
    (memory,) = at_level(often, "data_size").values()
    assert {size for size in again if size > 64 << 20} == {memory}


def test_only_sizes_that_are_set_are_known_ahead() -> None:
    facts = bare_facts()
    assert not BENCHMARK.steps_known_ahead(params(visits=2), facts), "the levels to visit follow from the curve"
    assert BENCHMARK.steps_known_ahead(params(visits=2, sizes=["4K"]), facts)
    assert not BENCHMARK.steps_known_ahead(params(visits=None, sizes=["4K"]), facts)


def test_levels_of_two_states_are_said() -> None:
    found = visited("default", [1.5, 1.0, 1.5, 1.5, 1.0])
    assert {"two-states"} <= {flag for item in found if item.coords.get("level") == "DRAM" for flag in item.flags}


def test_on_a_busy_machine_each_level_is_right_or_flagged() -> None:
    """`busy` was recorded on the same machine while other jobs kept both CPUs busy three times over."""
    quiet, busy = at_level(measured("default"), "latency"), measured("busy")
    doubted = {level for level in results_in_doubt(busy) if level}
    assert {level for level in at_level(busy, "latency") if level not in doubted} >= {"L1", "L2"}
    for level, latency in at_level(busy, "latency").items():
        assert level in doubted or latency == pytest.approx(quiet[level], rel=0.1)
    flags = {flag for item in busy if "level" in item.coords for flag in item.flags}
    assert "noisy-pressure" in flags


def test_wrong_or_missing_cache_sizes_change_no_level() -> None:
    settings, facts, outputs = recorded("default")
    right = at_level(BENCHMARK.parse(settings, outputs, facts), "latency")
    wrong = [Cache(level=1, type="Data", size_bytes=1 << 20), Cache(level=2, type="Unified", size_bytes=3 << 20)]
    for caches in ([], wrong):
        found = BENCHMARK.parse(settings, outputs, facts.model_copy(update={"caches": caches}))
        assert at_level(found, "lower_bound") == at_level(BENCHMARK.parse(settings, outputs, facts), "lower_bound")
        assert at_level(found, "upper_bound") == at_level(BENCHMARK.parse(settings, outputs, facts), "upper_bound")
        latency = at_level(found, "latency")
        assert latency.pop("DRAM") == pytest.approx(right["DRAM"], rel=0.2), "of a smaller working set"
        assert latency.items() <= right.items()


def test_caches_are_those_of_the_cpu_that_was_measured() -> None:
    """The cores of a hybrid machine have different caches."""
    settings, facts, outputs = recorded("default")
    cpu = json.loads(outputs[0].stdout.splitlines()[0])["cpu"]

    def reported(of_this: int, of_another: int) -> tuple[float, bool]:
        levels = [
            CacheLevel(level=2, type="Unified", size_bytes=size, instances=[[one]])
            for one, size in ((cpu, of_this), (cpu + 1, of_another))
        ]
        first = [Cache(level=2, type="Unified", size_bytes=of_another)]
        hybrid = facts.model_copy(update={"caches": first, "cache_levels": levels})
        found = BENCHMARK.parse(settings, outputs, hybrid)
        (end,) = [one for one in found if one.metric == "upper_bound" and one.coords["level"] == "L2"]
        return at_level(found, "cache_size")["L2"], "unlike-reported" in end.flags

    assert reported(2 << 20, 512 << 10) == (2 << 20, False)
    assert reported(512 << 10, 2 << 20) == (512 << 10, True)


def test_no_levels_are_said_and_nothing_is_exported() -> None:
    for case, cause in (("inside-l1", "flat-curve"), ("sizes", "few-sizes")):
        found = measured(case)
        (count,) = [item for item in found if item.metric == "levels"]
        assert (count.value, count.flags) == (0.0, ("no-levels", cause))
        assert BENCHMARK.export(found) == {}
        (table,) = BENCHMARK.tables(records_of(BENCHMARK, found))
        assert table.rows == ()
        assert table.notes[0] == NO_LEVELS_HINT
        assert "data_size" in NO_LEVELS_HINT
        assert table.notes[1].lower().startswith(NOTES[cause][:20])
        assert len(BENCHMARK.figures(records_of(BENCHMARK, found))) == 1


def test_export_fills_the_paths_of_the_levels_found() -> None:
    found = measured("default")
    exported = BENCHMARK.export(found)
    assert exported["dram.optimum_size"] == int(at_level(found, "optimum_size")["DRAM"])
    assert exported["l1.latency"] == at_level(found, "latency")["L1"]
    assert {path.split(".")[0] for path in exported} == {"l1", "l2", "llc", "dram"}


def test_the_table_has_the_columns_users_know() -> None:
    (table,) = BENCHMARK.tables(records_of(BENCHMARK, measured("default")))
    assert [column.title for column in table.columns] == [
        "Level", "Lower bound", "Upper bound", "TLB end", "Optimum data size", "Latency [ns]", "Latency [cycle]",
        "95 % interval [ns]", "Flags",
    ]  # fmt: skip
    assert [row["level"] for row in table.rows] == ["L1", "L2", "LLC", "DRAM"]
    (plain,) = BENCHMARK.tables(records_of(BENCHMARK, measured("base-pages")))
    assert "TLB end" not in [column.title for column in plain.columns], "no chain that would show it"


def test_the_latency_of_memory_is_that_of_one_size_which_is_named() -> None:
    found = measured("default")
    (size,) = at_level(found, "data_size").values()
    assert size == at_level(found, "optimum_size")["DRAM"] == BENCHMARK.export(found)["dram.optimum_size"]
    assert size >= 2 * 260 << 20, "loads from less than twice the last cache hit it"
    on_curve = {item.coords["size"]: item.value for item in found if item.metric == "latency" and "size" in item.coords}
    assert at_level(found, "latency")["DRAM"] == on_curve[size]
    (table,) = BENCHMARK.tables(records_of(BENCHMARK, found))
    assert "Latency of DRAM: measured with random loads over 609M, in 1G pages." in table.notes


def test_the_ends_of_caches_and_of_the_tlb_are_told_apart() -> None:
    """The local chain was recorded on the same machine as the curve, but in a different run."""
    settings, facts, outputs = recorded("default")
    usual = BENCHMARK.parse(settings, [output for output in outputs if output.step.name != "local"], facts)
    found = BENCHMARK.parse(settings, outputs, facts)
    assert at_level(usual, "tlb_end") == {}
    ends, before = at_level(found, "upper_bound"), at_level(usual, "upper_bound")
    assert ends["L1"] == before["L1"]
    assert ends["L2"] >= before["L2"]
    assert ends["LLC"] > 1.3 * before["LLC"], "the reach of a TLB ended the plateau"
    assert 350_000 < at_level(found, "tlb_end")["L2"] < 700_000, "96 entries with pages of 4 KiB of the host"
    flags = {str(item.coords["level"]): item.flags for item in found if item.metric == "upper_bound"}
    assert "unlike-reported" in flags["LLC"], "of 260 MiB"
    assert "unlike-reported" not in (*flags["L1"], *flags["L2"])
    (table,) = BENCHMARK.tables(records_of(BENCHMARK, found))
    assert any(note.startswith("L2 ends at ") and "reach of a TLB" in note for note in table.notes)


def test_the_chain_local_to_few_pages_covers_the_caches() -> None:
    settings, facts, outputs = recorded("default")
    edges, local = BENCHMARK.steps(settings, Context(facts, "/work", outputs[:1]))
    assert (edges.name, local.name) == ("edges", "local")
    assert (option(local, "window"), option(local, "min-size")) == ("131072", "65536")
    dram = at_level(BENCHMARK.parse(settings, outputs[:1], facts), "lower_bound")["DRAM"]
    assert int(option(local, "max-size") or 0) == min(2 * dram, 128 << 20)
    assert option(edges, "window") is None


def test_disturbed_sizes_of_the_curve_are_counted() -> None:
    def few(sample: dict[str, Any]) -> None:
        sample.update({"capped": True, "batches": 7} if sample["size"] < 4096 else {})

    found = altered("default", few)
    (table,) = BENCHMARK.tables(records_of(BENCHMARK, found))
    curve = [item for item in found if item.metric == "latency" and "size" in item.coords]
    doubted = [item for item in curve if any(map(doubtful, item.flags))]
    assert doubted
    assert f"{len(doubted)} of {len(curve)} sizes on the curve were disturbed." in table.notes


def test_cycle_base_shows_cycles() -> None:
    records, shown = records_of(BENCHMARK, measured("base-pages")), showing(BENCHMARK, cycle_base=True)
    (table,) = shown.tables(records)
    assert [column.title for column in table.columns][4:7] == [
        "Latency [cycle]", "Latency [ns]", "95 % interval [cycle]",
    ]  # fmt: skip
    (figure,) = shown.figures(records)
    assert figure.y.unit == "cycles"


def test_the_figure_marks_bounds_and_reported_caches() -> None:
    (figure,) = BENCHMARK.figures(records_of(BENCHMARK, measured("default")))
    assert isinstance(figure, Line)
    assert (figure.x.scale, figure.y.scale, figure.y.unit) == ("log2", "log10", "s")
    assert [marker.kind for marker in figure.markers] == ["bound"] * 5 + ["hint"] * 3
    assert [marker.label for marker in figure.markers if "TLB" in marker.label] == [
        "TLB limit in L2 512K", "TLB limit in LLC 3.36M",
    ]  # fmt: skip
    assert figure.series[0].x == tuple(sorted(figure.series[0].x))
    assert {"L1 48K", "L2 2M", "L3 260M"} <= {marker.label for marker in figure.markers}


def test_swept_points_get_rows_and_lines_of_their_own() -> None:
    records: list[Record] = []
    for pages, case in (("auto", "default"), ("4k", "base-pages")):
        for record in records_of(BENCHMARK, measured(case)):
            records.append(record.model_copy(update={"point": {"pages": pages}, "point_id": pages}))
    (table,) = BENCHMARK.tables(records)
    assert table.columns[0].key == "pages"
    assert len(table.rows) == 8
    (figure,) = BENCHMARK.figures(records)
    assert [series.name for series in figure.series] == ["pages auto", "pages 4k", "pages auto, local chain"]


def test_flags_are_declared() -> None:
    for case in ("default", "base-pages", "inside-l1", "sizes"):
        for item in measured(case):
            assert set(item.flags) <= {*BENCHMARK.flags, *NOTES, "no-levels"}


def test_each_visit_after_the_first_measures_its_sizes_in_an_order_of_its_own() -> None:
    settings, facts, outputs = recorded("default")
    steps = BENCHMARK.steps(settings.model_copy(update={"visits": 6}), Context(facts, "/work", outputs))
    assert len({option(step, "order") for step in steps} - {"0", None}) == 5
    assert all(option(output.step, "order") is None for output in outputs), "the curve is refined from one end"
    of_sizes = BENCHMARK.steps(params(visits=6, sizes=["4K", "8K"]), Context(facts, "/work"))
    assert len({option(step, "order") for step in of_sizes} - {"0", None}) == 6


def test_a_second_run_measures_what_the_bounds_lack() -> None:
    settings, facts, outputs = recorded("default")
    edges, _ = BENCHMARK.steps(settings, Context(facts, "/work", outputs[:1]))
    sizes = [int(size) for size in (option(edges, "sizes") or "").split(",")]
    first = {item.coords["size"] for item in BENCHMARK.parse(settings, outputs[:1], facts) if "size" in item.coords}
    assert sizes
    assert not set(sizes) & first
    (again,) = BENCHMARK.steps(settings.model_copy(update={"visits": 2}), Context(facts, "/work", outputs))
    visited = {int(size) for size in (option(again, "sizes") or "").split(",")}
    assert visited <= first | set(sizes)
    assert not BENCHMARK.steps(settings.model_copy(update={"visits": 1}), Context(facts, "/work", outputs))
    failed = Output(outputs[0].step, 3, {"stdout": "", "stderr": ""})
    assert not BENCHMARK.steps(settings, Context(facts, "/work", [failed]))


def test_a_sample_without_batches_is_refused() -> None:
    settings, facts, outputs = recorded("sizes")
    text = outputs[0].stdout
    for broken in (text.replace('"batches"', '"bunches"'), text.replace('"ns":[', '"ms":['), ""):
        with pytest.raises(ValueError, match=r"sample|incomplete"):
            BENCHMARK.parse(settings, [Output(outputs[0].step, 0, {"stdout": broken, "stderr": ""})], facts)


@pytest.mark.kernels
def test_the_kernel_takes_the_arguments_and_finds_l1() -> None:
    found = measured_here(BENCHMARK, params(max_size="4M", time_cap="5ms", pages="4k"))
    sizes = [int(item.coords["size"]) for item in found if item.metric == "latency" and "size" in item.coords]
    assert (min(sizes), max(sizes)) == (128, 4 << 20)
    in_l1 = [item.value for item in found if item.metric == "latency_cycles" and item.coords.get("size") == 8192]
    assert 2.0 <= in_l1[0] <= 40.0, "far from memory, whoever shares the core"


@pytest.mark.kernels
def test_the_kernel_names_the_cpu_that_it_refuses() -> None:
    settings = params(cpu=65535, sizes=["4K", "8K"])
    (step,) = BENCHMARK.steps(settings, Context(bare_facts(), "/work"))
    output = run_step(step)
    assert output.status in (2, 3)
    assert "cpu" in output.stderr


def altered(
    case: str, change: Callable[[dict[str, Any]], None], caches: Sequence[Cache] | None = None
) -> Sequence[Measurement]:
    """Return the measurements of a recorded case in which every sample was changed."""
    settings, facts, outputs = recorded(case)
    facts = facts if caches is None else facts.model_copy(update={"caches": list(caches)})
    for output in outputs:
        lines = [json.loads(line) for line in output.stdout.splitlines()]
        for line in lines:
            if line["t"] == "sample":
                change(line)
        output.files["stdout"] = "\n".join(map(json.dumps, lines)) + "\n"
    return BENCHMARK.parse(settings, outputs, facts)


@pytest.mark.parametrize(("cache", "found"), [(480 << 20, True), (600 << 20, False)])
def test_a_curve_that_rises_to_its_end_still_has_a_size_for_memory(cache: int, found: bool) -> None:
    """A guest whose L3 cache had 480 MiB showed such a curve: its latency rose steadily from 64 MiB to 1 GiB."""

    def rising(sample: dict[str, Any]) -> None:
        if sample["size"] > 64 << 20:
            slower = 110_000 * (sample["size"] / (64 << 20)) ** 0.7 / sample["median_ps"]
            sample["ns"] = [round(one * slower) for one in sample["ns"]]
            timed = [key for key in sample if key.endswith("_ps") or key.startswith("mcycles")]
            sample.update({key: round(sample[key] * slower) for key in timed if sample[key] is not None})

    values = altered("default", rising, [Cache(level=3, type="Unified", size_bytes=cache)])
    assert "open-end" in next(item.flags for item in values if item.metric == "levels")
    assert ("DRAM" in at_level(values, "latency")) is found
    assert BENCHMARK.export(values).get("dram.optimum_size") == (1 << 30 if found else None)
    doubted = [item.coords["level"] for item in values if "noisy-rising" in item.flags and item.metric == "latency"]
    assert doubted == (["DRAM"] if found else [])


def results_in_doubt(found: Sequence[Measurement]) -> set[object]:
    return {item.coords.get("level") for item in found if any(map(doubtful, item.flags)) and not item.detail}


def test_sizes_with_few_batches_leave_the_levels_alone() -> None:
    def few(sample: dict[str, Any]) -> None:
        sample.update({"capped": True, "batches": 7})

    found = altered("default", few)
    curve = [item for item in found if item.metric in ("latency", "latency_cycles") and "size" in item.coords]
    assert all("noisy" in item.flags and item.detail for item in curve)
    assert results_in_doubt(found) == set()


def test_an_l1_latency_between_whole_cycles_is_doubtful() -> None:
    def slower(sample: dict[str, Any]) -> None:
        if sample["size"] <= 48 * 1024:
            sample["mcycles"] = round(sample["mcycles"] * 1.02)

    (item,) = [
        item
        for item in altered("default", slower)
        if item.metric == "latency_cycles" and item.coords.get("level") == "L1"
    ]
    assert item.value == pytest.approx(5.1, rel=0.01)
    assert item.flags == ("noisy-fraction",)


def test_an_l1_latency_unlike_that_of_the_other_sizes_is_doubtful() -> None:
    def slower(sample: dict[str, Any]) -> None:
        if sample["size"] in (8192, 16384):
            sample["mcycles"] = round(sample["mcycles"] * (1.2 if sample["size"] == 8192 else 1.012))

    doubted = {
        item.coords["size"]: set(item.flags) & {"noisy-fraction", "noisy-sizes"}
        for item in altered("default", slower)
        if item.metric in ("latency", "latency_cycles") and "size" in item.coords
    }
    assert {size: flags for size, flags in doubted.items() if flags} == {
        8192: {"noisy-sizes"},
        16384: {"noisy-fraction", "noisy-sizes"},
    }, "6 whole cycles are too many, 5.06 no whole number"


def test_sizes_that_are_set_are_checked_up_to_the_reported_end_of_l1() -> None:
    def slower(sample: dict[str, Any]) -> None:
        sample["mcycles"] = round(sample["mcycles"] * 0.985)

    found = altered("sizes", slower)
    assert {int(item.coords["size"]): item.flags for item in found if item.metric == "latency"} == {
        8192: ("noisy-fraction",),
        16384: ("noisy-fraction",),
        262144: (),
    }


def test_without_levels_every_size_counts() -> None:
    def few(sample: dict[str, Any]) -> None:
        sample.update({"capped": True, "batches": 7})

    found = altered("sizes", few)
    assert not any(item.detail for item in found)
    assert results_in_doubt(found) == {None}


def test_what_is_shared_with_others_is_in_doubt_while_they_run() -> None:
    settings, facts, outputs = recorded("default")
    for share, doubted in ((0.01, set()), (0.5, {"LLC", "DRAM"})):
        noise = {"cpus": 1, "elapsed_ns": 10**10, "own_ns": 10**10, "others_ns": int(share * 10**10)}
        for output in outputs:
            lines = [json.loads(line) for line in output.stdout.splitlines()]
            lines[-1]["noise"] = noise
            output.files["stdout"] = "\n".join(map(json.dumps, lines)) + "\n"
        found = BENCHMARK.parse(settings, outputs, facts)
        assert {level for level in results_in_doubt(found) if level} == doubted


@pytest.mark.parametrize("case", ["default", "base-pages", "sizes"])
def test_the_spread_in_cycles_is_that_in_time(case: str) -> None:
    """Adds that were interrupted once made a load seem to take 0.5 cycles."""
    found = {(item.metric, item.coords["size"]): item for item in measured(case) if "size" in item.coords}
    for (metric, size), item in found.items():
        if metric == "latency_cycles":
            cycles, seconds = item.stats, found["latency", size].stats
            assert cycles is not None and seconds is not None
            assert cycles.min / cycles.median == pytest.approx(seconds.min / seconds.median, rel=0.2)
            assert cycles.min <= cycles.median <= cycles.max
