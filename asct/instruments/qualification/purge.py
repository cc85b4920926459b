"""The purge of a target: its steps and their results.

A command may report success without erasing anything. Therefore, asct then reads blocks throughout the active range.
The purge is verified if these blocks contain only zeros, or if the namespace has no used blocks.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Final

from asct.instruments.fio.params import FioParams
from asct.instruments.fio.process import PROGRAM_FILE, targets_of
from asct.instruments.guard_output import GuardOutput, GuardTarget, read_guard_output
from asct.instruments.nvme import controller_of, namespace_of
from asct.instruments.qualification.journal import StepJournal, fio_process
from asct.instruments.qualification.settings import MIB, Phase, PurgeMethod
from asct.sdk.benchmark import Context, Unsuitable
from asct.sdk.facts import HostFacts
from asct.sdk.guard import guarded, handle_path
from asct.sdk.step import Output, Step, Tool

# Every command opens the handle that guard has checked and holds. Options disable confirmations and exclusive opens,
# because guard has already taken care of both. Sources: NVM Express Base Specification 2.0c (Format NVM; Identify
# Controller OACS and FNA), ATA Command Set 3 (SECURITY ERASE UNIT), SCSI Primary and Block Commands (FORMAT UNIT,
# SANITIZE), and the manuals of nvme-cli, util-linux, hdparm and sg3_utils.

PATH: Final = handle_path(0)
PASSWORD: Final = "asct"  # noqa: S105 - no secret: it must be known to unlock a drive after a power failure
"""Password that is set on an ATA drive before the erase, which removes it. The README explains how to unlock a
drive."""
_FORMAT_LIMIT_MS: Final = 24 * 3600 * 1000
_USER: Final = ("--user-master", "u")


@dataclass(frozen=True, slots=True)
class PurgeCommand:
    """One command in a purge sequence. If its output contains `success_text`, the command succeeded, even if its exit
    status indicates an error.

    If `look` is set, the command only queries the drive. If `whole` is set, the command affects more than the target,
    so guard checks that nothing else is on the drive.
    """

    name: str
    tool: str
    arguments: tuple[str, ...]
    success_text: str = ""
    look: bool = False
    whole: bool = False


TOOLS: Final[dict[str, str]] = {
    "nvme-format": "nvme", "blkdiscard": "blkdiscard", "ata-erase": "hdparm", "sg-format": "sg_format",
    "sg-sanitize": "sg_sanitize",
}  # fmt: skip


def commands(method: str, device: GuardTarget, outputs: Sequence[str]) -> Sequence[PurgeCommand]:
    """Return all commands for a method, in order. `outputs` contains the output from each command that has finished."""
    if method == "nvme-format":
        return (PurgeCommand("format", "nvme", _nvme_format(device), "Success formatting", whole=_formats_all(device)),)
    if method == "ata-erase":
        return _ata_erase(outputs[0] if outputs else "")
    plain = {
        "blkdiscard": ("--force", PATH),
        "sg-format": ("--format", "--quick", "--wait", PATH),
        "sg-sanitize": ("--block", "--quick", "--wait", PATH),
    }
    return (PurgeCommand("run", TOOLS[method], plain[method], whole=method != "blkdiscard"),)


def _nvme_format(device: GuardTarget) -> tuple[str, ...]:
    """Return the arguments for a user data erase (SES 1) with the current format, because some versions of nvme-cli
    default to format 0."""
    namespace = namespace_of(device)
    format_option = () if namespace is None else (f"--lbaf={namespace.format_index}",)
    return ("format", PATH, "--ses=1", *format_option, f"--timeout={_FORMAT_LIMIT_MS}", "--force")


def _ata_erase(identity: str) -> tuple[PurgeCommand, ...]:
    enhanced = "supported: enhanced erase" in " ".join(identity.split())
    erase = "--security-erase-enhanced" if enhanced else "--security-erase"
    return (
        PurgeCommand("look", "hdparm", ("-I", PATH), look=True),
        PurgeCommand("password", "hdparm", (*_USER, "--security-set-pass", PASSWORD, PATH), whole=True),
        PurgeCommand("erase", "hdparm", (*_USER, erase, PASSWORD, PATH), whole=True),
        PurgeCommand("look-after", "hdparm", ("-I", PATH), look=True),
    )


def unlock() -> PurgeCommand:
    """Return the command that removes the drive's password after a failed erase."""
    return PurgeCommand("unlock", "hdparm", (*_USER, "--security-disable", PASSWORD, PATH))


