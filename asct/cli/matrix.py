"""The matrix of hosts and benchmarks on the terminal: words where they fit, else a letter for each cell."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final

from rich.text import Text

from asct.analysis.outcomes import HostRow, JobOutcome, OutcomeMatrix, short_names
from asct.cli.words import counted

MOST_ROWS: Final = 20
"""Rows shown; the worst come first."""
_LETTERS: Final = {
    "ok": ".", "noisy": "n", "failed": "F", "timeout": "T", "host-lost": "L", "interrupted": "I", "skipped": "s",
    "refused": "R",
}  # fmt: skip
_STYLES: Final = {"good": "green", "doubt": "yellow", "bad": "red"}
_LONGEST_NAMES: Final = 32


def matrix_lines(found: OutcomeMatrix, width: int) -> list[Text]:
    """The lines of the matrix, none wider than `width` unless a single name is."""
    rows = found.rows[:MOST_ROWS]
    labels = [_label(row) for row in rows]
    first = max([4, *map(len, labels)])
    sizes = [
        max([len(name), *(len(_text(row.outcomes[place])) for row in rows)]) for place, name in enumerate(found.ids)
    ]
    if first + sum(size + 2 for size in sizes) <= width:
        lines = [_line("host", first, found.ids, sizes)]
        for label, row in zip(labels, rows, strict=True):
            lines.append(_cells(label, first, row.outcomes, sizes, letters=False))
    else:
        lines = list(_by_letters(found.ids, rows, labels, first, width))
    return [*lines, *left_out(sum(len(row.hosts) for row in found.rows[MOST_ROWS:]))]


def left_out(hosts: int) -> list[Text]:
    """The line that tells of hosts in rows that are not shown, if there are any."""
    return [Text(f"and {counted(hosts, 'host')} more that went better; the reports show all")] if hosts else []


def short_label(names: Sequence[str]) -> str:
    """Hosts in a few words: as ranges if that is short, else the first of them and how many there are."""
    label = short_names(names)
    return label if len(label) <= _LONGEST_NAMES or len(names) == 1 else f"{names[0]} and {len(names) - 1} more"


def _by_letters(
    ids: Sequence[str], rows: Sequence[HostRow], labels: Sequence[str], first: int, width: int
) -> Iterator[Text]:
    """Numbers for the benchmarks and letters for what happened, then what they stand for."""
    size = len(str(len(ids)))
    room = max(1, (width - first) // (size + 1))
    for start in range(0, len(ids), room):
        part = range(start, min(start + room, len(ids)))
        sizes = [size] * len(part)
        yield _line("host", first, [str(place + 1) for place in part], sizes, gap=1)
        for label, row in zip(labels, rows, strict=True):
            yield _cells(label, first, [row.outcomes[place] for place in part], sizes, letters=True)
    for place, name in enumerate(ids):
        yield Text(f"{place + 1:>{first}} {name}")
    seen = {item.status for row in rows for item in row.outcomes if item is not None}
    yield Text(", ".join(f"{letter} {status}" for status, letter in _LETTERS.items() if status in seen))


def _line(head: str, first: int, names: Sequence[str], sizes: Sequence[int], gap: int = 2) -> Text:
    cells = "".join(" " * gap + name.ljust(size) for name, size in zip(names, sizes, strict=True))
    return Text((head.ljust(first) + cells).rstrip(), style="bold")


def _cells(
    label: str, first: int, outcomes: Sequence[JobOutcome | None], sizes: Sequence[int], *, letters: bool
) -> Text:
    line = Text(label.ljust(first))
    for item, size in zip(outcomes, sizes, strict=True):
        text = "" if item is None and letters else _LETTERS[item.status] if item and letters else _text(item)
        style = _STYLES.get(item.tone, "") if item is not None else "dim"
        line.append(" " if letters else "  ").append(text.ljust(size), style=style)
    line.rstrip()
    return line


def _text(item: JobOutcome | None) -> str:
    return "-" if item is None else item.text


def _label(row: HostRow) -> str:
    label = short_label(row.hosts)
    return label if row.state == "ok" else f"{label}: {row.state}"
