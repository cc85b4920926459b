"""audit.json of a job that writes to what the plan names: what was found there before, and what was decided."""

from __future__ import annotations

from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field


class _Part(BaseModel):
    model_config = ConfigDict(extra="forbid", populate_by_name=True, allow_inf_nan=False, defer_build=True)


class AuditConsent(_Part):
    """An entry of `safety.destroys` for the host."""

    device: str
    serial: str
    overwrite: bool = False
    reason: str = ""


class AuditCheck(_Part):
    """One look at a target; `ok` null: it could not be seen."""

    path: str
    name: str
    ok: bool | None
    detail: str = ""


class AuditRefusal(_Part):
    """Why a target was not touched."""

    code: str
    message: str


class AuditLook(_Part):
    """One inspection of the targets on the host: every device and check that the kernel guard reported."""

    at: str
    occasion: Literal["preflight", "start", "step"]
    """Before anything is measured on the host, right before the job, or by a step that was refused."""
    decision: Literal["allowed", "refused"]
    refusals: list[AuditRefusal] = Field(default_factory=list)
    devices: list[dict[str, Any]] = Field(default_factory=list)
    checks: list[AuditCheck] = Field(default_factory=list)
    raw: str = ""
    """The folder of what the checks wrote, relative to the run; empty when they were not asked."""


class AuditTarget(_Part):
    """What a job writes to one target, all repeats together."""

    path: str
    """As the plan names it; empty for temporary files."""
    planned_bytes: int
    """At most about so many."""
    written_bytes: int = 0
    """By the counters of the drives below it, while this run wrote there."""
    capacity_bytes: int | None = None
    drive_writes: float | None = None
    """`written_bytes` as a share of the capacity."""
    percentage_used: int | None = None
    """Of the life of the drive, as it said itself before the job (NVMe, may be above 100)."""
    begun: bool = False
    """Whether a step that writes there was started."""


class Audit(_Part):
    """jobs/<host>/<id>/audit.json."""

    schema_: Literal["asct.audit/1"] = Field("asct.audit/1", alias="schema")
    run: str
    host: str
    id: str
    benchmark: str
    max_written_bytes: int | None = None
    consents: list[AuditConsent] = Field(default_factory=list)
    targets: list[AuditTarget] = Field(default_factory=list)
    looks: list[AuditLook] = Field(default_factory=list)