def ata_obstacle(identity: str) -> str:
    """Return the reason why the drive cannot be erased, according to `hdparm -I`, or an empty string if it can."""
    section = re.search(r"^Security:(.*?)(?=^\S|\Z)", identity, re.MULTILINE | re.DOTALL)
    lines = [" ".join(line.split()) for line in (section.group(1) if section else "").splitlines()]
    if "supported" not in lines:
        return "the drive does not support security erase"
    if "frozen" in lines:
        return "the firmware has frozen the drive's security settings: suspend and resume the host, then try again"
    if "enabled" in lines or "locked" in lines:
        return "the drive has a password: remove it first"
    return ""


def candidates(purge: PurgeMethod, inspected: GuardOutput, facts: HostFacts) -> tuple[str, ...]:
    """Return the methods to try, in order. `auto` excludes methods that can leave a drive locked or partly formatted.

    Raises Unsuitable if the requested method cannot be used on this target.
    """
    if purge == "none" or (purge == "auto" and inspected.before[0].scalar("kind") != "block"):
        return ()
    if purge != "auto":
        reason = obstacle(purge, inspected, facts)
        if reason:
            raise Unsuitable(f"purge {purge}: {reason}; set `purge` to `auto` or `none`")
        return (purge,)
    return tuple(method for method in ("nvme-format", "blkdiscard") if not obstacle(method, inspected, facts))


def obstacle(method: str, inspected: GuardOutput, facts: HostFacts) -> str:
    """Return the reason why a method cannot be used, or an empty string if none is known."""
    device = inspected.before[0]
    if device.scalar("kind") != "block":
        return "the target is a file"
    if TOOLS[method] not in facts.tools:
        return f"the host has no {TOOLS[method]}"
    if method == "blkdiscard":
        return "the device does not support discard" if device.scalar("discard_max_bytes") == 0 else ""
    if device.scalar("partition"):
        return "the target is a partition, but the purge would erase the whole drive"
    return _nvme_obstacle(inspected) if method == "nvme-format" else ""


def _nvme_obstacle(inspected: GuardOutput) -> str:
    device = inspected.before[0]
    controller = controller_of(device)
    if controller is None:
        return "the target is not an NVMe drive, or could not be queried"
    if not controller.formats:
        return "the drive does not support Format NVM"
    namespaces = (check for check in inspected.checks if check.name == "namespaces" and check.ok)
    alone = any("only namespace" in check.detail for check in namespaces)
    if _formats_all(device) and not alone:
        return "the drive formats all namespaces at once and may have other namespaces"
    return ""


def _formats_all(device: GuardTarget) -> bool:
    """Return whether a format or erase affects every namespace of the drive."""
    controller = controller_of(device)
    return controller is None or controller.formats_all


NOT_PURGED: Final = "not-purged"
UNVERIFIED: Final = "purge-unverified"
_SAMPLED: Final = 4 * MIB
_SAMPLE_LIMIT_S: Final = 120.0
_ENV: Final = {"LC_ALL": "C"}


@dataclass(frozen=True, slots=True)
class Purge:
    """The result of a purge: the `method` that succeeded (empty if none did), and the reason why each of the `tried`
    methods failed."""

    method: str
    verified: bool = False
    tried: tuple[str, ...] = ()

    @property
    def flags(self) -> tuple[str, ...]:
        """The flags that the purge adds to every value of the phase."""
        if not self.method:
            return (NOT_PURGED,)
        return () if self.verified else (UNVERIFIED,)


def purge_steps(journal: StepJournal, phase: Phase, context: Context) -> Sequence[Step]:
    """Return the next command, or the step that checks the result, or an empty sequence if the purge is complete."""
    drives = _drives(journal, phase)
    for drive in drives:
        found = drive.next_command()
        if found is not None:
            return [_step(drive, *found, context)]
    name = f"{phase.name}purge-check"
    if journal.has(name) or not all(drive.method for drive in drives):
        return []
    return [fio_process(_sample(journal), context, name)]


def purge_of(journal: StepJournal, phase: Phase) -> Purge:
    """Return the result of the purge according to its finished steps. A RAID set is purged if all of its members
    are."""
    drives = _drives(journal, phase)
    tried = tuple(f"{drive.title}{method}: {reason}" for drive in drives for method, reason in drive.failures)
    if not all(drive.method for drive in drives):
        return Purge("", tried=tried)
    check = journal.outputs.get(f"{phase.name}purge-check")
    verified = check is not None and read_guard_output(check).status == 0
    methods = ", ".join(dict.fromkeys(drive.method for drive in drives))
    return Purge(methods, verified or all(drive.is_unused() for drive in drives), tried)


def _drives(journal: StepJournal, phase: Phase) -> list[_DrivePurge]:
    return [_DrivePurge(journal, phase, index) for index in range(len(journal.inspected.drives))]


