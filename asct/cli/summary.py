"""The summary of a run on the terminal: counts by host, a table of hosts and benchmarks, verdicts, and the paths of the
reports."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Final

from rich.text import Text

from asct.analysis.grid import Tone
from asct.analysis.outcomes import TONES, HostRow, JobOutcome, OutcomeMatrix, matrix, short_names, unmeasured
from asct.analysis.verdict import summarize, word_of
from asct.cli.console import Console
from asct.cli.text import counted, wrapped
from asct.diagnostics.wording import resume_command
from asct.export.text import verdict_text

if TYPE_CHECKING:
    from asct.analysis.view import RunView
    from asct.store.model import Run

_SHOWN = ("ok", "noisy", "invalid", "failed", "timeout", "refused", "skipped", "host-lost", "interrupted")
_FEW = 8
"""Up to this number of hosts, each host has its own line."""
MOST_ROWS: Final = 20
"""Maximum number of rows, of which those with the worst results come first."""
_LETTERS: Final = {
    "ok": ".", "noisy": "n", "invalid": "X", "failed": "F", "timeout": "T", "host-lost": "L", "interrupted": "I",
    "skipped": "s", "refused": "R",
}  # fmt: skip
_STYLES: Final[Mapping[Tone, str]] = {
    "good": "green", "doubt": "yellow", "invalid": "magenta", "bad": "red", "refused": "white on red",
    "missing": "blue", "unknown": "cyan", "muted": "dim",
}  # fmt: skip
_LONGEST_NAMES: Final = 32


def print_summary(console: Console, view: RunView, reports: Mapping[str, Path]) -> None:
    """Print the counts by host and the verdicts to stderr, and then the paths of the reports to stdout."""
    if console.style.json:
        return
    run = view.run
    console.line()
    _hosts(console, run)
    _matrix(console, run)
    _verdicts(console, run)
    for line in _last_lines(view, console.width):
        console.line(line)
    for name, path in reports.items():
        if name in ("html", "markdown") or console.style.verbosity:
            console.result(f"{name + ':':<10}{path}")


def _hosts(console: Console, run: Run) -> None:
    """Print one line per host. If there are many hosts, print one line for all hosts with the same results, worst
    first."""
    totals: dict[str, Counter[str]] = {host.name: Counter() for host in run.hosts}
    for job in run.jobs:
        totals.setdefault(job.host, Counter()).update(job.counts)
    states = {host.name: host.status for host in run.hosts}
    present = [status for status in _SHOWN if status == "ok" or any(count[status] for count in totals.values())]
    rows = _grouped(totals, states) if len(totals) > _FEW else [[name] for name in totals]
    labels = [short_label(names) for names in rows[:MOST_ROWS]]
    size = max([4, *map(len, labels)])
    console.line(Text("host".ljust(size) + "".join(f"  {status:>6}" for status in present), style="bold"))
    for label, (name, *_) in zip(labels, rows, strict=False):
        line = Text(label.ljust(size))
        for status in present:
            number = totals[name][status]
            line.append(" " * (2 + max(6, len(status)) - len(str(number))))
            line.append(str(number), style=_STYLES[TONES[status]] if number else "dim")
        state = states.get(name, "ok")
        console.line(line if state == "ok" else line.append("  ").append(state, style=_STYLES["missing"]))
    for line in left_out(sum(map(len, rows[MOST_ROWS:]))):
        console.line(line)


def _grouped(totals: Mapping[str, Counter[str]], states: Mapping[str, str]) -> list[list[str]]:
    """Group the hosts that have the same results: unusable hosts first, then by the share of failed measurements."""
    groups: dict[tuple[str, tuple[tuple[str, int], ...]], list[str]] = {}
    for name, count in totals.items():
        groups.setdefault((states.get(name, "ok"), tuple(sorted(count.items()))), []).append(name)

    def worth(names: list[str]) -> tuple[bool, float]:
        count = totals[names[0]]
        return states.get(names[0], "ok") == "ok", (count["ok"] + count["noisy"]) / max(1, count.total())

    return sorted(groups.values(), key=worth)


def _matrix(console: Console, run: Run) -> None:
    """Print the matrix of hosts and benchmarks if there is more than one benchmark."""
    found = matrix(run)
    if len(found.ids) > 1:
        console.line()
        for line in matrix_lines(found, console.err.width):
            console.line(line)
        console.line()


def _verdicts(console: Console, run: Run) -> None:
    if not run.verdicts:
        return
    outcomes = Counter(map(word_of, run.verdicts))
    named = {"pass": "passed", "fail": "failed", "warning": "not met", "info": "not met"}
    counts = Counter(named.get(word, word) for word in outcomes.elements())
    shown = dict.fromkeys(("passed", "failed", "unknown", "not met", "unconfirmed", "inconclusive", "not planned"))
    console.line("expectations: " + ", ".join(f"{counts[word]} {word}" for word in shown if counts[word]))
    for verdict in run.verdicts:
        word = word_of(verdict)
        if word != "pass":
            first, *rest = wrapped(f"{word:<7} {verdict_text(verdict)}", console.width, "", " " * 8)
            console.line(Text(word, style=_STYLES[TONES[word]]).append(first[len(word) :], style="none"))
            for line in rest:
                console.line(line)


def _last_lines(view: RunView, width: int) -> Iterator[Text]:
    """Yield the verdict from the reports in its color, its details, and the location of the results."""
    run, found = view.run, summarize(view)
    yield Text().append(f"{run.status}: {found.sentence}", style=f"bold {_STYLES[found.tone]}")
    for detail in found.details:
        yield from map(Text, wrapped(detail, width))
    if unmeasured(run.jobs) and not any(host.transport == "import" for host in run.hosts):
        yield Text(f"  to measure what is missing, run `{resume_command(view.root)}`")
    yield Text(f"exit code {run.exit_code}; results in {view.root}")


def matrix_lines(found: OutcomeMatrix, width: int) -> list[Text]:
    """Return the matrix of hosts and benchmarks: in words if they fit into `width`, otherwise in letters with a
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
    """Return a line that states how many hosts are omitted; empty if there are none."""
    if not hosts:
        return []
    return [Text(f"and {counted(hosts, 'more host')} with better results; see the reports for the full list")]


def short_label(names: Sequence[str]) -> str:
    """Return the host names as ranges if these are short enough, otherwise the first name and the number of others."""
    label = short_names(names)
    return label if len(label) <= _LONGEST_NAMES or len(names) == 1 else f"{names[0]} and {len(names) - 1} more"


def _by_letters(
    ids: Sequence[str], rows: Sequence[HostRow], labels: Sequence[str], first: int, width: int
) -> Iterator[Text]:
    """Yield a table with a numbered column for each benchmark and a letter for each outcome, and then its legend."""
    size = len(str(len(ids)))
    room = max(1, (width - first) // (size + 1))
    for start in range(0, len(ids), room):
        names = [f"{number:<{size}}" for number in range(start + 1, min(start + room, len(ids)) + 1)]
        parts = [row.outcomes[start : start + room] for row in rows]
        cells = [[_cell(item, _LETTERS[item.status] if item else "") for item in part] for part in parts]
        yield from _table(first, labels, names, cells, gap=1)
    for number, name in enumerate(ids, start=1):
        yield Text(f"{number:>{first}} {name}")
    seen = {item.status for row in rows for item in row.outcomes if item is not None}
    yield Text(", ".join(f"{letter} {status}" for status, letter in _LETTERS.items() if status in seen))


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
