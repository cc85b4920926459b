"""The commands `asct results list`, `show`, `query`, `verify`, `rebuild`, `label` and `accept`."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from asct.cli.completion_context import completing_from
from asct.cli.completion_context import runs as run_names
from asct.cli.options import GlobalOptions, results_option, shared_options
from asct.diagnostics.model import Diagnostic
from asct.diagnostics.wording import naming
from asct.errors import StoreError
from asct.values.text import counted

if TYPE_CHECKING:
    from asct.sdk.record import Record
    from asct.store.find import ListedRun
    from asct.store.reader import StoredRun


@click.group("results")
def command() -> None:
    """Show, query, verify and repair runs, and choose baselines.

    RUN is a directory, a run id or the start of one, a label, or `latest`. The last three can be prefixed with a plan
    (PLAN/latest).
    """


@command.command("list")
@results_option(file_okay=False)
@shared_options
def list_(options: GlobalOptions, results: str) -> int:
    """List all runs, oldest first."""
    from asct.store.find import list_runs

    runs = list_runs(Path(results))
    if options.json:
        options.console.document({"schema": "asct.results/1", "runs": [_as_json(item) for item in runs]})
        return 0
    if not runs:
        options.console.line(f"no runs in {results}; `asct apply PLAN` creates one")
        return 0
    options.console.table(
        ("plan", "run", "status", "exit", "measured", "hosts", "labels"), map(_row, runs), frozenset({3, 4})
    )
    options.console.diagnostics(finding for item in runs for finding in item.findings)
    return 0


def _row(item: ListedRun) -> tuple[str, ...]:
    root, run, labels = item.layout.root, item.run, ",".join(item.labels)
    if run is None:
        return root.parent.name, root.name, "unreadable", "-", "-", "-", labels
    hosts = ",".join(host.name for host in run.hosts[:3]) + (",..." if len(run.hosts) > 3 else "")
    code = "-" if run.exit_code is None else str(run.exit_code)
    measured = sum(job.counts.get(status, 0) for job in run.jobs for status in job.accepted)
    return run.plan, root.name, run.status, code, f"{measured}/{sum(run.counts.values())}", hosts, labels


def _as_json(item: ListedRun) -> dict[str, Any]:
    entry: dict[str, Any] = {"path": str(item.layout.root), "id": item.layout.root.name, "labels": item.labels}
    if item.run is None:
        return {**entry, "status": "unreadable", "findings": [finding.to_json() for finding in item.findings]}
    shown = {key: getattr(item.run, key) for key in ("plan", "status", "exit_code", "started_at", "label")}
    return {**entry, **shown, "hosts": [host.name for host in item.run.hosts], "counts": item.run.counts}


@command.command("show", short_help="Show a run: hosts, jobs, verdicts and values.")
@click.argument("run", default="latest", shell_complete=completing_from(run_names))
@results_option(file_okay=False)
@shared_options
def show(options: GlobalOptions, run: str, results: str) -> int:
    """Show a run: hosts, jobs, verdicts and measured values."""
    from asct.cli.reports import print_tables, view_of
    from asct.store.find import open_run

    stored = open_run(Path(results), run)
    view = view_of(stored.layout.root)
    if options.json:
        document = stored.run.model_dump(mode="json", by_alias=True)
        document["records"] = [record.model_dump(mode="json", by_alias=True) for record in view.records]
        options.console.document(document)
        return 0
    _show_head(options, stored)
    print_tables(options.console, view)
    options.console.diagnostics(view.notes)
    return 0


def _show_head(options: GlobalOptions, stored: StoredRun) -> None:
    from asct.analysis.outcomes import causes
    from asct.analysis.telemetry import hosts_line
    from asct.analysis.verdict import word_of

    run, console = stored.run, options.console
    code = "" if run.exit_code is None else f", exit code {run.exit_code}"
    console.result(f"{run.plan} {run.run}: {run.status}{code}")
    console.result(f"  folder   {stored.layout.root}")
    console.result(f"  started  {run.started_at}" + (f", ended {run.ended_at}" if run.ended_at else ""))
    for host in run.hosts:
        console.result(f"  host     {host.name}: {host.status}" + (f", {host.description or host.reason}").rstrip(", "))
    for job in run.jobs:
        counts = ", ".join(f"{number} {status}" for status, number in job.counts.items() if number)
        parts = (counts or "nothing measured", hosts_line([job]), *causes([job]))
        console.result(f"  job      {job.host}/{job.id}: {'; '.join(filter(None, parts))}")
    for verdict in run.verdicts:
        console.result(
            f"  expect   {word_of(verdict)}: {verdict.text}" + (f" ({verdict.reason})" if verdict.reason else "")
        )
    for finding in run.findings:
        console.result(f"  {finding.get('severity', 'note'):8} {finding.get('code', '')} {finding.get('message', '')}")


@command.command("query", short_help="Run an SQL query over the values of runs.")
@click.argument("sql")
@click.argument("runs", metavar="[RUN]...", nargs=-1, shell_complete=completing_from(run_names))
@results_option(file_okay=False)
@shared_options
def query_(options: GlobalOptions, sql: str, runs: tuple[str, ...], results: str) -> int:
    """Run an SQL query over the values of runs; without RUN, over those of the latest run.

    SQL is one SELECT statement of SQLite. Its table `records` has one row per value, in base units: run, plan, host,
    id, benchmark, metric, value, unit, ci95_low, ci95_high, flags and others, a column "at.NAME" for each coordinate
    and a column "point.NAME" for each swept setting:

    \b
    asct results query "SELECT metric, max(value) FROM records GROUP BY 1"
    """
    from asct.analysis.query import query
    from asct.store.find import open_run

    stored = [open_run(Path(results), run) for run in runs or ("latest",)]
    found = query([record for one in stored for record in one.records()], sql)
    if options.json:
        rows = [[_as_json_value(value) for value in row] for row in found.rows]
        options.console.document({"schema": "asct.query/1", "columns": list(found.columns), "rows": rows})
        return 0
    numbers = {i for row in found.rows for i, value in enumerate(row) if isinstance(value, int | float)}
    cells = ([_as_cell(value) for value in row] for row in found.rows)
    options.console.table(found.columns, cells, frozenset(numbers))
    return 0


def _as_json_value(value: Any) -> Any:
    if isinstance(value, bytes):
        return value.hex()
    return None if isinstance(value, float) and not math.isfinite(value) else value


def _as_cell(value: Any) -> str:
    if value is None:
        return "-"
    return value.hex() if isinstance(value, bytes) else f"{value:.10g}" if isinstance(value, float) else str(value)


@command.command("verify", short_help="Check the files of a run.")
@click.argument("run", default="latest", shell_complete=completing_from(run_names))
@results_option(file_okay=False)
@shared_options
def verify_(options: GlobalOptions, run: str, results: str) -> int:
    """Check a run: the checksum of every file, the schema of every document and the counts.

    The exit code is 3 if a file is missing, was changed, or was not written by asct. Reports and logs are not checked.
    """
    from asct.store.find import open_run
    from asct.store.verify import verify

    stored = open_run(Path(results), run)
    findings = [*map(naming(stored.layout.root), verify(stored))]
    bad = [item for item in findings if item.severity == "error"]
    if options.json:
        document = {"schema": "asct.verify/1", "run": str(stored.layout.root), "ok": not bad}
        options.console.document({**document, "diagnostics": [item.to_json() for item in findings]})
    else:
        options.console.diagnostics(findings)
        if not bad:
            options.console.result(f"{stored.layout.root}: intact, {_summary(stored.records())}")
    return 3 if bad else 0


@command.command("rebuild", short_help="Derive records.jsonl of a run from its raw files.")
@click.argument("run", default="latest", shell_complete=completing_from(run_names))
@results_option(file_okay=False)
@shared_options
def rebuild_(options: GlobalOptions, run: str, results: str) -> int:
    """Derive records.jsonl of a run from its raw files.

    Records that match their checksum are kept. All others are parsed from the raw files again, which requires the
    benchmark version that measured them. The exit code is 3 if some records cannot be rebuilt.
    """
    from asct.engine.rebuild import rebuild
    from asct.registry import installed
    from asct.store.find import open_run

    stored = open_run(Path(results), run)
    found = rebuild(stored, installed())
    findings = [replace(naming(stored.layout.root)(item), severity="error") for item in found.findings]
    records = sum(map(len, found.lines.values()))
    if options.json:
        counts = {"kept": len(found.done) - len(found.rebuilt), "rebuilt": len(found.rebuilt), "records": records}
        document = {"schema": "asct.rebuild/1", "run": str(stored.layout.root), "ok": not findings, **counts}
        options.console.document({**document, "diagnostics": [item.to_json() for item in findings]})
    else:
        options.console.diagnostics(findings)
        kept = f"{counted(len(found.rebuilt), 'repeat')} rebuilt, {len(found.done) - len(found.rebuilt)} kept"
        options.console.result(f"{stored.layout.records}: {counted(records, 'record')}; {kept}")
    return 3 if findings else 0


@command.command("label", short_help="Label a run, for example as the baseline of its plan.")
@click.argument("run", shell_complete=completing_from(run_names))
@click.argument("label")
@results_option(file_okay=False)
@shared_options
def label_(options: GlobalOptions, run: str, label: str, results: str) -> int:
    """Give a run the label LABEL, so that `baseline: {run: LABEL}` in its plan compares later runs with it.

    If another run of the plan has this label, the label moves to this run. Only a complete run without failures can
    have a label.
    """
    from asct.analysis.baseline import unfit
    from asct.store.folders import link_label

    stored = _open_for_baseline(results, run)
    fault = unfit(stored)
    if fault:
        raise _no_baseline(stored, f"it {fault}", "complete it with `asct resume`, or label another run")
    link = link_label(stored.layout.root, label)
    document = {"schema": "asct.label/1", "label": label, "run": str(stored.layout.root)}
    _show(options, document, f"{link}: {stored.layout.root.name}")
    return 0


@command.command("accept", short_help="Accept the new value of a metric as the baseline.")
@click.argument("run", shell_complete=completing_from(run_names))
@click.argument("metric")
@click.option("--because", required=True, metavar="TEXT", help="The reason why the value changed.")
@results_option(file_okay=False)
@shared_options
def accept_(options: GlobalOptions, run: str, metric: str, because: str, results: str) -> int:
    """Accept the values of METRIC in RUN as the baseline from now on.

    METRIC is ID.METRIC, and may be a pattern: `matrix.*`. The reason is kept in accepted.jsonl next to the runs.
    """
    from asct.analysis.baseline import acceptable
    from asct.store.accepted import accept, acceptance

    if not because.strip():
        raise click.BadParameter("the reason is empty", param_hint="--because")
    stored = _open_for_baseline(results, run)
    item = acceptance(stored.layout.root.name, metric, because)
    fault = acceptable(stored, item)
    if fault:
        raise _no_baseline(stored, fault, f"`asct results show {run}` lists the metrics")
    accept(stored.layout.root.parent, item)
    _show(options, item.model_dump(mode="json", by_alias=True), f"{metric}: accepted from {stored.layout.root}")
    return 0


def _open_for_baseline(results: str, run: str) -> StoredRun:
    """Return a run in a results tree. Raises StoreError (E520) for a run that is not part of a results tree."""
    from asct.store.find import open_run
    from asct.store.layout import RUN_ID

    stored = open_run(Path(results), run)
    if not RUN_ID.fullmatch(stored.layout.root.name):
        hint = "measure it with `asct apply`, which writes a results tree"
        raise _no_baseline(stored, "it is not part of a results tree", hint)
    return stored


def _show(options: GlobalOptions, document: dict[str, Any], text: str) -> None:
    if options.json:
        options.console.document(document)
    else:
        options.console.result(text)


def _no_baseline(stored: StoredRun, why: str, hint: str) -> StoreError:
    return StoreError(Diagnostic("E520", f"{stored.layout.root} cannot be a baseline: {why}", hint=hint))


def _summary(records: Iterable[Record]) -> str:
    kinds = Counter(record.benchmark for record in records)
    return ", ".join(f"{counted(number, 'record')} of {name}" for name, number in sorted(kinds.items())) or "no records"
