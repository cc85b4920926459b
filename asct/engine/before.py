"""What of a job need not be measured: an earlier part of the run has it, or `--reuse` takes it from an earlier run."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from asct.engine.point import BoundPoint
from asct.engine.records import ExportLedger
from asct.engine.reuse import Reuse
from asct.engine.shared import MeasuredRepeat, Shared
from asct.planner.model import Job
from asct.sdk.benchmark import Benchmark
from asct.sdk.facts import HostFacts


@dataclass(frozen=True, slots=True)
class Before:
    """The repeats of a job that are there, by (point id, repeat); `whole` are the points that have all of theirs."""

    repeats: Mapping[tuple[str, int], MeasuredRepeat]
    whole: frozenset[str]

    def has(self, point_id: str, repeat: int) -> bool:
        """Whether a repeat is not to be measured; a warm-up (0 and below) is not when its point is whole."""
        return (point_id, repeat) in self.repeats or (repeat < 1 and point_id in self.whole)


def done_before(
    shared: Shared,
    job: Job,
    benchmark: Benchmark[Any],
    points: Sequence[BoundPoint],
    facts: HostFacts,
    ledger: ExportLedger,
) -> Before:
    """What is there; results that were taken from other runs go into the `ledger`. Raises StoreError."""
    done: dict[tuple[str, int], MeasuredRepeat] = {}
    for point in points:
        for repeat in range(1, job.repeats + 1):
            found = shared.earlier.done.get((job.host, job.id, point.id, repeat))
            if found is not None:
                done[(point.id, repeat)] = found
    if shared.reuse is not None:
        begun = {point_id for point_id, _ in done}
        fresh = [point for point in points if point.id not in begun]
        for taken in Reuse(shared, shared.reuse, job, benchmark, facts).take(fresh):
            done[(taken.point_id, taken.repeat)] = taken.done
            ledger.add(taken.point_id, taken.exported)
    repeats = range(1, job.repeats + 1)
    return Before(done, frozenset(point.id for point in points if all((point.id, n) in done for n in repeats)))
