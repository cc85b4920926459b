"""The condition of `asct diff --fail-on`, and the exit code that follows from it."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final

from asct.analysis.diff.build import Diff
from asct.analysis.grid import plain
from asct.diagnostics.model import Diagnostic, Span
from asct.errors import UsageError
from asct.values.grouping import shortened
from asct.values.text import counted

SMALLEST: Final = 0.01
"""The default limit, used without `--fail-on`. Smaller changes have the verdict `same`, however certain they are."""
OPTION: Final = "--fail-on"
_CONDITION: Final = re.compile(
    r"\s*(?P<what>[A-Za-z_-]*)\s*(?P<sign>[^\w\s.]*)\s*(?P<number>[^\s%]*)\s*(?P<unit>.*?)\s*"
)
_EXAMPLE: Final = 'write `regression>3%`, quoted (--fail-on "regression>3%")'
_UNLIKE: Final = "the comparison lists the reasons; compare runs of the same benchmarks on similar machines"
_FEWEST, _MOST = 0.0, 1000.0
_MOST_NAMED: Final = 6


def limit_of(text: str) -> float:
    """Return the limit in a condition as a fraction, such as 0.03 for `regression>3%`.

    Raises UsageError (E705) with the location of the first mistake.
    """
    found = _CONDITION.fullmatch(text)
    assert found is not None  # the pattern matches any text
    if found["what"] != "regression":
        raise _mistake(text, found.start("what"), found["what"], "the condition must begin with `regression`")
    if found["sign"] != ">":
        raise _mistake(text, found.start("sign"), found["sign"], "the comparison operator must be `>`")
    try:
        number = float(found["number"])
    except ValueError:
        raise _mistake(text, found.start("number"), found["number"], "not a number") from None
    if not _FEWEST <= number < _MOST:
        raise _mistake(text, found.start("number"), found["number"], "not a percentage from 0 to 1000")
    if found["unit"] != "%":
        raise _mistake(text, found.start("unit"), found["unit"], "the limit needs the unit `%`")
    return number / 100.0


def _mistake(text: str, start: int, part: str, label: str) -> UsageError:
    span = Span(OPTION, 1, start + 1, max(1, len(part)))
    return UsageError(Diagnostic("E705", f"`{text}` is not a condition for {OPTION}", span, label, hint=_EXAMPLE))


def doubts(diff: Diff, *, gated: bool) -> list[Diagnostic]:
    """Return the reasons (E706) why a comparison has no result, or why it cannot pass the gate. If there are any, the
    exit code does not show whether values regressed, so regressed values are named as well."""
    found = [*_doubts(diff, gated)]
    return [*found, *_regressed(diff)] if found and gated else found


def _doubts(diff: Diff, gated: bool) -> Iterator[Diagnostic]:
    for run in diff.runs:
        if not run.judged:
            message = f"no value of {run.run.name} can be compared with {diff.base.name}"
            yield Diagnostic("E706", message, hint=_UNLIKE)
        elif gated and run.undecided:
            message = f"{run.run.name}: a regression cannot be ruled out for {counted(run.undecided, 'value')}"
            hint = "measure more visits or repeats, or use -k to exclude values that cannot be compared"
            yield Diagnostic("E706", message, hint=hint)
        for gap in run.run.gaps if gated else ():
            message = f"{run.run.name} {gap}, so it cannot pass"
            yield Diagnostic("E706", message, hint="complete the run (`asct resume`), or compare a different run")


def _regressed(diff: Diff) -> Iterator[Diagnostic]:
    for run in diff.runs:
        rows = [row for row in run.rows if row.verdict == "regressed"]
        if rows:
            hosts = len(run.run.hosts) > 1
            names = [f"{row.name} on {plain(row.group.host)}" if hosts else row.name for row in rows]
            regressed = f"{counted(len(rows), 'value')} regressed: {shortened(names, _MOST_NAMED)}"
            hint = "the comparison shows by how much; `asct explain E706` describes the exit code"
            yield Diagnostic("E706", f"{run.run.name}: {regressed}", hint=hint)


def exit_code(diff: Diff, *, gated: bool) -> int:
    """Return the exit code of a comparison.

    It is 3 if no value of a run can be compared. Otherwise, without `--fail-on` (`gated` is False), it is 0. With
    `--fail-on`, it is 3 if a regression cannot be ruled out or a run is incomplete, otherwise 1 if a value has
    regressed, and otherwise 0.
    """
    if any(True for _ in _doubts(diff, gated)):
        return 3
    return int(gated and any(run.counts()["regressed"] for run in diff.runs))
