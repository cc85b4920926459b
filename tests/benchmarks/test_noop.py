"""noop measures the harness itself, whose share of the time must be small, and whose points must be alike."""

from __future__ import annotations

import pytest
from pydantic import ValidationError

from asct.benchmarks.noop import BENCHMARK
from asct.sdk.benchmark import Context
from tests.benchmarks.kernels import run_all
from tests.benchmarks.test_contract import bare_facts, records_of


def test_points_differ_in_nothing_but_their_settings() -> None:
    context = Context(bare_facts(), "/work")
    steps = [BENCHMARK.steps(BENCHMARK.params_model(index=index), context) for index in range(1000)]
    assert all(one == steps[0] for one in steps)
    assert BENCHMARK.hidden
    assert not BENCHMARK.default


@pytest.mark.parametrize("index", [-1, 1_000_001, "x", 1.5])
def test_index_is_a_whole_number(index: object) -> None:
    with pytest.raises(ValidationError):
        BENCHMARK.params_model(index=index)


@pytest.mark.kernels
def test_the_real_kernel() -> None:
    params = BENCHMARK.params_model()
    measured = BENCHMARK.parse(params, run_all(BENCHMARK, params, bare_facts()), bare_facts())
    assert [item.metric for item in measured] == ["elapsed"]
    assert 0 < measured[0].value < 60
    (table,) = BENCHMARK.tables(records_of(BENCHMARK, measured))
    assert table.rows[0]["points"] == 1
