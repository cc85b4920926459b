"""The course of a test on simulated drives: when it ends, with which result, and how it continues after an
interruption."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from asct.instruments.qualification.results import cell_values, steady_flags
from asct.instruments.qualification.rounds import Passes, RoundHistory, phase_steps
from asct.instruments.qualification.settings import (
    SEQUENTIAL_BLOCK,
    Phase,
    QualificationParams,
    TrackedMetric,
    Workload,
)
from asct.sdk.benchmark import Context
from asct.sdk.step import Step
from tests.qualification.simulated import MIB, Run, Simulated

WRITE, MIXED, READ = Workload(4096, 0), Workload(65536, 65), Workload(4096, 100)
PHASE = Phase("", (READ, MIXED, WRITE), (TrackedMetric(WRITE, "iops"),), SEQUENTIAL_BLOCK, 1.0)
WRITES = Phase("", (WRITE,), PHASE.tracked, SEQUENTIAL_BLOCK, 1.0)
"""Each round writes 4 MB at 1,000 requests per second."""
COMMON: dict[str, Any] = {"file_names": "/f", "round_time": 1.0, "numjobs": 1, "iodepth": 1}


def steps(journal: Simulated, context: Context) -> Sequence[Step]:
    return phase_steps(journal, PHASE, context)


def fast(journal: Simulated, context: Context) -> Sequence[Step]:
    return Passes(journal, PHASE).steps(context)


def only_writes(journal: Simulated, context: Context) -> Sequence[Step]:
    return phase_steps(journal, WRITES, context)


def history(run: Run, phase: Phase = PHASE) -> RoundHistory:
    return RoundHistory(run.journal, phase)


def test_a_steady_drive_is_done_with_the_window() -> None:
    run = Run(QualificationParams(**COMMON), lambda written: 1000.0)
    assert run.go(steps)
    cells = [cell.name for cell in PHASE.cells]
    rounds = [f"round{number:02}-{cell}" for number in range(1, 6) for cell in cells]
    assert run.names == ["inspect", "precondition-1", "precondition-2", *rounds]
    assert history(run).verdict().steady
    labels = [output.step.label for output in run.outputs[3:5]]
    assert labels == ["round 1, workload 1 of 3", "round 1, workload 2 of 3"]


def test_the_statistics_of_a_window_of_two_rounds_describe_both() -> None:
    run = Run(QualificationParams(**COMMON, window=2, excursion=50, slope=50), lambda written: 1000.0 + written / 40960)
    assert run.go(only_writes)
    rounds = [history(run, WRITES).point(index, WRITE) for index in (0, 1)]
    rates = [point.sides[""].iops for point in rounds]
    assert rates[0] < rates[1]
    found = {value.metric: value for value in cell_values(WRITE, rounds, ())}
    stats = found["iops"].stats
    assert stats is not None
    assert (stats.n, stats.min, stats.max, stats.ci95) == (2, *rates, None)


@pytest.mark.parametrize(("growth", "reason"), [(0.02, "excursion"), (0.00999, "slope")])
def test_a_drive_that_never_settles_ends_with_the_last_round(growth: float, reason: str) -> None:
    run = Run(QualificationParams(**COMMON, rounds_max=9), lambda written: 1000.0 + growth * written / 1000)
    assert run.go(only_writes)
    assert history(run, WRITES).rounds == 9
    assert history(run, WRITES).verdict().reason == reason


@pytest.mark.parametrize(
    ("cache", "steady_volume", "flags"),
    [
        (312, 3.3, ()),
        (312, 2.0, ("burst-possible",)),
        (10_000, 3.3, ("burst-possible",)),
        (0, 2.3, ("burst-possible",)),
    ],
)
def test_a_steady_state_without_a_fall_is_flagged(cache: int, steady_volume: float, flags: tuple[str, ...]) -> None:
    run = Run(
        QualificationParams(**COMMON, steady_volume=steady_volume),
        lambda written: 8000.0 if written < cache * MIB else 1000.0,
    )
    assert run.go(only_writes)
    assert history(run, WRITES).verdict().steady
    assert steady_flags(run.journal, WRITES) == flags


@pytest.mark.parametrize(
    ("cache", "after", "flags"),
    [
        (0.5, 0.4, ()),  # a cache of half the range
        (1.0, 0.4, ()),  # the second pass is slow, because the drive is full
        (0.5, 0.6, ("burst-possible",)),
        (9.0, 0.4, ("burst-possible",)),  # two passes did not fill it
    ],
)
def test_a_fall_while_the_drive_was_preconditioned_is_seen(cache: float, after: float, flags: tuple[str, ...]) -> None:
    """The range of 256 MiB is written twice before the rounds."""
    run = Run(
        QualificationParams(**COMMON),
        lambda written: 1000.0,
        lambda written: (1.0 if written < cache * 256 * MIB else after) * 100.0 * MIB,
    )
    assert run.go(only_writes)
    assert history(run, WRITES).verdict().steady
    assert steady_flags(run.journal, WRITES) == flags


@pytest.mark.parametrize(("steady_volume", "level"), [(0, 8000.0), (2.0, 8000.0), (3.3, 1000.0), (100, 1000.0)])
def test_a_burst_is_not_taken_for_the_steady_state(steady_volume: float, level: float) -> None:
    """The cache is full after ten rounds. The plain rule accepts the plateau after five. The volume since the purge (of
    which preconditioning contributes 2) or the cliff shows that the plateau is not the steady state."""
    run = Run(
        QualificationParams(**COMMON, steady_volume=steady_volume),
        lambda written: 8000.0 if written < 312 * MIB else 1000.0,
    )
    assert run.go(only_writes)
    verdict = history(run, WRITES).verdict()
    assert verdict.steady
    assert verdict.windows[0][1].mean == level


def test_without_volume_and_cliff_there_is_no_verdict() -> None:
    run = Run(QualificationParams(**COMMON, steady_volume=100, rounds_max=7), lambda written: 10.0)
    assert run.go(steps)
    assert history(run).verdict().reason == "volume"


def test_latency_that_rises_is_a_cliff_as_well() -> None:
    phase = Phase("", (WRITE,), (TrackedMetric(WRITE, "latency"),), SEQUENTIAL_BLOCK, 1.0)
    run = Run(QualificationParams(**COMMON, steady_volume=100), lambda written: 8000.0 if written < 2**28 else 1000.0)
    assert run.go(lambda journal, context: phase_steps(journal, phase, context))
    verdict = history(run, phase).verdict()
    assert verdict.steady
    assert verdict.windows[0][1].mean == pytest.approx(1e-3)


@settings(max_examples=40, deadline=None)
@given(st.integers(1, 17))
def test_a_test_that_is_cut_off_goes_on_and_its_window_lies_behind_the_pause(cut: int) -> None:
    whole = Run(QualificationParams(**COMMON), lambda written: 1000.0)
    assert whole.go(steps)
    run = Run(QualificationParams(**COMMON), lambda written: 1000.0)
    assert not run.go(steps, cut)
    assert run.names == whole.names[:cut]
    run.pause()
    assert run.go(steps)
    assert max(Counter(run.names).values()) == 1
    found = history(run)
    window = found.verdict().windows[0][1]
    first_whole = 0 if cut <= 3 else -(-(cut - 3) // 3)
    assert found.verdict().steady
    assert window.first == first_whole
    assert found.rounds == first_whole + 5


def test_rounds_before_a_pause_do_not_use_up_the_most() -> None:
    run = Run(QualificationParams(**COMMON, rounds_max=6), lambda written: 1000.0 + written / 2**18)
    run.go(steps, 3 + 3 * 4)
    run.pause()
    assert run.go(steps)
    assert history(run).rounds == 4 + 6


def test_every_process_has_random_offsets_of_its_own() -> None:
    run = Run(QualificationParams(**COMMON), lambda written: 1000.0)
    run.go(steps)
    jobs = [output.step.files["job.fio"] for output in run.outputs[3:]]
    seeds = [line for job in jobs for line in job.splitlines() if line.startswith("randseed=")]
    assert len(set(seeds)) == len(seeds) == 15


def test_fast_measures_each_cell_once_behind_the_tracked_ones() -> None:
    run = Run(QualificationParams(**COMMON, profile="fast"), lambda written: 1000.0)
    assert run.go(fast)
    kinds = Counter(name.split("-")[0] for name in run.names)
    assert kinds["pass1"] == 3
    assert kinds["sentinel1"] == 1
    assert sum(count for name, count in kinds.items() if name.startswith("round")) == 5
    stopped = [output.step.name for output in run.outputs if "--stop-ppm" in output.step.arguments]
    assert stopped == [f"pass1-{cell.name}" for cell in PHASE.cells]


def test_fast_measures_again_when_the_tracked_cells_moved() -> None:
    """The workloads of the pass slow the drive down, and it then stays slow."""

    def rate(written: int) -> float:
        return 1000.0 if written < 22 * MIB else 800.0

    run = Run(QualificationParams(**COMMON, profile="fast", steady_volume=0), rate)
    assert run.go(fast)
    passes = Passes(run.journal, PHASE)
    assert passes.count == 2
    assert passes.drift(1, PHASE.tracked[0]) == pytest.approx(-0.2)
    assert not passes.moved(2)


def test_fast_gives_up_in_the_end() -> None:
    run = Run(QualificationParams(**COMMON, profile="fast", steady_volume=0), lambda written: 1000.0 + written / 2**19)
    assert run.go(fast)
    passes = Passes(run.journal, PHASE)
    assert passes.count == 3
    assert passes.moved(3)
