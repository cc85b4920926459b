"""The documents of a results tree: run.json, status.json and command.json (asct.run/1, asct.status/1, ...)."""

from __future__ import annotations

from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field

from asct.sdk.record import Record, Scalar
from asct.store.telemetry import HostVerdict

__all__ = ["Command", "HostEntry", "JobEntry", "Readings", "Record", "Reused", "Run", "Status", "StepNote", "Verdict"]

PointStatus = Literal["ok", "noisy", "failed", "timeout", "skipped", "host-lost", "interrupted"]


class _Document(BaseModel):
    model_config = ConfigDict(extra="forbid", populate_by_name=True, allow_inf_nan=False)


class Verdict(_Document):
    """The outcome of one expectation on one host and one place. `text` says the bound, `reason` why it is unknown."""

    outcome: Literal["pass", "fail", "unknown"]
    severity: Literal["fail", "warn", "info"]
    host: str | None
    id: str
    metric: str
    unit: str = ""
    at: dict[str, Any] = Field(default_factory=dict)
    value: float | None = None
    min: float | None = None
    max: float | None = None
    text: str = ""
    reason: str = ""
    if_missing: Literal["fail", "warn", "pass"] = "fail"
    file: str | None = None
    line: int | None = None


class HostEntry(_Document):
    """A host of the run: how it was reached and whether it could be used."""

    name: str
    transport: str
    address: str = ""
    status: Literal["ok", "unreachable", "unfit", "lost", "locked", "skipped"]
    reason: str = ""
    description: str = ""


class Reused(_Document):
    """Repeats of a job that were taken from an earlier run (`--reuse`) instead of being measured."""

    run: str
    """`<plan>/<run id>` of the run that measured them."""
    repeats: int
    measured_at: str
    """When the oldest of them was measured."""


class JobEntry(_Document):
    """A job of the run and how many of its measurements ended how."""

    id: str
    benchmark: str
    version: str
    host: str
    points: int
    repeats: int
    reason: str = ""
    counts: dict[str, int] = Field(default_factory=dict)
    elapsed_s: float = 0.0
    note: str = ""
    """Why nothing, or not all, was measured."""
    refused: bool = False
    """Refused for safety; decides the exit code."""
    reused: list[Reused] = Field(default_factory=list)
    """What of `counts` was taken from earlier runs, by run."""
    host_states: dict[str, int] = Field(default_factory=dict)
    """How many measurements found their host in which state (stable, noisy, invalid, unknown), by their telemetry."""
    host_reasons: dict[str, int] = Field(default_factory=dict)
    """How many of them each reason concerns (`steal`, `others`, `quota`)."""


class Run(_Document):
    """run.json: what was run, where, and how it ended. Written at the start and replaced at the end."""

    schema_: Literal["asct.run/1"] = Field("asct.run/1", alias="schema")
    run: str
    plan: str
    description: str = ""
    title: str = ""
    label: str | None = None
    plan_hash: str
    plan_file: str
    tool_version: str
    git_commit: str | None = None
    git_dirty: bool | None = None
    started_at: str
    ended_at: str | None = None
    status: Literal["running", "complete", "incomplete", "interrupted"] = "running"
    exit_code: int | None = None
    hosts: list[HostEntry] = Field(default_factory=list)
    jobs: list[JobEntry] = Field(default_factory=list)
    counts: dict[str, int] = Field(default_factory=dict)
    verdicts: list[Verdict] = Field(default_factory=list)
    findings: list[dict[str, Any]] = Field(default_factory=list)
    """Diagnostics of the run (asct.diagnostic/1 plus `host`), in order."""
    command: list[str] = Field(default_factory=list)


class Status(_Document):
    """jobs/<host>/<id>/<point>/r<k>/status.json: how one repeat ended. Its presence means the repeat is over."""

    schema_: Literal["asct.status/1"] = Field("asct.status/1", alias="schema")
    status: PointStatus
    point_id: str
    repeat: int
    started_at: str
    elapsed_s: float
    flags: list[str] = Field(default_factory=list)
    notes: list[str] = Field(default_factory=list)
    diagnostic: dict[str, Any] | None = None
    attempts: int = 1
    steps: list[dict[str, Scalar | None]] = Field(default_factory=list)
    """Per step: name, status (exit), elapsed_ns, folder (relative)."""
    reuse_key: str = ""
    """SHA-256 over all that the measurement depends on; while it is the same, `--reuse` may take it again."""
    reused_from: str = ""
    """`<plan>/<run id>` of the run that measured it; empty for the run itself."""
    records: int | None = None
    """How many lines of records.jsonl it has, so that a cut in that file is seen; null: not counted (an older run)."""
    telemetry: HostVerdict | None = None
    """Whether the host was quiet meanwhile, as telemetry.json says; null when nothing was run."""

    def has_all(self, records: int) -> bool:
        """Whether so many records are all that it gave, as far as that can be told."""
        return records > 0 and self.records in (None, records)


class Command(_Document):
    """jobs/.../command.json: what was run, literally, so that it can be run again by hand."""

    schema_: Literal["asct.command/1"] = Field("asct.command/1", alias="schema")
    host: str
    benchmark: str
    settings: dict[str, Any]
    swept: dict[str, Any]
    steps: list[dict[str, Any]] = Field(default_factory=list)
    """Per step: name, argv, cwd, env, files, companions (argv), timeout_s."""


class Readings(_Document):
    """What was read of the host right before and after a step, as it was read."""

    before: str = ""
    after: str = ""
    cpu_ns: int | None = None
    brief: bool = False


class StepNote(_Document):
    """One line of jobs/.../r<k>/steps.jsonl: a finished step of a repeat that can go on behind it."""

    schema_: Literal["asct.step/1"] = Field("asct.step/1", alias="schema")
    digest: str
    """SHA-256 of the plan, the repeat and the step: a line of any other one does not fit."""
    name: str
    folder: str
    """Where its files lie, relative to the run."""
    status: int
    elapsed_ns: int
    resumed: bool = False
    """The first step after a pause."""
    notes: list[str] = Field(default_factory=list)
    command: dict[str, Any]
    """The step as command.json has it."""
    files: dict[str, str]
    """Name to SHA-256."""
    around: Readings = Field(default_factory=Readings)
