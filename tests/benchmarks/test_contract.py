"""Requirements that every installed benchmark must meet. A new benchmark is tested here without any change to this
file."""

from __future__ import annotations

import json
import math
import re
from collections import Counter
from collections.abc import Iterable, Sequence
from functools import partial
from pathlib import Path
from typing import Any, get_args

import pytest

from asct.engine import values
from asct.engine.failures import judged
from asct.instruments.memory.visits import VisitedBenchmark, base_name, visit_number
from asct.registry import installed
from asct.sdk.benchmark import Benchmark, Context
from asct.sdk.facts import Cpu, HostFacts, NumaNode
from asct.sdk.figure import Figure, Heatmap
from asct.sdk.metric import Better, Unit
from asct.sdk.needs import Needs
from asct.sdk.record import Measurement, Record, Scalar
from asct.sdk.step import Output, Step

ALL = installed().all()
BY_NAME = {benchmark.name: benchmark for benchmark in ALL}
FOLDER = Path(__file__).parents[2] / "asct" / "benchmarks"
MARKS = dict.fromkeys(("memory-profile", "peak-bandwidth"), ("best",))
"""Flags that mark a value and do not describe a problem."""


def bare_facts() -> HostFacts:
    return HostFacts(schema="asct.facts/1", host="h", collected_at="2026-11-21T00:00:00Z")


def node(number: int, cpus: list[int], free: int = 64 << 30, distances: Sequence[int] = ()) -> NumaNode:
    return NumaNode(id=number, cpus=cpus, memory_bytes=64 << 30, available_bytes=free, distances=list(distances))


def host(*nodes: NumaNode, allowed: Sequence[int] = range(64), **more: Any) -> HostFacts:
    """Return the facts of a host with these nodes. Of their CPUs, only those in `allowed` can be used."""
    cpus = sorted(cpu for one in nodes for cpu in one.cpus)
    known = Cpu(online=cpus, allowed=[cpu for cpu in cpus if cpu in allowed])
    return bare_facts().model_copy(update={"nodes": list(nodes), "cpu": known, **more})


def needed(benchmark: Benchmark[Any]) -> dict[str, Scalar]:
    """Return example results of the jobs that a benchmark depends on, keyed by `alias.path`."""
    return {
        f"{dependency.alias}.{field.path}": field.example
        for dependency in benchmark.dependencies
        for field in BY_NAME[dependency.benchmark].results
    }


def folder_of(benchmark: Benchmark[Any]) -> Path:
    return FOLDER / benchmark.name.replace("-", "_")


def cases() -> list[Any]:
    found = []
    for benchmark in ALL:
        for path in sorted((folder_of(benchmark) / "testdata").glob("*.json")):
            found.append(pytest.param(benchmark, path, id=f"{benchmark.name}/{path.stem}"))
    return found


def each() -> Any:
    return pytest.mark.parametrize("benchmark", ALL, ids=[benchmark.name for benchmark in ALL])


def replayed(benchmark: Benchmark[Any], document: dict[str, Any]) -> tuple[Any, HostFacts, list[Output]]:
    """Return the settings, facts and outputs of a recorded repeat. The benchmark supplies the steps, as it did when the
    repeat was recorded."""
    params = benchmark.params_model(**document["settings"])
    facts = HostFacts.model_validate(document["facts"])
    done: list[Output] = []
    needs = document.get("needs", {})
    steps: dict[str, Step] = {}
    for recorded in document["outputs"]:
        if not steps:
            steps = {step.name: step for step in benchmark.steps(params, Context(facts, "/work", tuple(done), needs))}
        step = steps.pop(recorded["step"])
        done.append(Output(step, recorded["status"], recorded["files"], recorded.get("elapsed_ns", 0)))
    return params, facts, done


def in_order(benchmark: VisitedBenchmark[Any], params: Any, context: Context) -> list[Step]:
    """Return the steps of all visits, each visit in the order of the benchmark's processes instead of a random
    order."""
    order = [step.name for step in benchmark.processes(params, context)]

    def place(step: Step) -> tuple[int, int]:
        return visit_number(step.name), order.index(base_name(step.name))

    return sorted(benchmark.steps(params, context), key=place)


def option(step: Step, name: str) -> str | None:
    """Return the value of an option on the step's command line, or None if it is not given."""
    arguments = step.arguments
    return arguments[arguments.index(f"--{name}") + 1] if f"--{name}" in arguments else None


