"""`asct report RUN...`."""

from __future__ import annotations

from pathlib import Path

import click

from asct.cli.completion import completing, format_names
from asct.cli.options import GlobalOptions, results_option, shared_options


@click.command("report", short_help="Render the reports of runs again.")
@click.argument("runs", nargs=-1, metavar="[RUN...]")
@click.option(
    "-f", "--format", "names", multiple=True, metavar="FORMAT",
    help="Report format; can be repeated. `asct list formats` shows all.",
    shell_complete=completing(format_names),
)  # fmt: skip
@click.option("-o", "--output-dir", type=click.Path(file_okay=False), help="Write to DIRECTORY instead of the run.")
@results_option(file_okay=False)
@shared_options
def command(
    options: GlobalOptions, runs: tuple[str, ...], names: tuple[str, ...], output_dir: str | None, results: str
) -> int:
    """Render the reports of runs again (default: html and markdown of the latest run).

    RUN is a directory, a run id or the start of one, a label, `latest`, or PLAN/latest.
    """
    from asct.cli.reports import print_tables, write_reports
    from asct.store.find import open_run

    if names == ("stdout",) and output_dir is None and not options.json:
        for name in runs or ("latest",):
            print_tables(options.console, open_run(Path(results), name).layout.root)
        return 0
    written: dict[str, dict[str, list[str]]] = {}
    for name in runs or ("latest",):
        stored = open_run(Path(results), name)
        root = stored.layout.root
        target = Path(output_dir) if output_dir else root
        if output_dir and len(runs) > 1:
            target = target / root.name
        reports = write_reports(root, names or ("html", "markdown"), target)
        written[str(root)] = {form: [str(path) for path in paths] for form, paths in reports.items()}
    if options.json:
        options.console.document({"schema": "asct.reports/1", "reports": written})
    else:
        for reports_of_run in written.values():
            for path in (path for paths in reports_of_run.values() for path in paths):
                options.console.result(path)
    return 0
