"""The end of a run on the terminal: tables, expectations, what went wrong, and where the report is."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from rich.text import Text

from asct.analysis.outcomes import matrix
from asct.analysis.reused import reused_text
from asct.analysis.telemetry import hosts_line
from asct.cli.console import Console
from asct.cli.matrix import MOST_ROWS, left_out, matrix_lines, short_label
from asct.cli.words import counted

if TYPE_CHECKING:
    from asct.store.model import Run
    from asct.store.reader import StoredRun

_SHOWN = ("ok", "noisy", "failed", "timeout", "skipped", "host-lost", "interrupted")
_FEW = 8
"""Up to so many hosts have a line each."""
_COLOURS = {"pass": "green", "fail": "red", "unknown": "yellow"}


def print_tables(console: Console, stored: StoredRun) -> None:
    """The tables of every job, as the benchmarks lay them out."""
    from asct.analysis.view import open_view
    from asct.export.text import render
    from asct.registry import installed

    text = render(open_view(stored.layout.root, installed()), width=console.out.width)
    console.result(text.rstrip("\n"))


def recap(console: Console, run: Run, folder: Path, reports: Mapping[str, Path]) -> None:
    """Hosts with their counts and the verdicts on stderr, then the paths of the reports on stdout."""
    if console.look.json:
        return
    console.line()
    _hosts(console, run)
    _matrix(console, run)
    before = reused_text(run.jobs, run.started_at)
    if before:
        console.line(before)
    noise = hosts_line(run.jobs)
    if noise:
        console.line(f"measured {noise}; the report says more")
    _verdicts(console, run)
    console.line(_last_line(run, folder))
    for name, path in reports.items():
        if name in ("html", "markdown") or console.look.verbosity:
            console.result(f"{name + ':':<10}{path}")


def _hosts(console: Console, run: Run) -> None:
    """A line per host; in a fleet one for all to which the same happened, the worst first."""
    totals: dict[str, Counter[str]] = {host.name: Counter() for host in run.hosts}
    for job in run.jobs:
        totals.setdefault(job.host, Counter()).update(job.counts)
    states = {host.name: host.status for host in run.hosts}
    present = [status for status in _SHOWN if status == "ok" or any(count[status] for count in totals.values())]
    rows = _alike(totals, states) if len(totals) > _FEW else [[name] for name in totals]
    labels = [short_label(names) for names in rows[:MOST_ROWS]]
    size = max([4, *map(len, labels)])
    console.line(Text("host".ljust(size) + "".join(f"  {status:>6}" for status in present), style="bold"))
    for label, (name, *_) in zip(labels, rows, strict=False):
        cells = "".join(f"  {totals[name][status]:>{max(6, len(status))}}" for status in present)
        state = states.get(name, "ok")
        console.line(label.ljust(size) + cells + ("" if state == "ok" else f"  {state}"))
    for line in left_out(sum(map(len, rows[MOST_ROWS:]))):
        console.line(line)


def _alike(totals: Mapping[str, Counter[str]], states: Mapping[str, str]) -> list[list[str]]:
    """Hosts to which the same happened together; first those that could not be used, then by how little went well."""
    groups: dict[tuple[str, tuple[tuple[str, int], ...]], list[str]] = {}
    for name, count in totals.items():
        groups.setdefault((states.get(name, "ok"), tuple(sorted(count.items()))), []).append(name)

    def worth(names: list[str]) -> tuple[bool, float]:
        count = totals[names[0]]
        return states.get(names[0], "ok") == "ok", (count["ok"] + count["noisy"]) / max(1, count.total())

    return sorted(groups.values(), key=worth)


def _matrix(console: Console, run: Run) -> None:
    """How each benchmark went on each host; of a single benchmark the lines of the hosts have told."""
    found = matrix(run)
    if len(found.ids) > 1:
        console.line()
        for line in matrix_lines(found, console.err.width):
            console.line(line)
        console.line()


def _verdicts(console: Console, run: Run) -> None:
    if not run.verdicts:
        return
    outcomes = Counter(verdict.outcome for verdict in run.verdicts)
    console.line(f"expectations: {outcomes['pass']} passed, {outcomes['fail']} failed, {outcomes['unknown']} unknown")
    for verdict in run.verdicts:
        if verdict.outcome == "pass":
            continue
        line = Text().append(verdict.outcome.ljust(8), style=_COLOURS[verdict.outcome])
        line.append(f"{verdict.host or ''} {verdict.text}".strip())
        line.append(_measured(verdict.value, verdict.unit) + (f" ({verdict.reason})" if verdict.reason else ""))
        console.line(line)


def _measured(value: float | None, unit: str) -> str:
    if value is None:
        return ""
    from asct.values.quantity import format_quantity

    return f": measured {format_quantity(value, unit)}"


def _last_line(run: Run, folder: Path) -> Text:
    colour = {0: "green", 1: "red"}.get(run.exit_code or 0, "yellow")
    measured = sum(number for status, number in run.counts.items() if status in ("ok", "noisy"))
    missing = sum(number for status, number in run.counts.items() if status not in ("ok", "noisy"))
    text = Text().append(f"{run.status}: ", style=f"bold {colour}")
    text.append(f"{counted(measured, 'measurement')}")
    if missing:
        text.append(f", {missing:,} missing (`asct resume` measures them)")
    text.append(f", exit code {run.exit_code}; results in {folder}")
    return text
