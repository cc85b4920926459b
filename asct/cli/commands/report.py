"""`asct report RUN...`."""

from __future__ import annotations

from pathlib import Path

import click

from asct.cli.completing import completing, format_names
from asct.cli.options import Settings, shared_options


@click.command("report", short_help="Render reports again from what is on disk.")
@click.argument("runs", nargs=-1, metavar="RUN...")
@click.option(
    "-f", "--format", "names", multiple=True, metavar="FORMAT", help="May be given again; `asct list formats`.",
    shell_complete=completing(format_names),
)  # fmt: skip
@click.option("-o", "--output-dir", type=click.Path(file_okay=False), help="Write there instead of into the run.")
@click.option("--results", type=click.Path(file_okay=False), default="results", show_default=True)
@shared_options
def command(
    settings: Settings, runs: tuple[str, ...], names: tuple[str, ...], output_dir: str | None, results: str
) -> int:
    """Render reports again from what is on disk (default: html and markdown of the latest run).

    RUN is a path, a run id or its start, a label, `latest`, or PLAN/latest.
    """
    from asct.cli.reporting import write_reports
    from asct.store.find import open_run

    if names == ("stdout",) and output_dir is None and not settings.json:
        return _print(settings, runs or ("latest",), Path(results))
    written: dict[str, dict[str, list[str]]] = {}
    for name in runs or ("latest",):
        stored = open_run(Path(results), name)
        root = stored.layout.root
        target = Path(output_dir) if output_dir else root
        if output_dir and len(runs) > 1:
            target = target / root.name
        reports = write_reports(root, names or ("html", "markdown"), target)
        written[str(root)] = {form: [str(path) for path in paths] for form, paths in reports.items()}
    if settings.json:
        settings.console.document({"schema": "asct.reports/1", "reports": written})
    else:
        for reports_of_run in written.values():
            for path in (path for paths in reports_of_run.values() for path in paths):
                settings.console.result(path)
    return 0


def _print(settings: Settings, runs: tuple[str, ...], results: Path) -> int:
    """The tables themselves: what `stdout` says."""
    from asct.cli.recap import print_tables
    from asct.store.find import open_run

    for name in runs:
        print_tables(settings.console, open_run(results, name))
    return 0
