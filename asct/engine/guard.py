"""Reads the output of the kernel guard: checks of targets, refusals, transfer rates. Pure."""

from __future__ import annotations

import json
import re
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Final, TypeGuard

from asct.diagnostics.model import Diagnostic
from asct.instruments.guard_output import GuardTarget, TargetCheck, check_of, device_of
from asct.sdk.guard import Target

REFUSED_STATUS: Final = 4
"""Exit status of guard when a check did not pass."""
_REFUSAL: Final = re.compile(r"refused: (?P<name>[a-z-]+): (?P<why>.*)", re.DOTALL)
REQUIRED: Final = frozenset(
    {"identity", "kind", "serial", "read-only", "mounted", "system", "swap", "holders", "exclusive", "signature"}
)
"""Checks without which no device is written, should a guard ever leave one out."""


@dataclass(frozen=True, slots=True)
class Inspection:
    """What was found, as it was said, and every reason not to go on."""

    devices: tuple[GuardTarget, ...] = ()
    checks: tuple[TargetCheck, ...] = ()
    refusals: tuple[Diagnostic, ...] = ()


@dataclass(slots=True)
class GuardReport:
    """The lines of guard that matter here. `error` is that of the last one, None while there is no last one."""

    devices: list[GuardTarget] = field(default_factory=list)
    checks: list[TargetCheck] = field(default_factory=list)
    error: str | None = None
    ended: bool = False


def inspection_result(
    host: str, targets: Sequence[Target], status: int | None, stdout: str, stderr: str = ""
) -> Inspection:
    """The outcome of guard over `targets`. Anything but a whole stream in which each written target passed every check
    is a refusal; all of them are told, not just the first."""
    try:
        said = parse_report(stdout)
    except ValueError as error:
        return Inspection(refusals=(unchecked(host, f"{error}{_last(stderr)}"),))
    refusals = [
        refused_check(host, check) for check in said.checks if check.ok is not True and _written(check, targets)
    ]
    if not refusals and status == REFUSED_STATUS and (found := _refusal(host, said)) is not None:
        refusals.append(found)
    if not refusals:
        refusals += [unchecked(host, why) for why in _gaps(said, targets, status, stderr)]
    return Inspection(tuple(said.devices), tuple(said.checks), tuple(refusals))


def refusal(host: str, stdout: str) -> Diagnostic | None:
    """Why guard did not start its program; None when it was not for a check."""
    try:
        return _refusal(host, parse_report(stdout))
    except ValueError:
        return None


def _refusal(host: str, said: GuardReport) -> Diagnostic | None:
    """Its last line names the check ("refused: mounted: ..."), the line of the check its target."""
    found = _REFUSAL.fullmatch(said.error or "")
    if found is None:
        return None
    failed = [check for check in said.checks if check.name == found["name"] and check.ok is not True]
    return refused_check(host, failed[0] if failed else TargetCheck("the target", found["name"], False, found["why"]))


def _written(check: TargetCheck, targets: Sequence[Target]) -> bool:
    return any(target.path == check.path and target.access == "write" for target in targets)


def _gaps(said: GuardReport, targets: Sequence[Target], status: int | None, stderr: str) -> list[str]:
    """What is missing from a stream without a failed check."""
    if status is None:
        return ["the checks did not end in time"]
    if not said.ended:
        return [f"the output of the checks is cut off (status {status}){_last(stderr)}"]
    if status != 0 or said.error is not None:
        return [f"the checks ended with status {status}: {said.error or 'no reason was given'}{_last(stderr)}"]
    gaps = []
    for target in targets:
        seen = {check.name for check in said.checks if check.path == target.path}
        if target.access == "write" and (missing := sorted(REQUIRED - seen)):
            gaps.append(f"nothing was said of {', '.join(missing)} of {target.path}")
    return gaps


def parse_report(stdout: str) -> GuardReport:
    """The lines of guard before any program runs below it. Raises ValueError for what it does not write."""
    said = GuardReport()
    for number, line in enumerate(stdout.split("\n"), start=1):
        if not line.strip():
            continue
        try:
            body = json.loads(line)
            kind = body["t"]
            if kind == "check":
                said.checks.append(check_of(body))
            elif kind == "device":
                said.devices.append(device_of(body))
            elif kind == "end":
                said.ended = True
                said.error = None if body["ok"] is True else str(body.get("error", "no reason was given"))
        except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
            raise ValueError(f"line {number} of the checks is not one of theirs: {line[:80]!r}") from None
    return said


def _last(stderr: str) -> str:
    lines = [line.strip() for line in stderr.splitlines() if line.strip()]
    return f"; it wrote: {lines[-1]}" if lines else ""


@dataclass(frozen=True, slots=True)
class FailedCheckText:
    """What a failed check is called and what may be done about it."""

    code: str
    hint: str