@dataclass(frozen=True, slots=True)
class _DrivePurge:
    """The purge progress of one drive (the target or a member of a RAID set), based on the finished steps."""

    journal: StepJournal
    phase: Phase
    index: int

    @property
    def device(self) -> GuardTarget:
        """The drive, as described by the inspection."""
        return self.journal.inspected.drives[self.index]

    @property
    def title(self) -> str:
        """A prefix for messages: the drive's path if it is a member of a RAID set, otherwise an empty string."""
        return f"{self.device.path}: " if self.journal.inspected.members_before else ""

    def methods(self) -> tuple[str, ...]:
        """Return the methods to try, in order. Raises Unsuitable in the same cases as `candidates`."""
        inspected, path = self.journal.inspected, self.device.path
        checks = tuple(check for check in inspected.checks if check.path == path)
        own = replace(inspected, before=(self.device,), checks=checks)
        return candidates(self.journal.params.purge, own, self.journal.facts)

    @property
    def method(self) -> str:
        """The method that succeeded, or an empty string if none has."""
        return next((method for method in self.methods() if not self._failure(method)), "")

    @property
    def failures(self) -> list[tuple[str, str]]:
        """The methods that failed before one succeeded, each with the reason."""
        found = []
        for method in self.methods():
            reason = self._failure(method)
            if not reason:
                break
            found.append((method, reason))
        return found

    def next_command(self) -> tuple[str, PurgeCommand] | None:
        """Return the next command with its method, or None if the purge of the drive is complete."""
        for method in self.methods():
            command = self._pending(method)
            if command is not None:
                return method, command
            if not self._failure(method):
                return None
        return None

    def is_unused(self) -> bool:
        """Return whether the drive reports no used blocks after the last command."""
        last = self._commands(self.method)[-1]
        after = read_guard_output(self.journal.outputs[self.step_name(self.method, last)]).after
        namespaces = [namespace_of(device) for device in after]
        return bool(namespaces) and all(one is not None and one.used_blocks == 0 for one in namespaces)

    def step_name(self, method: str, command: PurgeCommand) -> str:
        """Return the name of the step that runs a command. For a RAID set, the name ends with the member number."""
        member = f"-{self.index + 1}" if self.journal.inspected.members_before else ""
        return f"{self.phase.name}purge-{method}-{command.name}{member}"

    def _output(self, method: str, command: PurgeCommand) -> Output | None:
        return self.journal.outputs.get(self.step_name(method, command))

    def _pending(self, method: str) -> PurgeCommand | None:
        """Return the next command for a method, or None if the method is complete or has failed."""
        for command in self._commands(method):
            output = self._output(method, command)
            if output is None:
                return command
            if _refused(command, output):
                last = unlock() if command.name == "erase" else None
                return None if last is None or self._output(method, last) is not None else last
        return None

    def _commands(self, method: str) -> Sequence[PurgeCommand]:
        output = self._output(method, commands(method, self.device, ())[0])
        return commands(method, self.device, () if output is None else (_program_stdout(output),))

    def _failure(self, method: str) -> str:
        """Return the reason why a method did not succeed, or an empty string if it did."""
        for command in self._commands(method):
            output = self._output(method, command)
            reason = "was not run" if output is None else _refused(command, output)
            if reason:
                return reason
        return ""


def _refused(command: PurgeCommand, output: Output) -> str:
    """Return the reason why a command failed, or an empty string if it succeeded."""
    guard, stdout = read_guard_output(output), _program_stdout(output)
    if guard.status != 0 and not (command.success_text and command.success_text in stdout):
        line = next((text.strip() for text in (*output.stderr.splitlines(), *stdout.splitlines()) if text.strip()), "")
        return f"{command.tool} failed with status {guard.status}: {line or 'no message'}"
    return ata_obstacle(stdout) if command.look else ""


def _program_stdout(output: Output) -> str:
    return output.files.get(PROGRAM_FILE, "")


def _step(drive: _DrivePurge, method: str, command: PurgeCommand, context: Context) -> Step:
    """Return the step that runs a command. The drive is its only target."""
    journal = drive.journal
    params = journal.params.fio(MIB, rw="randwrite")
    target = targets_of(params, context, dirty=journal.dirty(context))[drive.index]
    name = drive.step_name(method, command)
    step = Step(name, Tool(command.tool), command.arguments, collect=(PROGRAM_FILE,), env=_ENV)
    return guarded(step, journal.facts.tools[command.tool].path, [target], whole_drive=command.whole)


def _sample(journal: StepJournal) -> FioParams:
    """Return the settings for a process that compares random blocks of the active range with zeros and stops at the
    first difference."""
    return journal.params.fio(
        journal.span,
        rw="randread",
        block_size=max(4096, journal.logical_block),
        io_size=_SAMPLED,
        duration=_SAMPLE_LIMIT_S,
        numjobs=1,
        iodepth=1,
        engine="psync",
        refill_buffers=None,
        verify="pattern",
        verify_pattern="0x00",
    )
