"""The commands `asct results list`, `show`, `query`, `verify`, `rebuild`, `label`, `accept`, `migrate` and `prune`."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from asct.cli.completion import run_names
from asct.cli.options import Duration, GlobalOptions, results_option, shared_options
from asct.diagnostics.model import Diagnostic
from asct.diagnostics.wording import naming
from asct.errors import AsctError, NoSuchRun, SafetyError, StoreError
from asct.values.size import about_size
from asct.values.suggest import did_you_mean
from asct.values.text import counted

if TYPE_CHECKING:
    from asct.sdk.record import Record
    from asct.store.find import ListedRun
    from asct.store.reader import StoredRun


@click.group("results")
def command() -> None:
    """Inspect, repair and delete runs, and choose baselines.

    RUN is a directory, a run id (or its first characters), a label, or `latest`. To select a run of a particular plan,
    write PLAN/ID, PLAN/LABEL or PLAN/latest.
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
        options.console.line(f"no runs in {Path(results)}/; `asct apply PLAN` creates one")
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
    values = {key: getattr(item.run, key) for key in ("plan", "status", "exit_code", "started_at", "label")}
    return {**entry, **values, "hosts": [host.name for host in item.run.hosts], "counts": item.run.counts}


@command.command("show", short_help="Show a run: hosts, jobs, verdicts and values.")
@click.argument("run", default="latest", shell_complete=run_names)
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
    from asct.cli.text import say
    from asct.export.stdout import verdict_text

    def row(label: str, text: object) -> None:
        say(options.console, f"  {label:8} {text}", " " * 11)

    run = stored.run
    code = "" if run.exit_code is None else f", exit code {run.exit_code}"
    say(options.console, f"{run.plan} {run.run}: {run.status}{code}")
    row("folder", stored.layout.root)
    row("started", run.started_at + (f", ended {run.ended_at}" if run.ended_at else ""))
    for host in run.hosts:
        row("host", f"{host.name}: {host.status}" + (f", {host.description or host.reason}").rstrip(", "))
    for job in run.jobs:
        counts = ", ".join(f"{number} {status}" for status, number in job.counts.items() if number)
        parts = (counts or "nothing measured", hosts_line([job]), *causes([job]))
        row("job", f"{job.host}/{job.id}: {'; '.join(filter(None, parts))}")
    for verdict in run.verdicts:
        row("expect", f"{word_of(verdict)}: {verdict_text(verdict)}")
    for finding in run.findings:
        row(finding.get("severity", "note"), f"{finding.get('code', '')} {finding.get('message', '')}")


