"""The run summary on the terminal: a table of hosts and benchmarks if something is not ok, the verdicts, the key
results, and the report paths."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Final

from rich.text import Text

from asct.analysis.cause import Cause, first_cause
from asct.analysis.grid import Tone
from asct.analysis.outcomes import (
    TONES,
    HostRow,
    JobOutcome,
    OutcomeMatrix,
    matrix,
    refused_again,
    resumable,
    short_names,
)
from asct.analysis.report import build
from asct.analysis.verdict import summarize, word_of
from asct.cli.console import Console
from asct.cli.text import wrapped
from asct.diagnostics.wording import resume_command
from asct.export.stdout import result_lines, verdict_text
from asct.values.text import counted

if TYPE_CHECKING:
    from asct.analysis.view import RunView
    from asct.store.model import Run

MOST_ROWS: Final = 20
"""Maximum number of rows in the matrix. The rows with the worst results come first."""
_LETTERS: Final = {
    "ok": ".", "noisy": "n", "invalid": "X", "failed": "F", "timeout": "T", "host-lost": "L", "interrupted": "I",
    "skipped": "s", "refused": "R",
}  # fmt: skip
_STYLES: Final[Mapping[Tone, str]] = {
    "good": "green", "doubt": "yellow", "invalid": "magenta", "bad": "red", "refused": "white on red",
    "missing": "blue", "unknown": "cyan", "muted": "dim",
}  # fmt: skip
_LONGEST_NAMES: Final = 32


def print_summary(console: Console, view: RunView, reports: Mapping[str, Path], *, results: bool = True) -> None:
    """Print the outcome to stderr; then print the key results (if `results` is set) and the paths to stdout.

    With --quiet, only an outcome whose exit code is not 0 is printed.
    """
    if console.style.json:
        return
    console.line()
    _matrix(console, view.run)
    _verdicts(console, view.run)
    _outcome(console, view)
    if console.style.quiet:
        return
    console.line()
    if results:
        for line in result_lines(build(view), console.width):
            console.result(line)
    paths = {name: path for name, path in reports.items() if name in ("html", "markdown") or console.style.verbosity}
    for name, path in {**paths, "results": view.root}.items():
        console.result(f"{name + ':':<10}{path}")


def _matrix(console: Console, run: Run) -> None:
    """Print the matrix of hosts and benchmarks unless everything is ok or the matrix has only one cell."""
    found = matrix(run)
    states = [item.status for row in found.rows for item in row.outcomes if item is not None]
    if len(run.jobs) < 2 or (set(states) == {"ok"} and all(row.state == "ok" for row in found.rows)):
        return
    for line in matrix_lines(found, console.err.width):
        console.line(line)
    console.line()


def _verdicts(console: Console, run: Run) -> None:
    """Print the expectations that did not pass."""
    for verdict in run.verdicts:
        word = word_of(verdict)
        if word != "pass":
            first, *rest = wrapped(f"{word:<7} {verdict_text(verdict)}", console.width, "", " " * 8)
            console.line(Text(word, style=_STYLES[TONES[word]]).append(first[len(word) :], style="none"))
            for line in rest:
                console.line(line)


def _outcome(console: Console, view: RunView) -> None:
    """Print the verdict as the reports show it, in color, followed by its details and the exit code. If info messages
    are disabled, print only the verdict and the first cause of a failure."""
    run, found = view.run, summarize(view)
    sentence = Text().append(f"{run.status}: {found.sentence}", style=f"bold {_STYLES[found.tone]}")
    console.line(sentence, always=bool(run.exit_code))
    if not console.prints("info"):
        _cause(console, first_cause(view))
        return
    for detail in found.details:
        for line in wrapped(detail, console.width):
            console.line(line)
    if resumable(run):
        if again := refused_again(run):
            first = "first remove the cause of the refusal on the host; another plan or other options need a new run"
            for line in wrapped(first, console.width):
                console.line(line)
        console.line(f"  {'then, ' if again else ''}to measure what is missing, run `{resume_command(view.root)}`")
    console.line(f"exit code {run.exit_code}")


def _cause(console: Console, cause: Cause | None) -> None:
    if cause is None:
        return
    lead = f"{cause.place}: " if cause.place else ""
    for text in (f"{lead}{cause.text}", *([f"hint: {cause.hint}"] if cause.hint else [])):
        for line in wrapped(text, console.width):
            console.line(line, always=True)


def matrix_lines(found: OutcomeMatrix, width: int) -> list[Text]:
    """Return the matrix of hosts and benchmarks. Outcomes are words if these fit into `width`, otherwise letters with a
    legend."""
    rows = found.rows[:MOST_ROWS]
    labels = [_label(row) for row in rows]
    first = max([4, *map(len, labels)])
    words = [[_cell(item, item.text if item else "-") for item in row.outcomes] for row in rows]
    lines = list(_table(first, labels, found.ids, words, gap=2))
    if max(len(line.plain) for line in lines) > width:
        lines = list(_by_letters(found.ids, rows, labels, first, width))
    return [*lines, *left_out(sum(len(row.hosts) for row in found.rows[MOST_ROWS:]))]


def left_out(hosts: int) -> list[Text]:
    """Return a line that states how many hosts are omitted, or an empty string if there are none."""
    if not hosts:
        return []
    return [Text(f"and {counted(hosts, 'more host')} with better results; see the reports for the full list")]


def short_label(names: Sequence[str]) -> str:
    """Return the host names as ranges if this text is short enough, otherwise the first name and the number of further
    hosts."""
    label = short_names(names)
    return label if len(label) <= _LONGEST_NAMES or len(names) == 1 else f"{names[0]} and {len(names) - 1} more"


def _by_letters(
    ids: Sequence[str], rows: Sequence[HostRow], labels: Sequence[str], first: int, width: int
) -> Iterator[Text]:
    """Yield a table with a numbered column for each benchmark and a letter for each outcome, followed by a legend."""
    size = len(str(len(ids)))
    room = max(1, (width - first) // (size + 1))
    for start in range(0, len(ids), room):
        names = [f"{number:<{size}}" for number in range(start + 1, min(start + room, len(ids)) + 1)]
        parts = [row.outcomes[start : start + room] for row in rows]
        cells = [[_cell(item, _LETTERS[item.status] if item else "") for item in part] for part in parts]
        yield from _table(first, labels, names, cells, gap=1)
    for number, name in enumerate(ids, start=1):
        yield Text(f"{number:>{first}} {name}")
    statuses = {item.status for row in rows for item in row.outcomes if item is not None}
    yield Text(", ".join(f"{letter} {status}" for status, letter in _LETTERS.items() if status in statuses))


def _cell(item: JobOutcome | None, text: str) -> Text:
    return Text(text, style=_STYLES.get(item.tone, "") if item is not None else "dim")


def _table(
    first: int, labels: Sequence[str], names: Sequence[str], cells: Sequence[Sequence[Text]], gap: int
) -> Iterator[Text]:
    """Yield a bold header and one line per label, in aligned columns; the first column is `first` characters wide."""
    bold = [Text(name, style="bold") for name in names]
    sizes = [max(map(len, column)) for column in zip(bold, *cells, strict=True)]
    for label, row in zip((Text("host", style="bold"), *map(Text, labels)), (bold, *cells), strict=True):
        line = label.copy()
        line.pad_right(first - len(label))
        for cell, size in zip(row, sizes, strict=True):
            line.append(" " * gap).append_text(cell)
            line.pad_right(size - len(cell))
        line.rstrip()
        yield line


def _label(row: HostRow) -> str:
    label = short_label(row.hosts)
    return label if row.state == "ok" else f"{label}: {row.state}"
