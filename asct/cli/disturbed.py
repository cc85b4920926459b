"""What disturbs a host, as lines for a terminal: findings with fix and undo, and what could not be judged."""

from __future__ import annotations

import textwrap
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Final

from rich.text import Text

from asct.cli.words import counted

if TYPE_CHECKING:
    from asct.doctor import HostReport
    from asct.sdk.disturbance import Disturbance, Unseen

_COLOURS: Final = {"certain": "yellow", "likely": "yellow", "possible": "cyan"}
_LABEL: Final = 10
_NARROWEST: Final = 40


def disturbed_lines(report: HostReport, width: int, *, whole: bool) -> Iterator[str | Text]:
    """All that there is to say; `whole` also of what does not touch the plan, and where it is known from."""
    touching = report.touching()
    rest = [item for item in report.findings if item not in touching]
    yield from _wrapped(_count(report, len(touching), len(rest)), "  ", width)
    for item in [*touching, *(rest if whole or report.subjects is None else [])]:
        yield ""
        yield from _finding(item, width, whole)
    if rest and not whole and report.subjects is not None:
        yield ""
        titles = ", ".join(item.title for item in rest)
        yield from _wrapped(f"not touching the plan (-v tells of them): {titles}", "  ", width)
    if report.unseen:
        yield ""
        yield from _unseen(report.unseen, width)


def _count(report: HostReport, number: int, others: int) -> str:
    what = "measurement" if report.subjects is None else "what the plan measures"
    count = f"{counted(number, 'thing')} {'disturbs' if number == 1 else 'disturb'} {what}" if number else ""
    more = f"{others} more {'does' if others == 1 else 'do'} not" if others else ""
    return "; ".join(text for text in (count or f"nothing was found that disturbs {what}", more) if text)


def _finding(item: Disturbance, width: int, whole: bool) -> Iterator[str | Text]:
    yield Text(f"  {item.title}", style=f"bold {_COLOURS[item.sure]}")
    rows = [("seen", item.seen), ("effect", item.effect), ("touches", item.touched)]
    rows += [(item.sure, item.why), *([("source", item.source)] if whole else [])]
    yield from _rows(rows, width)
    for label, lines in (("fix, as root", item.fix), ("undo, as root", item.undo)):
        if lines:
            yield f"    {label}"
            yield from (f"      {part}" for line in lines for part in folded(line, width - 6))
    yield from _rows([("note" if item.fix else "way out", item.advice)], width)


def _rows(rows: Iterable[tuple[str, str]], width: int) -> Iterator[str]:
    for label, text in rows:
        yield from _wrapped(text, f"    {label:<{_LABEL}}", width, " " * (4 + _LABEL)) if text else ()


def folded(line: str, width: int) -> list[str]:
    """A command on several lines that a shell takes for one, where it is too long; quoted text is left whole."""
    head, mark, rest = line.partition(" >")
    if len(line) <= width or not mark or "'" in line:
        return [line]
    indent = " " * (len(line) - len(line.lstrip()))
    return [f"{head} \\", f"{indent}  >{rest}"]


def _unseen(items: Iterable[Unseen], width: int) -> Iterator[str]:
    reasons: dict[str, list[str]] = {}
    for item in items:
        reasons.setdefault(item.why, []).append(item.what)
    yield "  could not be judged"
    for why, what in reasons.items():
        yield from _wrapped(f"{', '.join(what)}: {why}", "    ", width)


def _wrapped(text: str, first: str, width: int, rest: str = "") -> list[str]:
    return textwrap.wrap(
        text,
        max(width, _NARROWEST),
        initial_indent=first,
        subsequent_indent=rest or f"{first}  ",
        break_long_words=False,
        break_on_hyphens=False,
    )
