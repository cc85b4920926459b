"""The tables and figures that the installed benchmarks create from their recorded outputs can be shown in reports."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from asct.analysis.combined import combined_figures
from asct.analysis.grid import from_table
from asct.analysis.headline import headlines
from asct.analysis.view import JobView
from asct.engine import values
from asct.registry import installed
from asct.sdk.benchmark import Benchmark
from asct.sdk.facts import HostFacts
from asct.sdk.record import Measurement, Record, Stats, ValueState
from asct.sdk.step import Output, Step, Tool
from asct.store.model import JobEntry
from tests.figures.rendered import render_figure, table_of

FOLDER = Path(__file__).parents[2] / "asct" / "benchmarks"
CASES = sorted(FOLDER.glob("*/testdata/*.json"))


def records_of(benchmark: Benchmark[Any], found: Sequence[Measurement], host: str) -> list[Record]:
    record_of = partial(
        Record, run="r", plan="p", host=host, benchmark=benchmark.name, id=benchmark.name, version=benchmark.version,
        point={}, point_id="0" * 12, repeat=1, raw=f"jobs/{host}/{benchmark.name}/000000000000/r1",
    )  # fmt: skip
    return values.records_of(found, benchmark, record_of)


def job_of(name: str, found: Sequence[Measurement]) -> JobView:
    """Return a job of a benchmark with these values."""
    benchmark = installed().get(name)
    assert benchmark is not None
    entry = JobEntry(id=name, benchmark=name, version="1", host="a", points=1, repeats=1)
    return JobView(entry, benchmark, tuple(records_of(benchmark, found, "a")), (), (), ())


def recorded(path: Path) -> tuple[Benchmark[Any], Sequence[Measurement]]:
    """Return the benchmark whose outputs were recorded in a file, and the values in these outputs."""
    benchmark = installed().get(path.parts[-3].replace("_", "-"))
    assert benchmark is not None
    case = json.loads(path.read_text())
    outputs = [Output(Step(item["step"], Tool("x")), item["status"], item["files"]) for item in case["outputs"]]
    params = benchmark.params_model.model_validate(case["settings"])
    return benchmark, benchmark.parse(params, outputs, HostFacts.model_validate(case["facts"]))


@pytest.mark.parametrize("path", CASES, ids=lambda path: f"{path.parts[-3]}/{path.stem}")
def test_recorded_outputs_can_be_shown(path: Path) -> None:
    from plotly.graph_objects import Figure

    benchmark, found = recorded(path)
    records = {host: records_of(benchmark, found, host) for host in ("a", "b")}
    job = replace(job_of(benchmark.name, found), tables=tuple(benchmark.tables(records["a"])))
    assert all(len(row) == len(grid.heads) for grid in map(from_table, job.tables) for row in grid.rows)
    assert all(flag in benchmark.flags for table in job.tables for flag in table.flags)
    assert all(item.value for item in headlines(job))
    assert bool(headlines(job)) or not benchmark.highlights
    figures = combined_figures({host: tuple(benchmark.figures(own)) for host, own in records.items()})
    for figure in figures:
        grid = table_of(figure)
        assert grid is not None and grid.rows
        rendered = render_figure(figure, ["a", "b"])
        json.dumps(rendered, allow_nan=False)
        Figure(rendered, skip_invalid=False)


def shown_headlines(name: str, case: str) -> dict[str, str]:
    _, found = recorded(FOLDER / name.replace("-", "_") / "testdata" / f"{case}.json")
    shown = headlines(job_of(name, found))
    return {item.label: "; ".join(filter(None, (item.place, item.precision))) for item in shown}


def test_a_headline_of_two_states_shows_both() -> None:
    states = (ValueState(value=55.2e-9, share=0.75), ValueState(value=225e-9, share=0.25))
    stats = Stats(n=9, median=56e-9, mad=1e-9, ci95=(54e-9, 226e-9), min=54e-9, max=226e-9, visits=8, states=states)
    found = Measurement("one_way", 56e-9, {"method": "token", "data": "local"}, stats, ("two-states",))
    [item] = headlines(job_of("core-to-core-latency", [found]))
    assert (item.value, item.unit) == ("55.2 or 225", "ns")
    job = job_of("core-to-core-latency", [found])
    again = [record.model_copy(update={"repeat": 2}) for record in job.records]
    [item] = headlines(replace(job, records=(*job.records, *again)))
    assert (item.value, item.unit, item.count) == ("55.2 or 225", "ns", "2 repeats")


@pytest.mark.parametrize(
    ("flags", "doubt"),
    [
        ((), ""),
        (("noisy-steal",), "noisy"),
        (("noisy-host",), "noisy host"),
        (("noisy", "noisy-host", "drift"), "noisy, noisy host, drift"),
        (("invalid-host", "noisy"), "invalid"),
        (("disagrees",), "disagrees"),
        (("two-states",), "two states"),
        (("smaller-pages",), ""),
    ],
)
def test_what_questions_a_value_reaches_the_key_results(flags: tuple[str, ...], doubt: str) -> None:
    found = Measurement("latency", 1e-7, {"run_node": 0, "memory_node": 0}, None, flags)
    [item] = headlines(job_of("idle-latency", [found]))
    assert item.doubt == doubt


@pytest.mark.parametrize(
    ("flag", "doubt"),
    [
        ("below-core-limit", "below the limit of the core"),
        ("noisy-above-core-limit", "noisy, above the limit of the core"),
        ("below-curve", "below the curve"),
    ],
)
def test_an_implausible_bandwidth_is_questioned_in_the_key_results(flag: str, doubt: str) -> None:
    found = Measurement("bandwidth", 1e11, {"level": "L1", "traffic": "all-reads"}, None, (flag,))
    job = job_of("bandwidth-sweep", [found])
    assert job.benchmark is not None and flag in job.benchmark.flags
    [item] = headlines(job)
    assert item.doubt == doubt


def test_headlines_are_those_that_a_benchmark_names() -> None:
    peaks = shown_headlines("peak-bandwidth", "default")
    assert list(peaks) == [
        "All Reads",
        "Highest bandwidth (useful bytes)",
        "Highest bus bandwidth (including assumed reads for ownership)",
    ]
    assert "traffic" not in peaks["All Reads"] and "at traffic " in peaks["Highest bandwidth (useful bytes)"]
    pairs = shown_headlines("core-to-core-latency", "synthetic-two-nodes")
    assert list(pairs) == [
        "Median one-way latency, token",
        "Median one-way latency, compare-and-swap",
        "Median latency per line, chain",
    ]
    assert not any("cpu" in detail or "node" in detail for detail in pairs.values())
