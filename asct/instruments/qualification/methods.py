"""The ways to remove all content of a drive: which a drive allows, and their commands, each below guard.

Every command opens the handle that guard checked and holds; the options that skip a second question or an exclusive
open of its own are given because guard has done both.

Sources: NVM Express Base Specification 2.0c (Format NVM; Identify Controller OACS and FNA), ATA Command Set 3 (SECURITY
ERASE UNIT), SCSI Primary and Block Commands (FORMAT UNIT, SANITIZE), and the manuals of nvme-cli, util-linux, hdparm
and sg3_utils.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from asct.instruments.nvme import controller_of, namespace_of
from asct.instruments.qualification.settings import PurgeMethod
from asct.instruments.watch import Device, Watch
from asct.sdk.benchmark import Unsuitable
from asct.sdk.facts import HostFacts
from asct.sdk.guard import handle_path

PATH: Final = handle_path(0)
PASSWORD: Final = "asct"  # noqa: S105 - no secret: it must be known to unlock a drive after a power cut
"""Of ATA drives, between the command that sets it and the erase that removes it: README says how to unlock one."""
_FORMAT_LIMIT_MS: Final = 24 * 3600 * 1000
_USER: Final = ("--user-master", "u")


@dataclass(frozen=True, slots=True)
class Command:
    """One command of a purge. `look` only asks; `said` in its output means success whatever the status.

    With `whole` guard makes sure that nothing else lies on the drive: not only the target is changed.
    """

    name: str
    tool: str
    arguments: tuple[str, ...]
    said: str = ""
    look: bool = False
    whole: bool = False


TOOLS: Final[dict[str, str]] = {
    "nvme-format": "nvme", "blkdiscard": "blkdiscard", "ata-erase": "hdparm", "sg-format": "sg_format",
    "sg-sanitize": "sg_sanitize",
}  # fmt: skip


def commands(method: str, device: Device, said: Sequence[str]) -> Sequence[Command]:
    """All commands of a method in their order; `said` is what those before printed."""
    if method == "nvme-format":
        return (Command("format", "nvme", _nvme_format(device), "Success formatting", whole=_formats_all(device)),)
    if method == "ata-erase":
        return _ata_erase(said[0] if said else "")
    plain = {
        "blkdiscard": ("--force", PATH),
        "sg-format": ("--format", "--quick", "--wait", PATH),
        "sg-sanitize": ("--block", "--quick", "--wait", PATH),
    }
    return (Command("run", TOOLS[method], plain[method], whole=method != "blkdiscard"),)


def _nvme_format(device: Device) -> tuple[str, ...]:
    """User data erase (SES 1) with the format in use: left out, some versions would take format 0."""
    namespace = namespace_of(device)
    kept = () if namespace is None else (f"--lbaf={namespace.format_index}",)
    return ("format", PATH, "--ses=1", *kept, f"--timeout={_FORMAT_LIMIT_MS}", "--force")


def _ata_erase(identity: str) -> tuple[Command, ...]:
    enhanced = "supported: enhanced erase" in " ".join(identity.split())
    erase = "--security-erase-enhanced" if enhanced else "--security-erase"
    return (
        Command("look", "hdparm", ("-I", PATH), look=True),
        Command("password", "hdparm", (*_USER, "--security-set-pass", PASSWORD, PATH), whole=True),
        Command("erase", "hdparm", (*_USER, erase, PASSWORD, PATH), whole=True),
        Command("look-after", "hdparm", ("-I", PATH), look=True),
    )


def unlock() -> Command:
    """Takes back the password after an erase that failed."""
    return Command("unlock", "hdparm", (*_USER, "--security-disable", PASSWORD, PATH))


def ata_obstacle(identity: str) -> str:
    """Why `hdparm -I` says that a drive cannot be erased; empty if it can."""
    section = re.search(r"^Security:(.*?)(?=^\S|\Z)", identity, re.MULTILINE | re.DOTALL)
    lines = [" ".join(line.split()) for line in (section.group(1) if section else "").splitlines()]
    if "supported" not in lines:
        return "the drive has no security erase"
    if "frozen" in lines:
        return "the firmware of the host froze the security of the drive: let the host sleep and wake, then try again"
    if "enabled" in lines or "locked" in lines:
        return "a password is set on the drive: remove it first"
    return ""


def candidates(wanted: PurgeMethod, inspected: Watch, facts: HostFacts) -> tuple[str, ...]:
    """The methods to try, in order. `auto` takes none that may leave a drive locked or half formatted.

    Raises Unsuitable when the method that was named cannot be carried out on this target.
    """
    if wanted == "none" or (wanted == "auto" and inspected.before[0].scalar("kind") != "block"):
        return ()
    if wanted != "auto":
        reason = obstacle(wanted, inspected, facts)
        if reason:
            raise Unsuitable(f"purge {wanted}: {reason}; set purge to auto or none")
        return (wanted,)
    return tuple(method for method in ("nvme-format", "blkdiscard") if not obstacle(method, inspected, facts))


def obstacle(method: str, inspected: Watch, facts: HostFacts) -> str:
    """What keeps a method from being carried out; empty if nothing is known to."""
    device = inspected.before[0]
    if device.scalar("kind") != "block":
        return "the target is a file"
    if TOOLS[method] not in facts.tools:
        return f"the host has no {TOOLS[method]}"
    if method == "blkdiscard":
        return "the device takes no discards" if device.scalar("discard_max_bytes") == 0 else ""
    if device.scalar("partition"):
        return "the target is a partition, and the whole drive would be erased"
    return _nvme_obstacle(inspected) if method == "nvme-format" else ""


def _nvme_obstacle(inspected: Watch) -> str:
    device = inspected.before[0]
    controller = controller_of(device)
    if controller is None:
        return "the target is no NVMe drive, or could not be asked"
    if not controller.formats:
        return "the drive does not know the command"
    alone = any(check.name == "namespaces" and check.ok and "only one" in check.detail for check in inspected.checks)
    if _formats_all(device) and not alone:
        return "the drive formats all of its namespaces at once, and it is not known to have only this one"
    return ""


def _formats_all(device: Device) -> bool:
    """Whether a format or its erase concerns every namespace of the drive."""
    controller = controller_of(device)
    return controller is None or controller.formats_all or controller.erases_all
