"""telemetry.json of a repeat (asct.telemetry/1): what else its host did, and whether that puts its values in doubt."""

from __future__ import annotations

from typing import Literal

from pydantic import BaseModel, ConfigDict, Field

State = Literal["stable", "noisy", "invalid", "unknown"]


class _Part(BaseModel):
    model_config = ConfigDict(extra="forbid", populate_by_name=True, allow_inf_nan=False)


class Reason(_Part):
    """One thing that disturbed: `seen` in `unit` (empty: a number), more than `limit`; `means` says it in words."""

    what: str
    state: Literal["noisy", "invalid"]
    seen: float
    limit: float
    unit: str
    means: str


class HostVerdict(_Part):
    """`unknown`: the host could not be read at both ends. The worst reason decides the state."""

    state: State
    reasons: list[Reason] = Field(default_factory=list)


class DriveHealth(_Part):
    """Of the SMART / Health log of an NVMe drive (NVM Express Base Specification, log page 02h). Celsius, minutes."""

    celsius: float
    critical_warning: int
    available_spare: int
    percentage_used: int
    media_errors: int
    warning_minutes: int
    critical_minutes: int
    throttle_transitions: int


class Moment(_Part):
    """One reading of the host; what is not there is null, or missing from its map.

    `counters` only grow: `ticks_*` are hundredths of a second of all CPUs together (proc(5)), `pressure_*_us` the time
    in which some task waited (psi.rst), `quota_*` what control groups held back, `heat_throttles` of the CPUs watched.
    """

    uptime_s: float | None = None
    load1: float | None = None
    running: int | None = None
    online: str | None = None
    """The CPUs, as the kernel lists them."""
    clock_source: str | None = None
    counters: dict[str, int] = Field(default_factory=dict)
    clock_hz: dict[str, float] = Field(default_factory=dict)
    """The present clock by frequency policy, of the first and the last one; of an idle CPU it says little."""
    clock_limit_hz: dict[str, float] = Field(default_factory=dict)
    governor: dict[str, str] = Field(default_factory=dict)
    celsius: dict[str, float] = Field(default_factory=dict)
    critical_celsius: dict[str, float] = Field(default_factory=dict)
    cooling: dict[str, int] = Field(default_factory=dict)
    """By how much devices that slow CPUs down to cool them do so; 0: not at all."""
    drives: dict[str, DriveHealth] = Field(default_factory=dict)


class Telemetry(_Part):
    """jobs/<host>/<id>/<point>/r<k>/telemetry.json.

    `before` is that of the first step, `after` that of the last; `growth` and `elapsed_s` are sums over the steps, so
    that what happened between them does not count. Shares are parts of 1: of the time of all CPUs (`user`, `system`,
    `irq`, `idle`, `iowait`), of the time in which they were wanted (`steal`), of the time that passed (`pressure_*`,
    `quota`). `own_cpu_s` is the CPU time of the programs that measured, `others_cpus` how many CPUs other programs had.
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
    """What could not be read, and why."""
