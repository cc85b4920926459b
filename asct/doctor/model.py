"""The results of `asct doctor` for a host, used by the command line and in asct.doctor/1."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any, Final, Literal

from asct.diagnostics.model import Diagnostic
from asct.sdk.disturbance import Disturbance, Unseen

SCHEMA = "asct.doctor/1"
_CONTENT: Final = ("signature", "data")
Status = Literal["ok", "unreachable", "unfit"]


@dataclass(frozen=True, slots=True)
class FailedCheck:
    """A check that a device failed. `ok` is None if the check could not be performed. `hint` says how to fix the
    problem."""

    check: str
    ok: bool | None
    detail: str
    hint: str


@dataclass(frozen=True, slots=True)
class Disk:
    """A block device on a host. `names` contains the device's names in /dev/disk/by-id, and is empty for a loop device.

    `serial` is the serial number that a plan must specify, or the path of the backing file of a loop device.
    """

    device: str
    names: tuple[str, ...] = ()
    bytes: int | None = None
    model: str = ""
    serial: str = ""
    objections: tuple[FailedCheck, ...] = ()

    @property
    def target(self) -> bool:
        """Whether a job could write to the device if the plan consents."""
        return not self.objections

    @property
    def with_overwrite(self) -> bool:
        """Whether a job could write to the device with `overwrite: true`, because its content is the only obstacle."""
        return all(item.ok is False and item.check in _CONTENT for item in self.objections)


@dataclass(frozen=True, slots=True)
class ConsentedDevice:
    """A device that the plan allows asct to overwrite, and the reasons why asct would still refuse to write to it."""

    device: str
    serial: str
    refusals: tuple[Diagnostic, ...] = ()


@dataclass(frozen=True, slots=True)
class HostReport:
    """The report on one host.

    `problems` lists failed checks and requirements of the plan that the host does not meet, `findings` the
    disturbances, most certain first, and `unseen` the conditions that could not be checked. `subjects` contains the
    quantities that the plan measures on the host (None without a plan). `collected_at` is the time when the facts were
    read.
    """

    name: str
    transport: str
    address: str
    status: Status
    description: str = ""
    collected_at: str = ""
    problems: tuple[Diagnostic, ...] = ()
    findings: tuple[Disturbance, ...] = ()
    unseen: tuple[Unseen, ...] = ()
    subjects: frozenset[str] | None = None
    disks: tuple[Disk, ...] = ()
    consents: tuple[ConsentedDevice, ...] = ()

    def touching(self) -> tuple[Disturbance, ...]:
        """Return the findings that affect the plan or, without a plan, any value."""
        return tuple(
            item for item in self.findings if (item.touches if self.subjects is None else item.about(self.subjects))
        )

    def to_json(self) -> dict[str, Any]:
        """Return the report as JSON (asct.doctor/1). A finding's `touches_plan` is null without a plan."""
        planned = None if self.subjects is None else self.touching()
        head = {key: getattr(self, key) for key in ("name", "transport", "address", "status", "description")}
        return {
            **head,
            "problems": [item.to_json() for item in self.problems],
            "findings": [
                {**item.model_dump(mode="json"), "touches_plan": None if planned is None else item in planned}
                for item in self.findings
            ],
            "unseen": [item.model_dump(mode="json") for item in self.unseen],
            "disks": [
                {**asdict(disk), "target": disk.target, "with_overwrite": disk.with_overwrite} for disk in self.disks
            ],
            "consents": [
                {**asdict(item), "refusals": [refusal.to_json() for refusal in item.refusals]} for item in self.consents
            ],
        }