@command.command("query", short_help="Run an SQL query on the values in runs.")
@click.argument("sql")
@click.argument("runs", metavar="[RUN]...", nargs=-1, shell_complete=run_names)
@results_option(file_okay=False)
@shared_options
def query_(options: GlobalOptions, sql: str, runs: tuple[str, ...], results: str) -> int:
    """Run an SQL query on the values in runs (default: the latest run).

    SQL is a single SELECT statement in the dialect of SQLite. The table `records` has one row per value, in base
    units. Its columns include run, plan, host, id, benchmark, metric, value, unit, ci95_low, ci95_high and flags, as
    well as "at.NAME" for each coordinate and "point.NAME" for each swept setting. For example:

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


@command.command("verify", short_help="Check the files in a run.")
@click.argument("run", default="latest", shell_complete=run_names)
@results_option(file_okay=False)
@shared_options
def verify_(options: GlobalOptions, run: str, results: str) -> int:
    """Check a run: the checksum of every file, the schema of every document, and whether all counts agree.

    The exit code is 3 if a file is missing, was modified, or was not written by asct. Reports and logs are not checked.
    """
    from asct.cli.text import say
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
            say(options.console, f"{stored.layout.root}: intact, {_summary(stored.records())}")
    return 3 if bad else 0


@command.command("rebuild", short_help="Rebuild a run's records.jsonl from its raw files.")
@click.argument("run", default="latest", shell_complete=run_names)
@results_option(file_okay=False)
@shared_options
def rebuild_(options: GlobalOptions, run: str, results: str) -> int:
    """Rebuild a run's records.jsonl from its raw files. Records that match their checksum are kept. All others are
    parsed from the raw files again, which requires the benchmark version that measured them. The exit code is 3 if some
    records cannot be rebuilt.
    """
    from asct.cli.text import say
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
        summary = f"{counted(len(found.rebuilt), 'repeat')} rebuilt, {len(found.done) - len(found.rebuilt)} kept"
        say(options.console, f"{stored.layout.records}: {counted(records, 'record')}; {summary}")
    return 3 if findings else 0


@command.command("label", short_help="Label a run, for example as the baseline of its plan.")
@click.argument("run", shell_complete=run_names)
@click.argument("label")
@results_option(file_okay=False)
@shared_options
def label_(options: GlobalOptions, run: str, label: str, results: str) -> int:
    """Give a run the label LABEL, so that `baseline: {run: LABEL}` in its plan compares later runs with it.

    If another run of the plan has this label, the label moves to this run. Only a complete run without failures can
    have a label.
    """
    from asct.analysis.baseline import unfit
    from asct.store.folders import check_label, hold_lock, link_label

    check_label(label)  # before the lock file is created
    stored = _open_for_baseline(results, run)
    fault = unfit(stored)
    if fault:
        accepting = "label another run, or use `asct results accept` to make an intended change the baseline"
        raise _no_baseline(stored, f"it {fault}", _completing(stored) or accepting)
    with hold_lock(stored.layout.lock):  # while the lock is held, `prune` cannot delete the run
        link = link_label(stored.layout.root, label)
    document = {"schema": "asct.label/1", "label": label, "run": str(stored.layout.root)}
    _show(options, document, f"{link}: {stored.layout.root.name}")
    return 0


@command.command("accept", short_help="Accept the new value of a metric as the baseline.")
@click.argument("run", shell_complete=run_names)
@click.argument("metric")
@click.option("--because", required=True, metavar="TEXT", help="Why the value changed.")
@results_option(file_okay=False)
@shared_options
def accept_(options: GlobalOptions, run: str, metric: str, because: str, results: str) -> int:
    """Accept the values of METRIC in RUN as the baseline from now on.

    METRIC is ID.METRIC, and may be a pattern such as `matrix.*`. The reason is kept in accepted.jsonl next to the runs.
    """
    from asct.analysis.baseline import acceptable
    from asct.store.accepted import accept, acceptance
    from asct.store.folders import hold_lock

    if not because.strip():
        raise click.BadParameter("the reason is empty", param_hint="--because")
    stored = _open_for_baseline(results, run)
    item = acceptance(stored.layout.root.name, metric, because)
    fault = acceptable(stored, item)
    if fault:
        known = {(record.id, record.metric) for record in stored.records()}
        hint = (
            "accept another run that has valid values of this metric"
            if any(item.covers(*names) for names in known)
            else did_you_mean(metric, map(".".join, known), f"`asct results show {run}` lists the metrics")
        )
        raise _no_baseline(stored, fault, _completing(stored) or hint)
    with hold_lock(stored.layout.lock):  # while the lock is held, `prune` cannot delete the run (as in `label`)
        accept(stored.layout.root.parent, item)
    _show(options, item.model_dump(mode="json", by_alias=True), f"{metric}: accepted from {stored.layout.root}")
    return 0


@command.command("migrate", short_help="Convert runs from older asct versions to the current format.")
@click.argument("runs", metavar="[RUN]...", nargs=-1, shell_complete=run_names)
@results_option(file_okay=False)
@shared_options
def migrate_(options: GlobalOptions, runs: tuple[str, ...], results: str) -> int:
    """Convert runs from older asct versions to the current format (default: all runs).

    Values, raw files and checksums stay valid. Runs in the current format are not changed, and a run in progress is
    skipped (exit code 4). The exit code is 3 if a run is damaged or was written by a newer version.
    """
    from asct.store.find import open_run
    from asct.store.migrate import migrate
    from asct.store.reader import StoredRun

    listed = [] if runs else _all_runs(results)
    stored = [open_run(Path(results), run) for run in runs]
    stored += [StoredRun(item.layout, item.run) for item in listed if item.run is not None]
    failed: list[AsctError] = [StoreError(*item.findings) for item in listed if item.run is None]
    counts = {}
    for one in stored:
        try:
            counts[str(one.layout.root)] = migrate(one)
        except (StoreError, SafetyError) as error:
            failed.append(error)
    migrated = {root: found for root, found in counts.items() if found}
    if options.json:
        rows = [{"path": root, "migrated": found} for root, found in counts.items()]
        document = {"schema": "asct.migrate/1", "ok": not failed, "runs": rows}
        options.console.document({**document, "diagnostics": _as_documents(failed)})
    else:
        options.console.diagnostics(finding for error in failed for finding in error.diagnostics)
        for root, found in migrated.items():
            options.console.result(f"{root}: {counted(found, 'document')} migrated")
        skipped = f", {len(failed)} skipped" if failed else ""
        current = f"{len(counts) - len(migrated)} already in the current format"
        options.console.result(f"{counted(len(migrated), 'run')} migrated, {current}{skipped}")
    return _worst(failed)


@command.command("prune", short_help="Delete old runs that nothing refers to.")
@click.option("--keep", type=click.IntRange(min=1), metavar="N", help="Keep the newest N runs of each plan.")
@click.option("--older-than", type=Duration(), metavar="AGE", help="Keep runs that were started within AGE (e.g. 30d).")
@click.option("--dry-run", is_flag=True, help="Only list the runs, even with --yes.")
@click.option("--yes", is_flag=True, help="Delete the runs. Without this option, they are only listed.")
@results_option(file_okay=False)
@shared_options
def prune_(
    options: GlobalOptions, keep: int | None, older_than: float | None, dry_run: bool, yes: bool, results: str
) -> int:
    """List old runs with their size on disk, and delete them if --yes is given.

    If both --keep and --older-than are given, a run is deleted only if both allow it. asct always keeps runs that have
    a label, were accepted, were reused by a run that is kept, or are a baseline. It also keeps runs that have not
    ended, that cannot be read, or that contain files that asct does not recognize as its own. The exit code is 3 if an
    old run cannot be read or deleted, and 4 if a run to be deleted is in use.
    """
    from asct.analysis.retention import old_runs
    from asct.store.prune import disk_usage, remove_runs

    if keep is None and older_than is None:
        raise click.UsageError("specify which runs to keep: --keep N, --older-than AGE, or both")
    total, delete = len(_all_runs(results)), yes and not dry_run
    before = None if older_than is None else datetime.now(UTC) - timedelta(seconds=older_than)
    since = None if before is None else f"{before:%Y%m%dT%H%M%SZ}"
    found = old_runs(Path(results), keep or 0, since)
    sizes = {old.root: disk_usage(old.root) for old in reversed(found)}
    failed: dict[Path, AsctError] = {old.root: StoreError(*old.item.findings) for old in found if old.item.run is None}
    if delete:
        failed |= remove_runs(Path(results), [old.root for old in found if not old.why_kept])
    reasons = {old.root: old.why_kept or "cannot be deleted" for old in found if old.why_kept or old.root in failed}
    freed = sum(size for root, size in sizes.items() if root not in reasons)
    if options.json:
        rows = [{"path": str(root), "bytes": size, "kept": reasons.get(root)} for root, size in sizes.items()]
        document = {"schema": "asct.prune/1", "deleted": delete, "bytes": freed, "runs": rows}
        options.console.document({**document, "diagnostics": _as_documents(failed.values())})
        return _worst(failed.values())
    action, hint = ("deleted", "") if delete else ("would be deleted", "; `--yes` deletes them")
    if sizes:
        why = {root: f"kept: {reasons[root]}" if root in reasons else action for root in sizes}
        cells = ((root.parent.name, root.name, about_size(size), why[root]) for root, size in sizes.items())
        options.console.table(("plan", "run", "size", ""), cells, frozenset({2}))
    options.console.diagnostics(finding for error in failed.values() for finding in error.diagnostics)
    number = len(sizes) - len(reasons)
    options.console.result(
        f"{number} of {counted(total, 'run')} {action} ({about_size(freed)}){hint if number else ''}"
    )
    return _worst(failed.values())


def _worst(errors: Iterable[AsctError]) -> int:
    return max((error.exit_code for error in errors), default=0)


def _all_runs(results: str) -> list[ListedRun]:
    """Return all runs in a results tree. Raises NoSuchRun (E505) if there are none."""
    from asct.store.find import list_runs

    runs = list_runs(Path(results))
    if not runs:
        hint = "`--results DIRECTORY` selects another results tree"
        raise NoSuchRun(Diagnostic("E505", f"{Path(results)}/ contains no run", hint=hint))
    return runs


def _as_documents(errors: Iterable[AsctError]) -> list[dict[str, Any]]:
    return [finding.to_json() for error in errors for finding in error.diagnostics]


def _completing(stored: StoredRun) -> str:
    """Return a hint if the run was not measured completely, else an empty string."""
    run = stored.run
    complete = run.status == "complete" and not any(job.lacking() for job in run.jobs)
    return "" if complete else "complete it with `asct resume`, or use another run"


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