def at(found: Iterable[Measurement], metric: str, **coords: Scalar) -> Measurement:
    """Return the only measurement of a metric with these coordinates."""
    [item] = [one for one in found if one.metric == metric and one.coords == coords]
    return item


POINT = "0123456789ab"


def showing(benchmark: Benchmark[Any], **settings: Any) -> Benchmark[Any]:
    """Return the benchmark, prepared to show the records from `records_of` with these settings."""
    return benchmark.with_settings({POINT: settings})


def records_of(benchmark: Benchmark[Any], measurements: Any, repeat: int = 1) -> list[Record]:
    record_of = partial(
        Record, schema="asct.record/1", run="20261121T000000Z-000000", plan="p", host="h", benchmark=benchmark.name,
        id=benchmark.name, version=benchmark.version, point={}, point_id=POINT, repeat=repeat,
        raw=f"jobs/h/x/{POINT}/r1",
    )  # fmt: skip
    return values.records_of(measurements, benchmark, record_of)


def test_some_benchmarks_are_installed() -> None:
    assert {"latency-sweep", "noop"} <= set(BY_NAME)


def test_names_and_aliases_are_unique() -> None:
    spellings = Counter(name for benchmark in ALL for name in (benchmark.name, *benchmark.aliases))
    assert [name for name, count in spellings.items() if count > 1] == []
    assert not set(spellings) & {"all", "default"}


@each()
def test_describes_itself(benchmark: Benchmark[Any]) -> None:
    assert benchmark.title
    assert benchmark.version
    assert 20 <= len(benchmark.summary) <= 110
    assert "\n" not in benchmark.summary
    assert all(word == word.strip() and word for word in benchmark.keywords)
    readme = (folder_of(benchmark) / "README.md").read_text(encoding="utf-8")
    assert readme.startswith("# ")
    assert all(part in readme for part in ("## How", "## Pitfalls", "## Source"))


@each()
def test_metrics_are_declared_once_with_unit_direction_and_help(benchmark: Benchmark[Any]) -> None:
    names = [metric.name for metric in benchmark.metrics]
    assert len(names) == len(set(names)) > 0
    for metric in benchmark.metrics:
        assert metric.unit in get_args(Unit)
        assert metric.better in get_args(Better)
        assert metric.help


@each()
def test_highlights_and_flags_are_of_the_benchmark(benchmark: Benchmark[Any]) -> None:
    metrics = {metric.name: metric for metric in benchmark.metrics}
    for one in benchmark.highlights:
        assert one.label
        for key, value in one.at.items():
            declared = metrics[one.metric].coords[key]
            assert value is None or declared is None or value in declared
    assert all(text and not text.endswith(".") for text in benchmark.flags.values())


@pytest.mark.parametrize("name", [name for name in BY_NAME if not name.startswith("storage-")])
def test_the_readme_explains_every_flag(name: str) -> None:
    """The READMEs of storage benchmarks refer to that of storage-io-depth-sweep (tests/fio/test_report.py)."""
    readme = (folder_of(BY_NAME[name]) / "README.md").read_text(encoding="utf-8")
    assert [flag for flag in (*BY_NAME[name].flags, *MARKS.get(name, ())) if f"`{flag}`" not in readme] == []


@each()
def test_every_setting_has_help_and_a_spelling_of_its_own(benchmark: Benchmark[Any]) -> None:
    fields = benchmark.params_model.model_fields
    for name, info in fields.items():
        assert info.description and "{" not in info.description, name
        assert not info.description.endswith("."), name
    spellings: Counter[str] = Counter()
    for name, info in fields.items():
        extra = info.json_schema_extra
        spellings.update([name, *(extra.get("aliases", []) if isinstance(extra, dict) else [])])
    assert [name for name, count in spellings.items() if count > 1] == []
    for listing, axis in benchmark.params_model.step_settings.items():
        assert {listing, axis} <= set(fields)
    json.dumps(benchmark.params_model.model_json_schema(), allow_nan=False)


@each()
def test_dependencies_and_results_exist(benchmark: Benchmark[Any]) -> None:
    for dependency in benchmark.dependencies:
        assert dependency.benchmark in BY_NAME
        assert BY_NAME[dependency.benchmark].results
        assert set(dependency.satisfied_by) <= set(benchmark.params_model.model_fields)
    paths = [field.path for field in benchmark.results]
    assert len(paths) == len(set(paths))
    for field in benchmark.results:
        assert field.help
        assert isinstance(field.example, int | float | str)


