"""The resolved plan: jobs and points. `plan -o` freezes it, and the engine executes it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal, NamedTuple

from asct.diagnostics.model import Diagnostic, Span
from asct.plan.model import HostSpec, Level, OnMissing, Order, ReportSpec, Retry, Safety


class Origin(NamedTuple):
    """The origin of a setting's value: its layer (`default`, `defaults`, `group lab`, `host a`, `config`, `sweep`,
    `include`, `--set`) and its location."""

    layer: str
    span: Span | None = None


class Point(NamedTuple):
    """One complete set of settings. `id` consists of the first 12 hex digits of a hash of the benchmark, its version
    and the canonical settings.

    `swept` contains the settings that vary within the job, in the order of the axes. `settings` contains all settings
    in canonical form (sizes in bytes, durations in seconds). Values that depend on results from `needs` are
    PendingValues.
    """

    id: str
    swept: Mapping[str, Any]
    settings: Mapping[str, Any]


class Job(NamedTuple):
    """All points of one benchmark entry on one host."""

    id: str
    benchmark: str
    version: str
    host: str
    points: tuple[Point, ...]
    repeats: int = 1
    warmup: int = 0
    timeout_s: float | None = None
    """Time limit for one repeat, in seconds, or None if the benchmark's own limit for the point (Needs.limit_s)
    applies."""
    retry: Retry = Retry()
    order: Order = "interleaved"
    seed: int = 0
    """The seed for the random order, derived from the plan hash."""
    strict: bool = False
    tags: tuple[str, ...] = ()
    needs: Mapping[str, str] = {}
    """Maps each alias to the id of a job on the same host whose results this job reads."""
    reason: str = "named in the plan"
    origins: Mapping[str, Origin] = {}
    span: Span | None = None
    """The location of the entry in the plan."""

    @property
    def key(self) -> str:
        """The job's key, `host/id`, which is unique in the run."""
        return f"{self.host}/{self.id}"


class Check(NamedTuple):
    """A resolved expectation. Bounds are in the metric's base unit; `no_worse_than` is a fraction (5% is 0.05).

    `job_id` and `metric` may be patterns (`*`). If `hosts` is None, the expectation applies to all hosts. If
    `relative_to` is set (`theoretical_bandwidth`), `min` and `max` are fractions of that value.
    """

    job_id: str
    metric: str
    at: Mapping[str, Any]
    hosts: tuple[str, ...] | None
    min: float | None = None
    max: float | None = None
    relative_to: str | None = None
    versus: Literal["baseline"] | None = None
    no_worse_than: float | None = None
    severity: Level = "fail"
    if_missing: OnMissing = "fail"
    text: str = ""
    """The metric and its bound as written in the plan: `latency-sweep.latency at level DRAM: at most 130 ns`."""
    span: Span | None = None
    reference: float | None = None
    """The rated value, in the base unit. Reports show it next to the measured value; it does not affect verdicts."""
    unplanned: str = ""
    """The reason why the run plans no value for the expectation, or an empty string if a value is planned. Without a
    planned value, the expectation is not evaluated."""

    @property
    def bounded(self) -> bool:
        """Whether the check has bounds rather than only a reference."""
        return self.reference is None or any(item is not None for item in (self.min, self.max, self.versus))


class ResolvedPlan(NamedTuple):
    """Everything that the engine needs to run a plan. `hash` consists of 64 hex digits and covers everything that
    affects the measurements.
    """

    name: str
    description: str
    path: str
    text: str
    hash: str
    hosts: Mapping[str, HostSpec]
    jobs: tuple[Job, ...]
    """The jobs in order. Each job comes after the jobs whose results it needs."""
    checks: tuple[Check, ...]
    report: ReportSpec
    safety: Safety
    baseline: str | None = None
    confirm: bool = True
    """Whether values that seem to have regressed are measured again."""
    diagnostics: tuple[Diagnostic, ...] = ()
    """Warnings that did not prevent the plan from being resolved."""
    limit_s: float | None = None
    """The plan's `limits.duration`, in seconds, or None if the plan does not set this limit."""
