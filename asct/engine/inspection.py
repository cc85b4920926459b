"""What the kernel guard says of the targets of a job, and whether that lets them be written: pure."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Final

from asct.diagnostics.model import Diagnostic
from asct.engine.refusals import refused_check, unchecked
from asct.instruments.watch import Check, Device, check_of, device_of
from asct.sdk.guard import Target

REFUSED_STATUS: Final = 4
"""Exit status of guard when a check did not pass."""
_REFUSAL: Final = re.compile(r"refused: (?P<name>[a-z-]+): (?P<why>.*)", re.DOTALL)
REQUIRED: Final = frozenset(
    {"identity", "kind", "serial", "read-only", "mounted", "system", "swap", "holders", "exclusive", "signature"}
)
"""Checks without which no device is written, should a guard ever leave one out."""


@dataclass(frozen=True, slots=True)
class Inspected:
    """What was found, as it was said, and every reason not to go on."""

    devices: tuple[Device, ...] = ()
    checks: tuple[Check, ...] = ()
    refusals: tuple[Diagnostic, ...] = ()


@dataclass(slots=True)
class Said:
    """The lines of guard that matter here. `error` is that of the last one, None while there is no last one."""

    devices: list[Device] = field(default_factory=list)
    checks: list[Check] = field(default_factory=list)
    error: str | None = None
    ended: bool = False


def inspected(host: str, targets: Sequence[Target], status: int | None, stdout: str, stderr: str = "") -> Inspected:
    """The outcome of guard over `targets`. Anything but a whole stream in which each written target passed every check
    is a refusal; all of them are told, not just the first."""
    try:
        said = read(stdout)
    except ValueError as error:
        return Inspected(refusals=(unchecked(host, f"{error}{_last(stderr)}"),))
    refusals = [
        refused_check(host, check) for check in said.checks if check.ok is not True and _written(check, targets)
    ]
    if not refusals and status == REFUSED_STATUS and (found := _refusal(host, said)) is not None:
        refusals.append(found)
    if not refusals:
        refusals += [unchecked(host, why) for why in _gaps(said, targets, status, stderr)]
    return Inspected(tuple(said.devices), tuple(said.checks), tuple(refusals))


def refusal(host: str, stdout: str) -> Diagnostic | None:
    """Why guard did not start its program; None when it was not for a check."""
    try:
        return _refusal(host, read(stdout))
    except ValueError:
        return None


def _refusal(host: str, said: Said) -> Diagnostic | None:
    """Its last line names the check ("refused: mounted: ..."), the line of the check its target."""
    found = _REFUSAL.fullmatch(said.error or "")
    if found is None:
        return None
    failed = [check for check in said.checks if check.name == found["name"] and check.ok is not True]
    return refused_check(host, failed[0] if failed else Check("the target", found["name"], False, found["why"]))


def _written(check: Check, targets: Sequence[Target]) -> bool:
    return any(target.path == check.path and target.access == "write" for target in targets)


def _gaps(said: Said, targets: Sequence[Target], status: int | None, stderr: str) -> list[str]:
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


def read(stdout: str) -> Said:
    """The lines of guard before any program runs below it. Raises ValueError for what it does not write."""
    said = Said()
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
