"""loaded-latency: flags for latencies that fall as the load grows, and the visits of a command."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import pytest

from asct.benchmarks.loaded_latency import BENCHMARK
from asct.sdk.benchmark import Context
from asct.sdk.record import Measurement
from asct.sdk.step import Output, Step
from tests.benchmarks.load_streams import output, sample
from tests.benchmarks.test_contract import bare_facts, needed

SCATTER = (0.99, 1.01, 1.0, 0.995, 1.005, 1.0)
"""Latencies of six visits, as fractions of the median: the interval is about 1.5 % wide."""


def steps(done: Sequence[Output] = (), **settings: Any) -> Sequence[Step]:
    context = Context(bare_facts(), "/work", tuple(done), needed(BENCHMARK))
    return BENCHMARK.steps(BENCHMARK.params_model(**settings), context)


def latencies(ns: Mapping[int | None, float], visits: int = 6, **changes: Any) -> dict[object, tuple[str, ...]]:
    """Return the flags of each level's latencies, which have the given medians. None stands for the latency without
    load. `changes` replaces members of the last level's samples."""
    delays = [delay for delay in ns if delay is not None]
    settings: dict[str, Any] = {"visits": visits, "injected_nops": delays}
    done = []
    for step, factor in zip(steps(**settings), SCATTER, strict=False):
        samples = [
            sample("idle" if delay is None else "level", delay, median_ps=round(value * 1000 * factor))
            for delay, value in ns.items()
        ]
        samples[-1] |= changes
        done.append(output(step, samples))
    found = BENCHMARK.parse(BENCHMARK.params_model(**settings), done, bare_facts())
    for seconds in (item for item in found if item.metric in ("latency", "idle_latency")):
        (cycles,) = [
            item for item in found if item.metric == f"{seconds.metric}_cycles" and item.coords == seconds.coords
        ]
        assert ("disagrees" in cycles.flags) == ("disagrees" in seconds.flags)
    values = [item for item in found if item.metric in ("latency", "idle_latency")]
    return {next(iter(item.coords.values()), None): item.flags for item in values}


def disagreeing(ns: Mapping[int | None, float], visits: int = 6, **changes: Any) -> set[object]:
    return {delay for delay, flags in latencies(ns, visits, **changes).items() if "disagrees" in flags}


def test_a_latency_that_rises_or_stays_within_the_intervals_is_fine() -> None:
    assert disagreeing({None: 100, 900: 101, 100: 120, 10: 150, 0: 149.5}) == set()


def test_a_latency_below_that_of_less_load_is_flagged_with_the_highest_of_those() -> None:
    assert disagreeing({None: 100, 900: 101, 100: 160, 50: 130, 10: 165, 0: 170}) == {100, 50}
    assert disagreeing({None: 110, 900: 101, 100: 120}) == {None, 900}
    assert disagreeing({None: 100, 900: 130, 500: 140, 100: 120, 0: 125}) == {500, 100, 0}


def test_a_target_is_compared_with_the_levels_by_its_nops() -> None:
    target: dict[str, Any] = {"phase": "target", "target_bps": 20_000_000_000, "reached": True}
    assert disagreeing({None: 100, 900: 101, 10: 150, 100: 120}, **target) == set()
    assert disagreeing({None: 100, 900: 130, 10: 150, 100: 110}, **target) == {900, 20e9}
    assert disagreeing({None: 100, 900: 101, 10: 150, 100: 170}, **target) == {10, 20e9}


def test_a_level_without_load_contradicts_no_other() -> None:
    assert disagreeing({None: 100, 100: 160, 0: 130}) == {100, 0}
    assert disagreeing({None: 100, 100: 160, 0: 130}, disturbed=True) == set()


def test_without_intervals_nothing_is_compared() -> None:
    assert disagreeing({None: 100, 900: 160, 100: 130}, visits=5) == set()


def ran(step: Step, seconds: float) -> Output:
    nothing: dict[str, Any] = dict.fromkeys(("median_ps", "ci_low_ps", "ci_high_ps", "min_ps", "max_ps", "cycle_fs"))
    timed = {"latency_ps": [], "workload_ns": 500_000_000}
    samples = [sample("idle", None, **nothing, **timed), sample("level", 0, **nothing, **timed)]
    return replace(output(step, samples, {"chain_arena": None}), elapsed_ns=round(seconds * 1e9))


def of_command(found: Sequence[Measurement]) -> list[Measurement]:
    return [item for item in found if "workload_time" in item.metric]


@pytest.mark.parametrize(("seconds", "visits"), [(2.0, 6), (11.0, 1)])
def test_a_command_is_visited_again_unless_it_is_slow(seconds: float, visits: int) -> None:
    settings: dict[str, Any] = {"workload_cmd": "true", "injected_nops": [0]}
    done: list[Output] = []
    while more := steps(done, **settings):
        assert done or len(more) == 1, "the first visit tells how long the command takes"
        done += [ran(step, seconds) for step in more]
    assert len(done) == visits
    found = of_command(BENCHMARK.parse(BENCHMARK.params_model(**settings), done, bare_facts()))
    assert len(found) == 2
    assert all(("one-visit" in item.flags) == (visits == 1) for item in found)


def test_a_set_number_of_visits_of_a_command_is_kept() -> None:
    settings: dict[str, Any] = {"workload_cmd": "true", "injected_nops": [0], "visits": 2}
    done = [ran(step, 100.0) for step in steps(**settings)]
    assert len(done) == 2
    assert not steps(done, **settings)
    found = of_command(BENCHMARK.parse(BENCHMARK.params_model(**settings), done, bare_facts()))
    assert not any("one-visit" in item.flags for item in found)