@each()
@pytest.mark.parametrize("facts", [None, bare_facts()], ids=["none", "bare"])
def test_needs_without_knowing_the_host(benchmark: Benchmark[Any], facts: HostFacts | None) -> None:
    needs = benchmark.needs(benchmark.params_model(), facts)
    assert isinstance(needs, Needs)
    assert needs.kernels or needs.tools
    assert needs.seconds > 0
    assert math.isfinite(needs.seconds)
    assert needs.memory_bytes >= 0


@each()
def test_default_settings_do_not_contradict(benchmark: Benchmark[Any]) -> None:
    assert list(benchmark.check(benchmark.params_model())) == []


@each()
def test_steps_are_deterministic_and_plain(benchmark: Benchmark[Any]) -> None:
    params = benchmark.params_model()
    context = Context(bare_facts(), "/work", needs=needed(benchmark))
    first = list(benchmark.steps(params, context))
    assert first
    assert first == list(benchmark.steps(params, context))
    for step in [*first, *benchmark.prepare([params], context)]:
        assert isinstance(step, Step)
        assert all(isinstance(argument, str) and "\0" not in argument for argument in step.arguments)
        assert all("/" not in name and name not in ("stdout", "stderr") for name in step.files)
    names = [step.name for step in first]
    assert len(names) == len(set(names))


@each()
def test_there_is_testdata(benchmark: Benchmark[Any]) -> None:
    assert list((folder_of(benchmark) / "testdata").glob("*.json"))


@pytest.mark.parametrize(("benchmark", "path"), cases())
def test_recorded_outputs_give_the_recorded_measurements(benchmark: Benchmark[Any], path: Path) -> None:
    document = json.loads(path.read_text(encoding="utf-8"))
    params, facts, outputs = replayed(benchmark, document)
    context = Context(facts, "/work", tuple(outputs), document.get("needs", {}))
    assert not list(benchmark.steps(params, context)), "the repeat was not over"
    measured = list(benchmark.parse(params, outputs, facts))
    assert len(measured) == len(document["measurements"])
    for got, expected in zip(measured, document["measurements"], strict=True):
        assert got.metric == expected["metric"]
        assert got.coords == expected["coords"]
        assert got.value == pytest.approx(expected["value"], rel=1e-9)
        assert list(got.flags) == expected["flags"]
        stats = got.stats.model_dump(mode="json") if got.stats else None
        if stats is None or expected["stats"] is None:
            assert stats == expected["stats"]
        else:
            flat, wanted = _flat(stats), _flat(expected["stats"])
            assert flat == pytest.approx(wanted, rel=1e-9, abs=1e-18)


@pytest.mark.parametrize(("benchmark", "path"), cases())
def test_measurements_are_declared_and_finite(benchmark: Benchmark[Any], path: Path) -> None:
    metrics = {metric.name: metric for metric in benchmark.metrics}
    measured = benchmark.parse(*_parse_arguments(benchmark, path))
    assert measured
    for item in measured:
        metric = metrics[item.metric]
        assert math.isfinite(item.value)
        assert set(item.coords) <= set(metric.coords), item
        for key, value in item.coords.items():
            allowed = metric.coords[key]
            assert allowed is None or value in allowed, item
        assert all(flag and " " not in flag for flag in item.flags), item
        if item.stats is not None:
            assert item.stats.min <= item.stats.median <= item.stats.max, item
            assert item.stats.n >= 6 or item.stats.ci95 is None, item
    places = Counter((item.metric, tuple(sorted(item.coords.items()))) for item in measured)
    assert [place for place, count in places.items() if count > 1] == []


@pytest.mark.parametrize(("benchmark", "path"), cases())
def test_exported_results_are_declared_and_typed(benchmark: Benchmark[Any], path: Path) -> None:
    examples = {field.path: field.example for field in benchmark.results}
    exported = benchmark.export(benchmark.parse(*_parse_arguments(benchmark, path)))
    for key, value in exported.items():
        assert type(value) is type(examples[key]), key


