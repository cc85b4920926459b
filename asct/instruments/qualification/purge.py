"""The purge of a target: its steps, and what is known of its success.

A command that ends well may have done nothing. So blocks all over the active range are read back afterwards: zeros, or
a namespace that holds no block in use, verify the purge.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Final

from asct.instruments.fio.params import FioParams
from asct.instruments.fio.process import PROGRAM_FILE, targets_of
from asct.instruments.nvme import namespace_of
from asct.instruments.qualification.journal import Journal, fio_process
from asct.instruments.qualification.methods import Command, ata_obstacle, candidates, commands, unlock
from asct.instruments.qualification.phase import Phase
from asct.instruments.qualification.settings import MIB
from asct.instruments.watch import Watch, read_watch
from asct.sdk.benchmark import Context
from asct.sdk.guard import guarded
from asct.sdk.step import Output, Step, Tool

NOT_PURGED: Final = "not-purged"
UNVERIFIED: Final = "purge-unverified"
_SAMPLED: Final = 4 * MIB
_SAMPLE_LIMIT_S: Final = 120.0
_ENV: Final = {"LC_ALL": "C"}


@dataclass(frozen=True, slots=True)
class Purge:
    """`method` is what succeeded (empty: nothing did); `tried` says of each one that failed why."""

    method: str
    verified: bool = False
    tried: tuple[str, ...] = ()

    @property
    def flags(self) -> tuple[str, ...]:
        """For every value of the phase."""
        if not self.method:
            return (NOT_PURGED,)
        return () if self.verified else (UNVERIFIED,)


def purge_steps(journal: Journal, phase: Phase, context: Context) -> Sequence[Step]:
    """The next command, or the look at the outcome; nothing when there is no more to do."""
    for method in candidates(journal.params.purge, journal.inspected, journal.facts):
        command = _pending(journal, phase, method)
        if command is not None:
            return [_step(journal, phase, method, command, context)]
        if not _failure(journal, phase, method):
            name = _check_name(phase)
            return [] if journal.has(name) else [fio_process(_sample(journal), context, name)]
    return []


def purge_of(journal: Journal, phase: Phase) -> Purge:
    """What the finished steps of the purge say."""
    tried: list[str] = []
    for method in candidates(journal.params.purge, journal.inspected, journal.facts):
        reason = _failure(journal, phase, method)
        if not reason:
            return Purge(method, _verified(journal, phase, method), tuple(tried))
        tried.append(f"{method}: {reason}")
    return Purge("", tried=tuple(tried))


def _pending(journal: Journal, phase: Phase, method: str) -> Command | None:
    """The command of a method that comes next; None when it is through or has failed."""
    for command in _commands(journal, phase, method):
        output = journal.outputs.get(_name(phase, method, command))
        if output is None:
            return command
        if _refused(command, output):
            last = unlock() if command.name == "erase" else None
            return None if last is None or journal.has(_name(phase, method, last)) else last
    return None


def _commands(journal: Journal, phase: Phase, method: str) -> Sequence[Command]:
    first = commands(method, journal.device, ())[0]
    output = journal.outputs.get(_name(phase, method, first))
    return commands(method, journal.device, () if output is None else (_said(output),))


def _failure(journal: Journal, phase: Phase, method: str) -> str:
    """Why a method did not succeed; empty if it did, or has not been tried to its end."""
    for command in _commands(journal, phase, method):
        output = journal.outputs.get(_name(phase, method, command))
        reason = "was not run" if output is None else _refused(command, output)
        if reason:
            return reason
    return ""


def _refused(command: Command, output: Output) -> str:
    """Why a command failed; empty if it did what it should."""
    watch, said = read_watch(output), _said(output)
    if watch.status != 0 and not (command.said and command.said in said):
        line = next((text.strip() for text in (*output.stderr.splitlines(), *said.splitlines()) if text.strip()), "")
        return f"{command.tool} ended with status {watch.status}: {line or 'it said nothing'}"
    return ata_obstacle(said) if command.look else ""


def _said(output: Output) -> str:
    return output.files.get(PROGRAM_FILE, "")


def _name(phase: Phase, method: str, command: Command) -> str:
    return f"{phase.name}purge-{method}-{command.name}"


def _check_name(phase: Phase) -> str:
    return f"{phase.name}purge-check"


def _step(journal: Journal, phase: Phase, method: str, command: Command, context: Context) -> Step:
    params = journal.params.fio(MIB, rw="randwrite")
    targets = targets_of(params, context, dirty=journal.dirty(context))
    name = _name(phase, method, command)
    step = Step(name, Tool(command.tool), command.arguments, collect=(PROGRAM_FILE,), env=_ENV)
    step = guarded(step, journal.facts.tools[command.tool].path, targets)
    return replace(step, arguments=("--whole-drive", "1", *step.arguments)) if command.whole else step


def _sample(journal: Journal) -> FioParams:
    """Random blocks of the active range, each compared with zeros; the process ends at the first that differs."""
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


def _verified(journal: Journal, phase: Phase, method: str) -> bool:
    """Zeros everywhere, or no block in use by the drive's own count."""
    check = journal.outputs.get(_check_name(phase))
    if check is not None and read_watch(check).status == 0:
        return True
    last = _commands(journal, phase, method)[-1]
    return _unused(read_watch(journal.outputs[_name(phase, method, last)]))


def _unused(watch: Watch) -> bool:
    namespaces = [namespace_of(device) for device in watch.after]
    return bool(namespaces) and all(one is not None and one.used_blocks == 0 for one in namespaces)
