"""Parse the output of the `guard` kernel: checks of targets, refusals and transfer rates. This module performs no
I/O."""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, field
from typing import Final, NamedTuple, TypeGuard

from asct.diagnostics.model import Diagnostic
from asct.instruments.guard_output import GuardTarget, TargetCheck, check_of, device_of
from asct.sdk.guard import Target
from asct.values.strict_json import DECODER
from asct.values.text import printable

REFUSED_STATUS: Final = 4
"""Guard's exit status if a target does not pass a check."""
_REFUSAL: Final = re.compile(r"refused: (?P<name>[a-z-]+): (?P<why>.*)", re.DOTALL)
REQUIRED: Final = frozenset(
    {"identity", "kind", "serial", "read-only", "mounted", "system", "swap", "holders", "exclusive", "signature"}
)
"""The checks that must have a result before asct writes to a device, even if the installed guard version does not
report them all."""


@dataclass(slots=True)
class GuardReport:
    """The parsed output from guard, and every reason for refusing to write. `error` is the message in the `end` line of
    the output."""

    devices: list[GuardTarget] = field(default_factory=list)
    checks: list[TargetCheck] = field(default_factory=list)
    error: str | None = None
    ended: bool = False
    refusals: list[Diagnostic] = field(default_factory=list)


def inspection_result(
    host: str, targets: Sequence[Target], status: int | None, stdout: str, stderr: str = ""
) -> GuardReport:
    """Evaluate guard's output for `targets`.

    If the output is complete and every target to be written passed every check, the result contains no refusals.
    Otherwise, it contains all refusals, not just the first one.
    """
    try:
        report = parse_report(stdout)
    except ValueError as error:
        return GuardReport(refusals=[unchecked(host, f"{error}{_last(stderr)}")])
    paths = dict.fromkeys(target.path for target in targets if target.access == "write")
    failed = [check for check in report.checks if check.ok is not True and check.path in paths]
    report.refusals = [refused_check(host, check) for check in failed]
    if not failed and status == REFUSED_STATUS and (found := _refusal(host, report)) is not None:
        report.refusals = [found]
    if not report.refusals:
        report.refusals = [unchecked(host, why) for why in _gaps(report, paths, status, stderr)]
    return report


def refusal(host: str, stdout: str) -> Diagnostic | None:
    """Return the refusal for the failed check that kept guard from starting its program.

    Returns None if guard did not start its program for a different reason, or if the output cannot be parsed.
    """
    try:
        return _refusal(host, parse_report(stdout))
    except ValueError:
        return None


def _refusal(host: str, report: GuardReport) -> Diagnostic | None:
    """Return the refusal, or None if guard does not report a failed check as the reason.

    The `end` line contains the check name ("refused: mounted: ..."), and the line for that check contains the target.
    """
    found = _REFUSAL.fullmatch(report.error or "")
    if found is None:
        return None
    failed = [check for check in report.checks if check.name == found["name"] and check.ok is not True]
    return refused_check(host, failed[0] if failed else TargetCheck("the target", found["name"], False, found["why"]))


def _gaps(report: GuardReport, paths: Collection[str], status: int | None, stderr: str) -> list[str]:
    """Describe what is missing from output that contains no failed check."""
    if status is None:
        return ["the checks reached their time limit"]
    if not report.ended:
        return [f"the output of the checks is incomplete (exit status {status}){_last(stderr)}"]
    if status != 0 or report.error is not None:
        return [f"the checks failed with exit status {status}: {report.error or 'no reason given'}{_last(stderr)}"]
    gaps = []
    for path in paths:
        checked = {check.name for check in report.checks if check.path == path}
        if missing := sorted(REQUIRED - checked):
            gaps.append(f"the results of these checks on {path} are missing: {', '.join(missing)}")
    return gaps


def parse_report(stdout: str) -> GuardReport:
    """Parse guard's output up to the point where it starts its program. Raises ValueError if a line is invalid."""
    report = GuardReport()
    for number, line in enumerate(stdout.split("\n"), start=1):
        if not line.strip():
            continue
        try:
            body = DECODER.decode(line)
            kind = body["t"]
            if kind == "check":
                report.checks.append(check_of(body))
            elif kind == "device":
                report.devices.append(device_of(body))
            elif kind == "end":
                report.ended = True
                report.error = None if body["ok"] is True else str(body.get("error", "no reason given"))
        except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
            raise ValueError(f"line {number} in the output of the checks is invalid: {line[:80]!r}") from None
    return report


def _last(stderr: str) -> str:
    lines = [line.strip() for line in stderr.splitlines() if line.strip()]
    return f"; last line of stderr: {lines[-1]}" if lines else ""


class FailedCheckText(NamedTuple):
    """The error code and the hint for a failed check."""

    code: str
    hint: str