@pytest.mark.parametrize(("benchmark", "path"), cases())
@pytest.mark.parametrize("repeats", [1, 3])
def test_tables_and_figures_are_whole(benchmark: Benchmark[Any], path: Path, repeats: int) -> None:
    measured = benchmark.parse(*_parse_arguments(benchmark, path))
    records = [record for repeat in range(1, repeats + 1) for record in records_of(benchmark, measured, repeat)]
    for table in benchmark.tables(records):
        keys = {column.key for column in table.columns}
        assert len(keys) == len(table.columns)
        assert all(keys <= set(row) for row in table.rows), table.slug
        assert all(column.title for column in table.columns)
    slugs = [figure.slug for figure in benchmark.figures(records)]
    assert len(slugs) == len(set(slugs))
    for figure in benchmark.figures(records):
        _check_figure(figure)


@each()
def test_a_picture_has_a_name_of_its_own_that_stays_in_the_run(benchmark: Benchmark[Any]) -> None:
    names = list(benchmark.pictures.values())
    assert len(names) == len(set(names))
    assert all(re.fullmatch(r"(\{id\}/)?[a-z0-9_-]+", name) for name in names)


@each()
def test_no_records_give_no_rows_and_no_failure(benchmark: Benchmark[Any]) -> None:
    assert all(not table.rows for table in benchmark.tables([]))
    assert list(benchmark.figures([])) == []
    assert benchmark.export([]) == {}


@pytest.mark.parametrize(("benchmark", "path"), cases())
@pytest.mark.parametrize("ruin", ["empty", "cut", "garbage", "killed"])
def test_a_ruined_output_is_refused_with_a_message(benchmark: Benchmark[Any], path: Path, ruin: str) -> None:
    params, facts, outputs = replayed(benchmark, json.loads(path.read_text(encoding="utf-8")))
    last = outputs[-1]
    texts = {
        "empty": dict.fromkeys(last.files, ""),
        "cut": {name: text[: len(text) // 2] for name, text in last.files.items()},
        "garbage": dict.fromkeys(last.files, "\x00{]\n\ufffd\n"),
        "killed": dict.fromkeys(last.files, ""),
    }[ruin]
    broken = Output(last.step, -9 if ruin == "killed" else 0, texts, last.elapsed_ns)
    with pytest.raises(ValueError, match=r"\w+ \w+"):
        benchmark.parse(params, [*outputs[:-1], broken], facts)


def _parse_arguments(benchmark: Benchmark[Any], path: Path) -> tuple[Any, list[Output], HostFacts]:
    params, facts, outputs = replayed(benchmark, json.loads(path.read_text(encoding="utf-8")))
    return params, outputs, facts


def _flat(stats: dict[str, Any]) -> list[float]:
    low, high = stats["ci95"] or (0.0, 0.0)
    return [stats["n"], stats["median"], stats["mad"], stats["min"], stats["max"], low, high]


def _check_figure(figure: Figure) -> None:
    assert figure.title
    assert figure.caption
    if isinstance(figure, Heatmap):
        assert len(figure.values) == len(figure.rows) > 0
        assert all(len(row) == len(figure.columns) > 0 for row in figure.values)
        assert all(value is None or math.isfinite(value) for row in figure.values for value in row)
        return
    assert figure.series
    for series in figure.series:
        assert len(series.x) == len(series.y)
        assert series.low == () or len(series.low) == len(series.x)
        assert series.high == () or len(series.high) == len(series.x)
        assert all(value is None or math.isfinite(value) for value in series.y)


def qualifications() -> list[Any]:
    """Return the recorded repeats of every benchmark that searches for a steady state."""
    return [case for case in cases() if {"excursion", "slope"} <= set(case.values[0].params_model.model_fields)]


@pytest.mark.parametrize(("benchmark", "path"), qualifications())
def test_a_qualification_that_did_not_become_steady_is_not_measured(benchmark: Benchmark[Any], path: Path) -> None:
    params, outputs, facts = _parse_arguments(benchmark, path)
    if getattr(params, "test", "") == "stimulus":
        pytest.skip("the stimulus test begins without a steady state")
    if path.stem == "steady":
        pytest.skip("ended by its steady state: without one, the test would not be over")
    unreachable = params.model_copy(update={"excursion": 1e-9, "slope": 1e-9})
    status, problem = judged(benchmark.parse(unreachable, outputs, facts), strict=False)
    assert (status, problem and problem.code) == ("invalid", "E627")
    assert "invalid-not-steady" in problem.message
