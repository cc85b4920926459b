"""The command `asct report RUN...`."""

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
@click.option(
    "-o", "--output-dir", type=click.Path(file_okay=False), help="Write to DIRECTORY instead of the run folder."
)
@click.option("--force", is_flag=True, help="Overwrite existing files in DIRECTORY.")
@results_option(file_okay=False)
@shared_options
def command(
    options: GlobalOptions,
    runs: tuple[str, ...],
    names: tuple[str, ...],
    output_dir: str | None,
    force: bool,
    results: str,
) -> None:
    """Render the reports of runs again (default: html and markdown of the latest run).

    RUN is a directory, a run id or the start of one, a label, or `latest`. The last three can follow a plan
    (PLAN/latest).
    """
    from asct.cli.reports import print_tables, view_of
    from asct.export import write_all
    from asct.store.find import open_run

    roots = [open_run(Path(results), name).layout.root for name in runs or ("latest",)]
    if names == ("stdout",) and output_dir is None and not options.json:
        for root in roots:
            print_tables(options.console, view_of(root))
        return
    written: dict[str, dict[str, list[str]]] = {}
    for root in roots:
        target = Path(output_dir or root)
        if output_dir and len(runs) > 1:
            target /= root.name
        reports = write_all(view_of(root), names or ("html", "markdown"), target, replace=force or not output_dir)
        written[str(root)] = {form: [str(path) for path in paths] for form, paths in reports.items()}
    if options.json:
        options.console.document({"schema": "asct.reports/1", "reports": written})
    else:
        for path in (path for reports in written.values() for paths in reports.values() for path in paths):
            options.console.result(path)
