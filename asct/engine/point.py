"""One repeat of one point: its steps, its values, its documents. Whatever fails is an outcome, not an exception."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from asct.diagnostics.model import Diagnostic
from asct.engine.bus import now
from asct.engine.events import PointStatus
from asct.engine.failures import tail
from asct.engine.records import ContractBreach, Origin, Swept, records_of
from asct.engine.shared import Shared
from asct.engine.stepping import Stepper, Trail
from asct.errors import HostError, HostLost
from asct.planner.model import Job
from asct.sdk.benchmark import Benchmark, Context
from asct.sdk.facts import HostFacts
from asct.sdk.params import Params
from asct.sdk.record import Measurement, Record, Scalar, doubtful
from asct.sdk.step import Step
from asct.store.layout import RunLayout
from asct.store.model import Command, Status

_MOST_STEPS = 10_000
"""A benchmark that still wants steps after so many would go on for ever."""
_SHAPE_ERRORS = (ValueError, LookupError, TypeError, ArithmeticError)
"""What reading an output of another shape than expected raises."""


class _UnreadableError(Exception):
    """A benchmark cannot make its next steps of the outputs of those before."""

    def __init__(self, reason: Exception) -> None:
        super().__init__(str(reason))
        self.reason = reason


@dataclass(frozen=True, slots=True)
class BoundPoint:
    """A point ready to be measured: `settings` without templates, `params` made of them."""

    id: str
    params: Params
    settings: Mapping[str, Any]
    swept: Swept
    estimated_s: float = 0.0
    unfit: Diagnostic | None = None
    """Why the host has no room for it: it fails without being tried, and the other points go on."""

    @property
    def label(self) -> str:
        """The swept values, for people."""
        return ", ".join(f"{name}={value}" for name, value in self.swept.items())


@dataclass(slots=True)
class Outcome:
    """How one repeat ended. `lost` says that the connection is gone."""

    status: PointStatus
    elapsed_s: float = 0.0
    measurements: Sequence[Measurement] = ()
    exported: Mapping[str, Scalar] = field(default_factory=dict)
    diagnostic: Diagnostic | None = None
    lost: bool = False


class PointRunner:
    """Measures the points of one job on one open host."""

    def __init__(self, shared: Shared, job: Job, benchmark: Benchmark[Any], facts: HostFacts) -> None:
        self._shared = shared
        self._job = job
        self._benchmark = benchmark
        self._facts = facts
        self._origin = Origin.of(shared.run, shared.resolved.name, job, benchmark)
        self._layout: RunLayout = shared.writer.layout

    def measure(self, stepper: Stepper, point: BoundPoint, repeat: int, context: Context, attempt: int) -> Outcome:
        """Run one attempt and write what it left. Raises StoreError only."""
        folder = self._layout.repeat(self._job.host, self._job.id, point.id, repeat)
        self._shared.writer.repeat_folder(folder, attempt)
        started_at, started = now(), time.monotonic()
        trail = Trail()
        if point.unfit is not None:
            outcome = self._failed("failed", point.unfit)
        else:
            outcome = self._run(stepper, point, folder, context, trail)
        records: list[Record] = []
        if outcome.status == "ok":
            records = self._evaluate(point, repeat, trail, outcome, self._layout.relative(folder))
        outcome.elapsed_s = round(time.monotonic() - started, 6)
        self._document(folder, point, repeat, (outcome, trail, records), (started_at, attempt))
        return outcome

    def _run(self, stepper: Stepper, point: BoundPoint, folder: Path, context: Context, trail: Trail) -> Outcome:
        """All steps, asking the benchmark for more until it has none."""
        deadline = time.monotonic() + self._job.timeout_s
        context = replace(context, done=trail.outputs)
        try:
            while steps := self._more_steps(point, context):
                for step in steps:
                    if not stepper.run(step, folder, trail, deadline):
                        return self._failed("timeout" if trail.timed_out else "failed", trail.failure)
                    if self._shared.stop.at_once:
                        return Outcome("interrupted")
                if len(trail.rows) > _MOST_STEPS:
                    raise ValueError(f"it asked for more than {_MOST_STEPS} steps")
        except HostLost as error:
            return replace(self._failed("host-lost", _lost(self._job.host, error)), lost=True)
        except HostError as error:
            return self._failed("failed", error.diagnostics[0])
        except _UnreadableError as error:
            raw = self._layout.relative(folder)
            return self._failed("failed", _unreadable(self._job, trail, raw, error.reason))
        except (LookupError, ValueError) as error:
            unmade = _unbound if isinstance(error, LookupError) else _unplaced
            return self._failed("failed", unmade(self._job, error))
        return Outcome("ok")

    def _more_steps(self, point: BoundPoint, context: Context) -> Sequence[Step]:
        """Raises _UnreadableError when it reads what the steps before put out, and that is of another shape."""
        try:
            return self._benchmark.steps(point.params, context)
        except _SHAPE_ERRORS as error:
            if not context.done:
                raise
            raise _UnreadableError(error) from error

    def _failed(self, status: PointStatus, diagnostic: Diagnostic | None) -> Outcome:
        """A failure; one that the end of the run brought about is an interruption instead."""
        if self._shared.stop.at_once:
            return Outcome("interrupted")
        return Outcome(status, diagnostic=diagnostic)

    def _evaluate(self, point: BoundPoint, repeat: int, trail: Trail, outcome: Outcome, raw: str) -> list[Record]:
        """Values and records from the outputs; turns `outcome` into a failure when they cannot be had."""
        try:
            found = tuple(self._benchmark.parse(point.params, trail.outputs, self._facts))
            records = records_of(self._origin, point.id, point.swept, repeat, found, raw)
            exported = self._benchmark.export(found) if found else {}
        except ContractBreach as error:
            outcome.status, outcome.diagnostic = "failed", Diagnostic("E615", str(error), hint="please report this")
            return []
        except _SHAPE_ERRORS as error:
            outcome.status, outcome.diagnostic = "failed", _unreadable(self._job, trail, raw, error)
            return []
        if not found:
            message = f"{self._job.benchmark} measured no value"
            hint = f"the raw output is in {raw}/"
            outcome.status, outcome.diagnostic = "failed", Diagnostic("E616", message, hint=hint)
            return []
        outcome.measurements, outcome.exported = found, exported
        self._judge(outcome)
        return records

    def _judge(self, outcome: Outcome) -> None:
        """Noisy or invalid results make the repeat `noisy`; under `strict` with a reason why it does not count.

        A detail does not: what sums it up carries a flag of its own if its details leave it in doubt.
        """
        results = [item for item in outcome.measurements if not item.detail]
        doubts = sorted({flag for item in results for flag in item.flags if doubtful(flag)})
        if not doubts:
            return
        outcome.status = "noisy"
        if self._job.strict:
            message = f"the values are flagged {', '.join(doubts)} and `strict` is set: counts as not measured"
            hint = "quieten the host, raise `repeats`, or take `strict` out"
            outcome.diagnostic = Diagnostic("E617", message, hint=hint, severity="warning")

    def _document(
        self,
        folder: Path,
        point: BoundPoint,
        repeat: int,
        result: tuple[Outcome, Trail, Sequence[Record]],
        start: tuple[str, int],
    ) -> None:
        outcome, trail, records = result
        status = Status(
            status=outcome.status,
            point_id=point.id,
            repeat=repeat,
            started_at=start[0],
            elapsed_s=outcome.elapsed_s,
            flags=sorted({flag for item in outcome.measurements for flag in item.flags}),
            notes=trail.notes,
            diagnostic=outcome.diagnostic.to_json() if outcome.diagnostic else None,
            attempts=start[1],
            steps=trail.rows,
        )
        command = Command(
            host=self._job.host,
            benchmark=self._job.benchmark,
            settings=dict(point.settings),
            swept=dict(point.swept),
            steps=trail.commands,
        )
        self._shared.writer.finish_repeat(folder, command, status, records if repeat > 0 else ())


def _lost(host: str, error: HostLost) -> Diagnostic:
    cause = error.diagnostics[0].message if error.diagnostics else "the connection broke"
    hint = "the rest goes on when the host answers again; `retry: {max: 1, on: [host-lost]}` repeats the point"
    return Diagnostic("E610", f"host {host}: lost while measuring: {cause}", hint=hint)


def _unbound(job: Job, error: Exception) -> Diagnostic:
    hint = "give the setting that the needed job would have found"
    return Diagnostic("E612", f"{job.id} on {job.host}: needs a result that was not found: {error}", hint=hint)


def _unplaced(job: Job, error: Exception) -> Diagnostic:
    hint = f"`asct list settings {job.benchmark}` shows what can be set"
    return Diagnostic("E614", f"{job.id} on {job.host}: {error}", hint=hint)


def _unreadable(job: Job, trail: Trail, raw: str, error: Exception) -> Diagnostic:
    lines = tail(trail.outputs[-1]) if trail.outputs else []
    notes = tuple((f"  {line}", None) for line in [*trail.notes, *lines])  # a file that was not fetched comes first
    message = f"{job.benchmark}: the output is not understood: {_reason(error)}"
    return Diagnostic("E608", message, hint=f"the raw output is in {raw}/", notes=notes)


def _reason(error: Exception) -> str:
    return str(error) if isinstance(error, ValueError) else f"{type(error).__name__}: {error}"