_UNMOUNT: Final = "unmount it, if it is the drive that is meant to be destroyed"
CHECKS: Final[dict[str, FailedCheckText]] = {
    "identity": FailedCheckText(
        "E440",
        "`asct doctor` lists the devices of the host as they are named in a plan; a file is measured if it is there "
        "already, and without `file_names` asct makes its own",
    ),
    "kind": FailedCheckText("E440", "name a whole disk, a partition or a regular file"),
    "serial": FailedCheckText("E440", "compare the serial in `safety.destroys` with the one that `asct doctor` shows"),
    "size": FailedCheckText("E440", "see whether a medium is in the drive, and whether it answers"),
    "read-only": FailedCheckText(
        "E441", "take its write protection away (`blockdev --setrw`, a switch), or take another"
    ),
    "removable": FailedCheckText("E441", "take a drive that is built in, or measure a file on this one"),
    "mounted": FailedCheckText("E442", _UNMOUNT),
    "system": FailedCheckText("E442", "take another drive: this one carries the system, asct or the work folder"),
    "swap": FailedCheckText("E442", "switch the swap off (`swapoff`), if its drive is meant to be destroyed"),
    "holders": FailedCheckText(
        "E442", "take apart what is built on it (`vgchange -an`, `dmsetup remove`, `losetup -d`)"
    ),
    "raid": FailedCheckText("E442", "stop the array (`mdadm --stop`) and take the member out of it"),
    "open-elsewhere": FailedCheckText("E442", "end the program that holds it open"),
    "exclusive": FailedCheckText("E442", "end what uses it, or run under an account that may open it"),
    "multipath": FailedCheckText(
        "E442", "leave one way to its content: take it out of the multipath map, detach the second loop device"
    ),
    "reserved": FailedCheckText("E442", "release the reservation on the host that holds it"),
    "signature": FailedCheckText(
        "E443", "if its content may go: `overwrite: true` beside it in `safety.destroys`, or `wipefs -a`"
    ),
    "data": FailedCheckText("E443", "if its content may go: `overwrite: true` beside it in `safety.destroys`"),
    "namespaces": FailedCheckText(
        "E441", "a purge would wipe its other namespaces too: delete these first, or leave the purge out"
    ),
}
"""By the names that the kernel guard gives its checks."""

UNREADABLE: Final = FailedCheckText(
    "E444", "run as root, or give the account the right to read it; what is not known is not safe"
)
UNCHECKED: Final = FailedCheckText("E445", "see what the checks wrote; without them nothing is written to a device")
VOLUME: Final = FailedCheckText(
    "E446", "write less (fewer or shorter points), or raise `safety.max_written` and apply the plan anew"
)
REFUSED: Final = frozenset({"E430", "E431", "E440", "E441", "E442", "E443", "E444", "E445", "E446"})
"""Codes that end a run with exit code 4."""

_LONGEST: Final = 300


def is_refusal(diagnostic: Diagnostic | None) -> TypeGuard[Diagnostic]:
    """Whether it says that something was not touched for safety."""
    return diagnostic is not None and diagnostic.code in REFUSED


def one_line(text: str) -> str:
    """Words of a host in one line of bounded length, without control characters."""
    line = "".join(mark if mark.isprintable() else "\N{REPLACEMENT CHARACTER}" for mark in text[: _LONGEST + 1])
    return line if len(line) <= _LONGEST else line[:_LONGEST] + "..."


def refused_check(host: str, check: TargetCheck) -> Diagnostic:
    """The refusal that a check stands for which did not pass."""
    named = CHECKS.get(check.name, UNCHECKED)
    if check.ok is None:
        why = f"could not be checked: {one_line(check.detail)}" if check.detail else "could not be checked"
        named = UNREADABLE
    else:
        why = one_line(check.detail) or "did not pass"
    message = f"host {host}: {one_line(check.path)} is not touched: check `{check.name}`: {why}"
    return Diagnostic(named.code, message, hint=named.hint)


def unchecked(host: str, why: str) -> Diagnostic:
    """No check, no writing: the program that checks failed itself."""
    message = f"host {host}: its devices could not be checked: {one_line(why)}"
    return Diagnostic(UNCHECKED.code, message, hint=UNCHECKED.hint)


_SAMPLE: Final = '{"t":"sample"'
_EVERY_S: Final = 1.0
_COUNTERS: Final = 4

Rates = tuple[float, float, float, float]
"""Reads a second, bytes read a second, writes a second, bytes written a second."""
_Sample = tuple[int, list[list[int] | None]]


class RateFeed:
    """Hears guard's lines; `tell` hears the rates of all drives together, once a second at most."""

    def __init__(self, tell: Callable[[Rates], None]) -> None:
        self._tell = tell
        self._base: _Sample | None = None
        self._due = 0.0

    def __call__(self, line: str) -> None:
        """One line of guard's standard output; one that is no sample, or none that can be read, is passed over."""
        if not line.startswith(_SAMPLE) or time.monotonic() < self._due:
            return
        try:
            body = json.loads(line)
            sample = (int(body["mono_ns"]), list(body["devices"]))
            rates = _between(self._base, sample) if self._base is not None else None
        except (ValueError, LookupError, TypeError):
            return
        self._base, self._due = sample, time.monotonic() + _EVERY_S
        if rates is not None:
            self._tell(rates)


def _between(before: _Sample, after: _Sample) -> Rates | None:
    """The rates from one sample to the next; None without time between them, or without a drive that is known."""
    seconds = (after[0] - before[0]) / 1e9
    pairs = {
        (tuple(old[:_COUNTERS]), tuple(new[:_COUNTERS]))
        for old, new in zip(before[1], after[1], strict=True)
        if old is not None and new is not None
    }  # two targets on one drive have the same counters
    if seconds <= 0 or not pairs:
        return None
    reads, read_bytes, writes, written = (sum(_rise(pair, place) for pair in pairs) for place in range(_COUNTERS))
    return reads / seconds, read_bytes / seconds, writes / seconds, written / seconds


def _rise(pair: tuple[Sequence[int], Sequence[int]], place: int) -> int:
    return max(0, pair[1][place] - pair[0][place])
