"""Models of all documents in a results tree (asct.run/1, asct.status/1, ...), and of the measurement kernels'
output."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, Any, Final, Literal

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, RootModel

from asct.instruments.guard_output import TargetCheck
from asct.instruments.nvme import DriveHealth
from asct.sdk.guard import Consent
from asct.sdk.record import Scalar
from asct.sdk.step import HostReadings
from asct.store.checksums import is_inner, text_checksum

HostStatus = Literal["ok", "unreachable", "unfit", "lost", "locked", "skipped"]
PointStatus = Literal["ok", "noisy", "invalid", "failed", "timeout", "refused", "skipped", "host-lost", "interrupted"]
"""How a repeat ended. A repeat is `invalid` if it has values, but at least one of them does not represent what its
metric describes."""
MEASURED: Final = ("ok", "noisy")
"""The statuses of measured repeats. A strict job accepts only the first of them; see `accepted_statuses`."""
VALUED: Final = (*MEASURED, "invalid")
"""The statuses of repeats that have values."""


def accepted_statuses(*, strict: bool) -> tuple[str, ...]:
    """Return the statuses of repeats that are treated as measured. In a strict job, these do not include `noisy`."""
    return MEASURED[:1] if strict else MEASURED


def _inner(path: str) -> str:
    if not is_inner(path):
        raise ValueError("leads out of the folder")
    return path


InnerPath = Annotated[str, AfterValidator(_inner)]
"""A path below a document's folder. It is validated because a results tree from elsewhere could contain the path of any
file on this machine."""


class _Document(BaseModel):
    model_config = ConfigDict(extra="forbid", populate_by_name=True, allow_inf_nan=False, defer_build=True)


class SecondValue(_Document):
    """The second measurement of a value that seemed to have regressed. `change` and its 95 % interval are fractions of
    the baseline's value. `confirmed` is true if this measurement alone shows the regression as well."""

    value: float
    change: float
    ci95: tuple[float, float] | None = None
    confirmed: bool


class BaselineValue(_Document):
    """The baseline value that a verdict is based on.

    `limit` (from `no_worse_than`), `change`, its 95 % interval and the noise floor are fractions of that value. All
    except `limit` are null if the values cannot be compared.
    """

    run: str
    """The run that measured the value, as `<plan>/<run id>`."""
    chosen: str
    """How the baseline was chosen."""
    value: float
    change: float | None = None
    ci95: tuple[float, float] | None = None
    noise: float | None = None
    limit: float | None = None
    inconclusive: bool = False
    """Whether the value is far worse than the limit allows, although the difference may be due to chance."""
    again: SecondValue | None = None
    """Null if the value was not measured again."""


class Verdict(_Document):
    """The outcome of one expectation on one host at one set of coordinates. `text` states the bound. If the outcome is
    unknown or not planned, `reason` says why."""

    outcome: Literal["pass", "fail", "unknown", "not planned"]
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
    baseline: BaselineValue | None = None
    no_baseline: bool = False
    """True if there is no baseline with which values could be compared; `reason` says why."""
    file: str | None = None
    line: int | None = None


class HostEntry(_Document):
    """A host in the run: its transport, and whether it could be used."""

    name: str
    transport: str
    address: str = ""
    status: HostStatus
    reason: str = ""
    description: str = ""


class Reused(_Document):
    """Repeats of a job that were reused from an earlier run (`--reuse`)."""

    run: str
    """The run that measured them, as `<plan>/<run id>`."""
    repeats: int
    measured_at: str
    """When the first of these repeats was measured."""


