"""Every benchmark measures the latency of DRAM with the same working set and the same kind of pages, and states
both."""

from __future__ import annotations

import json
from typing import Any

import pytest

from asct.benchmarks.idle_latency import BENCHMARK as IDLE
from asct.benchmarks.latency_sweep import BENCHMARK as SWEEP
from asct.benchmarks.loaded_latency import BENCHMARK as LOADED
from asct.sdk.benchmark import Context
from tests.benchmarks.test_contract import FOLDER, option, records_of, replayed


def test_every_benchmark_measures_the_size_of_latency_sweep_with_the_same_pages() -> None:
    document = json.loads((FOLDER / "latency_sweep" / "testdata" / "default.json").read_text(encoding="utf-8"))
    params, facts, done = replayed(SWEEP, document)
    exported = SWEEP.export(SWEEP.parse(params, done, facts))
    size = str(exported["dram.optimum_size"])
    needs = {f"cache.{path}": value for path, value in exported.items()}
    two = params.model_copy(update={"visits": 2})
    (again,) = SWEEP.steps(two, Context(facts, "/work", tuple(done)))
    assert str(option(again, "sizes")).split(",")[-1] == size
    (idle,) = IDLE.steps(IDLE.params_model(visits=1), Context(facts, "/work", needs=needs))
    (loaded,) = LOADED.steps(LOADED.params_model(visits=1), Context(facts, "/work", needs=needs))
    assert (option(idle, "sizes"), option(loaded, "size")) == (size, size)
    assert {option(step, "pages") for step in (again, idle, loaded)} == {"auto"}


@pytest.mark.parametrize(("benchmark", "latency"), [(SWEEP, "Latency of DRAM"), (IDLE, "Latency"), (LOADED, "Latency")])
def test_tables_name_the_working_set_and_the_pages(benchmark: Any, latency: str) -> None:
    folder = FOLDER / benchmark.name.replace("-", "_") / "testdata"
    document = json.loads((folder / "default.json").read_text(encoding="utf-8"))
    params, facts, done = replayed(benchmark, document)
    notes = benchmark.tables(records_of(benchmark, benchmark.parse(params, done, facts)))[0].notes
    (note,) = [note for note in notes if note.startswith(f"{latency}: measured with random loads over ")]
    assert note.endswith((", in 2M pages.", ", in 1G pages."))