_HINTS: Final = {
    "E440": {
        "identity": "`asct doctor` lists the host's devices under the names that a plan may use; create the file, "
        "or omit `file_names` to use a temporary one",
        "kind": "specify a whole disk, a partition or a regular file",
        "serial": "compare the serial number in `safety.destroys` with the one that `asct doctor` shows",
        "size": "check that the drive responds and that its medium is inserted",
    },
    "E441": {
        "read-only": "remove the write protection (`blockdev --setrw`, a switch), or use another drive",
        "removable": "use a built-in drive, or measure a file on this one; if you do not need its content, "
        "set `overwrite: true` for it in `safety.destroys`",
        "namespaces": "a purge would also erase the drive's other namespaces: delete them first, or omit the purge",
    },
    "E442": {
        "mounted": "unmount the drive if it is the one to be overwritten",
        "system": "use another drive, because this one contains the system, asct or the work folder",
        "swap": "disable swap on the drive (`swapoff`) if it is the one to be overwritten",
        "holders": "remove the devices built on it (`vgchange -an`, `dmsetup remove`, `losetup -d`)",
        "raid": "stop the array (`mdadm --stop`) and remove this drive from it",
        "open-elsewhere": "stop the program that has the drive open",
        "exclusive": "stop the program that uses the drive, or run asct under an account that may open it",
        "multipath": "keep only one path to the content of the drive: remove the drive from the multipath map, or "
        "detach the second loop device",
        "reserved": "release the reservation on the host that holds it",
    },
    "E443": {
        "signature": "if you do not need the content of the device, set `overwrite: true` for it in "
        "`safety.destroys`, or run `wipefs -a`",
        "data": "if you do not need the content of the device, set `overwrite: true` for it in `safety.destroys`",
    },
}
CHECKS: Final = {name: FailedCheckText(code, hint) for code, hints in _HINTS.items() for name, hint in hints.items()}
"""Maps each check in guard's output to its error code and hint."""

UNREADABLE: Final = FailedCheckText(
    "E444", "run asct as root, or allow the account to read the device; asct writes only to devices that it can check"
)
UNCHECKED: Final = FailedCheckText("E445", "see the output of the checks; asct writes only to devices that passed them")
VOLUME: Final = FailedCheckText(
    "E446",
    "reduce the amount written (fewer or shorter points), or raise `safety.max_written` and apply the plan again",
)
REFUSED: Final = frozenset({"E430", "E431", "E440", "E441", "E442", "E443", "E444", "E445", "E446"})
"""The error codes that make a run exit with code 4."""

_LONGEST: Final = 300


def is_refusal(diagnostic: Diagnostic | None) -> TypeGuard[Diagnostic]:
    """Return whether the diagnostic is a refusal to use a target for safety reasons."""
    return diagnostic is not None and diagnostic.code in REFUSED


def one_line(text: str) -> str:
    """Return text from a host as a single line of limited length, without control characters."""
    return printable(text, _LONGEST)


def refused_check(host: str, check: TargetCheck) -> Diagnostic:
    """Return the refusal for a check that failed."""
    description = CHECKS.get(check.name, UNCHECKED)
    if check.ok is None:
        description, outcome = UNREADABLE, "could not be completed"
    else:
        outcome = "failed"
    why = f": {one_line(check.detail)}" if check.detail else ""
    message = f"host {host}: refused to use {one_line(check.path)}: check `{check.name}` {outcome}{why}"
    return Diagnostic(description.code, message, hint=description.hint)


def unchecked(host: str, why: str) -> Diagnostic:
    """Return the refusal for targets whose checks could not be performed. Without the results of the checks, nothing is
    written."""
    message = f"host {host}: cannot check its devices: {one_line(why)}"
    return Diagnostic(UNCHECKED.code, message, hint=UNCHECKED.hint)


_SAMPLE: Final = '{"t":"sample"'
_EVERY_S: Final = 1.0
_COUNTERS: Final = 4

Rates = tuple[float, float, float, float]
"""Reads, bytes read, writes and bytes written, all per second."""
_Sample = tuple[int, list[list[int] | None]]


class RateFeed:
    """A listener for guard's output that computes the total rates of all drives and passes them to `emit` at most once
    per second."""

    def __init__(self, emit: Callable[[Rates], None]) -> None:
        self._emit = emit
        self._base: _Sample | None = None
        self._due = 0.0

    def __call__(self, line: str) -> None:
        """Process one line of output. Lines other than samples are ignored."""
        if not line.startswith(_SAMPLE) or time.monotonic() < self._due:
            return
        try:
            body = DECODER.decode(line)
            sample = (int(body["mono_ns"]), list(body["devices"]))
            rates = _between(self._base, sample) if self._base is not None else None
        except (ValueError, LookupError, TypeError, OverflowError):
            return
        self._base, self._due = sample, time.monotonic() + _EVERY_S
        if rates is not None:
            self._emit(rates)


def _between(before: _Sample, after: _Sample) -> Rates | None:
    """Return the rates between two samples, or None if no time has passed or no drives are known."""
    seconds = (after[0] - before[0]) / 1e9
    pairs = {
        (tuple(old[:_COUNTERS]), tuple(new[:_COUNTERS]))
        for old, new in zip(before[1], after[1], strict=True)
        if old is not None and new is not None
    }  # two targets on one drive have the same counters
    if seconds <= 0 or not pairs:
        return None
    reads, read_bytes, writes, write_bytes = (
        sum(max(0, new[place] - old[place]) for old, new in pairs) / seconds for place in range(_COUNTERS)
    )
    return reads, read_bytes, writes, write_bytes