class JobEntry(_Document):
    """A job in the run, and the number of its repeats with each status."""

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
    """The first reason why repeats were not measured, preceded by an error code if there is one."""
    strict: bool = False
    """Whether noisy repeats are treated as not measured."""
    refused: bool = False
    """Whether the job was refused for safety reasons; the exit code depends on this."""
    reused: list[Reused] = Field(default_factory=list)
    """The reused repeats among those in `counts`, grouped by the run that measured them."""
    host_states: dict[str, int] = Field(default_factory=dict)
    """Number of repeats for each host state (stable, noisy, invalid, unknown), according to their telemetry."""
    host_reasons: dict[str, int] = Field(default_factory=dict)
    """The number of repeats for each reason for a host state, such as `steal`, `others` or `quota`."""

    @property
    def accepted(self) -> tuple[str, ...]:
        """The statuses with which a repeat is treated as measured."""
        return accepted_statuses(strict=self.strict)

    def lacking(self) -> dict[str, int]:
        """Return the number of repeats that are treated as not measured, keyed by status. Planned repeats that were not
        started are `refused` if the job was refused (older versions counted them as skipped), otherwise `skipped`."""
        found = {status: number for status, number in self.counts.items() if number and status not in self.accepted}
        left = max(0, self.points * self.repeats - sum(self.counts.values())) + found.pop("skipped", 0)
        word = "refused" if self.refused else "skipped"
        return {**found, word: found.get(word, 0) + left} if left else found


class Run(_Document):
    """The content of run.json: what was run, where, and how the run ended. The file is written when the run starts and
    replaced when it ends."""

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
    """Diagnostics about the run (asct.diagnostic/1 plus `host`), in order."""
    command: list[str] = Field(default_factory=list)
    sealed: bool = False
    """Whether SHA256SUMS lists the checksums of the run; false while the run is in progress and for runs recorded by
    older asct versions."""

    def planned_repeats(self) -> dict[tuple[str, str], int]:
        """Return the planned number of repeats per point for each job, keyed by host and id. Repeats with higher
        numbers measured a value again. Imported results have no plan, so all of their repeats are treated as
        planned."""
        imported = {host.name for host in self.hosts if host.transport == "import"}
        return {(job.host, job.id): job.repeats for job in self.jobs if job.host not in imported}


class StepNote(_Document):
    """One line of jobs/.../r<k>/steps.jsonl: a finished step after which the repeat can be resumed."""

    schema_: Literal["asct.step/1"] = Field("asct.step/1", alias="schema")
    digest: str
    """A SHA-256 hash that identifies the step, computed from the plan, the repeat and the step."""
    name: str
    folder: str
    """The folder that contains the step's files, relative to the run folder."""
    status: int
    elapsed_ns: int
    resumed: bool = False
    """Whether this is the first step after an interruption."""
    notes: list[str] = Field(default_factory=list)
    command: dict[str, Any]
    """The step, in the form used in status.json."""
    files: dict[str, str]
    """The SHA-256 of each file, keyed by name."""
    around: HostReadings = Field(default_factory=HostReadings)


class AuditRefusal(_Document):
    """The reason why a target was not used."""

    code: str
    message: str


class AuditLook(_Document):
    """One inspection of the targets on the host, with all devices and checks that guard reported."""

    at: str
    occasion: Literal["preflight", "start", "step"]
    """The occasion of the inspection: before anything was measured on the host, directly before the job, or during a
    step that was refused."""
    decision: Literal["allowed", "refused"]
    refusals: list[AuditRefusal] = Field(default_factory=list)
    devices: list[dict[str, Any]] = Field(default_factory=list)
    checks: list[TargetCheck] = Field(default_factory=list)
    raw: str = ""
    """The folder that contains guard's output, relative to the run folder, or an empty string if guard did not run."""


class AuditTarget(_Document):
    """The number of bytes that a job writes to one target over all repeats."""

    path: str
    """The path in the plan, or an empty string for temporary files."""
    planned_bytes: int
    """The estimated maximum number of bytes that will be written."""
    written_bytes: int = 0
    """The number of bytes written during the steps of this run, according to the counters of the target's drives."""
    capacity_bytes: int | None = None
    drive_writes: float | None = None
    """`written_bytes` as a fraction of the drive's capacity."""
    percentage_used: int | None = None
    """The percentage of the drive's rated life that was used up before the job, as reported by the drive (NVMe only;
    may exceed 100)."""
    begun: bool = False
    """Whether a step that writes to the target was started."""


class Audit(_Document):
    """jobs/<host>/<id>/audit.json: inspections of a job's targets, decisions, and bytes written."""

    schema_: Literal["asct.audit/1"] = Field("asct.audit/1", alias="schema")
    run: str
    host: str
    id: str
    benchmark: str
    max_written_bytes: int | None = None
    consents: list[Consent] = Field(default_factory=list)
    """The entries in `safety.destroys` for the host."""
    targets: list[AuditTarget] = Field(default_factory=list)
    looks: list[AuditLook] = Field(default_factory=list)


State = Literal["stable", "noisy", "invalid", "unknown"]


class Reason(_Document):
    """A disturbance: the value `seen`, in `unit` (empty for a count), exceeds `limit`. `means` explains the
    consequence."""

    what: str
    state: Literal["noisy", "invalid"]
    seen: float
    limit: float
    unit: str
    means: str


class HostVerdict(_Document):
    """The state of the host during a repeat.

    The most serious reason determines the state; `unknown` means that readings are missing.
    """

    state: State
    reasons: list[Reason] = Field(default_factory=list)


class Moment(_Document):
    """One reading of the host state. Unknown values are null, or missing from their map.

    `counters` only increase. `ticks_*` are hundredths of a second, summed over all CPUs (proc(5)). `pressure_*_us` is
    the time, in microseconds, during which at least one task waited (psi.rst), `quota_*` counts throttling by control
    groups, and `heat_throttles` counts thermal throttling.
    """

    uptime_s: float | None = None
    load1: float | None = None
    running: int | None = None
    online: str | None = None
    """The Linux kernel's list of online CPUs."""
    clock_source: str | None = None
    counters: dict[str, int] = Field(default_factory=dict)
    clock_hz: dict[str, float] = Field(default_factory=dict)
    """The current frequencies of the first and the last frequency policy. They are meaningless for idle CPUs."""
    clock_limit_hz: dict[str, float] = Field(default_factory=dict)
    governor: dict[str, str] = Field(default_factory=dict)
    celsius: dict[str, float] = Field(default_factory=dict)
    critical_celsius: dict[str, float] = Field(default_factory=dict)
    cooling: dict[str, int] = Field(default_factory=dict)
    """The state of each cooling device that throttles CPUs; 0 means no throttling."""
    drives: dict[str, DriveHealth] = Field(default_factory=dict)


class Telemetry(_Document):
    """The `telemetry` part of status.json: the host state before and after one repeat. Older asct versions wrote this
    part to telemetry.json.

    `before` is the reading before the first step, and `after` is the reading after the last step. `growth` and
    `elapsed_s` are sums over the steps, excluding the time between steps. Shares (0 to 1) are relative to the time of
    all CPUs (`user`, `system`, `irq`, `idle`, `iowait`), to the demand for CPU time (`steal`), or to elapsed time
    (`pressure_*`, `quota`). `own_cpu_s` is the CPU time of the measuring programs, and `others_cpus` is the number of
    CPUs that other programs used.
    """

    schema_: Literal["asct.telemetry/1"] = Field("asct.telemetry/1", alias="schema")
    verdict: HostVerdict
    steps: int
    elapsed_s: float
    before: Moment
    after: Moment
    growth: dict[str, int] = Field(default_factory=dict)
    shares: dict[str, float] = Field(default_factory=dict)
    own_cpu_s: float | None = None
    others_cpus: float | None = None
    unknown: dict[str, str] = Field(default_factory=dict)
    """The reason for each unknown value, keyed by value name."""


class CommandDocument(_Document):
    """The `command` part of status.json: the command lines of a repeat, so that users can run them manually. Older asct
    versions wrote this part to command.json."""

    schema_: Literal["asct.command/1"] = Field("asct.command/1", alias="schema")
    host: str
    benchmark: str
    settings: dict[str, Any]
    swept: dict[str, Any]
    steps: list[dict[str, Any]] = Field(default_factory=list)
    """The name, argv, cwd, env, files, companions (argv) and timeout_s of each step."""


class EarlierValues(_Document):
    """The values that earlier runs measured for one value of a repeat, in chronological order and in the metric's
    unit."""

    metric: str
    coords: dict[str, Scalar]
    values: list[float]


class Status(_Document):
    """jobs/<host>/<id>/<point>/r<k>/status.json: how one repeat ended, its command lines, the host state before and
    after it, and the checksums of its raw files and records. The file is written at the end of the repeat."""

    schema_: Literal["asct.status/2"] = Field("asct.status/2", alias="schema")
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
    """The name, status (exit status), elapsed_ns and folder (relative to the run folder) of each step. `resumed` is
    true for the first step after an interruption."""
    reuse_key: str = ""
    """SHA-256 of everything that affects the measurement. `--reuse` requires this hash to be unchanged."""
    reused_from: str = ""
    """The run that measured the repeat, as `<plan>/<run id>`, or an empty string for this run."""
    records: int | None = None
    """The number of lines that the repeat has in records.jsonl, so that missing lines are detected. Null in runs
    recorded by older asct versions."""
    records_sha256: str = ""
    """SHA-256 of the repeat's lines in records.jsonl, including line feeds; empty in runs recorded by older asct
    versions."""
    files: dict[InnerPath, str] | None = None
    """SHA-256 of each raw file, keyed by path relative to the repeat folder; null in runs recorded by older asct
    versions. Empty files are listed but not stored."""
    command: CommandDocument | None = None
    """The command lines; null if they are unknown."""
    telemetry: Telemetry | None = None
    """The host state; null if no step was run."""
    earlier: list[EarlierValues] = Field(default_factory=list)
    """The values from earlier runs whose spread is taken into account in this repeat's intervals."""

    @property
    def host_state(self) -> HostVerdict | None:
        """Whether the host was quiet, or None if no step was run."""
        return None if self.telemetry is None else self.telemetry.verdict

    def has_all(self, lines: Sequence[str]) -> bool:
        """Return whether these lines of records.jsonl, including their line feeds, are exactly the lines that the
        repeat wrote. In runs recorded by older asct versions, only the number of lines can be checked, or nothing at
        all."""
        if self.records_sha256:
            return text_checksum("".join(lines)) == self.records_sha256
        return len(lines) > 0 and self.records in (None, len(lines))


class _Line(BaseModel):
    model_config = ConfigDict(extra="allow", allow_inf_nan=False, defer_build=True)


class Meta(_Line):
    """The first line: how the kernel was built and called. All other fields are specific to the kernel."""

    t: Literal["meta"]
    kernel: str | None = Field(default=None, description="name of the folder in kernels/")
    abi: int | None = Field(default=None, description="version of this format")
    compiler: str | None = None
    flags: str | None = None
    argv: list[str] | None = None


class Ready(_Line):
    """The line printed when the setup (touching memory, binding threads) is complete. Samples follow it."""

    t: Literal["ready"]


class KernelSample(_Line):
    """One measurement: raw integers, named after their units (`ns`, `bytes`, `ticks`, `ops`)."""

    t: Literal["sample"]


class End(_Line):
    """The last line. Without it, the output is incomplete and the measurement has failed."""

    t: Literal["end"]
    ok: bool
    error: str | None = Field(default=None, description="reason why `ok` is false")


class StreamLine(RootModel[Annotated[Meta | Ready | KernelSample | End, Field(discriminator="t")]]):
    """One line of a kernel's standard output."""
