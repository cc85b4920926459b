"""The command `asct report RUN...`."""

from __future__ import annotations

from contextlib import nullcontext
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from asct.cli.completion import completing, format_names, run_names
from asct.cli.options import GlobalOptions, results_option, shared_options

if TYPE_CHECKING:
    from asct.analysis.view import RunView

_DEFAULT = ("html", "markdown")
_ELSEWHERE = "wait until it ends, or write the reports to another directory with `--output-dir DIRECTORY`"


@click.command("report", short_help="Render run reports again.")
@click.argument("runs", nargs=-1, metavar="[RUN...]", shell_complete=run_names)
@click.option(
    "-f", "--format", "names", multiple=True, metavar="FORMAT",
    help="Report format; can be repeated. `asct list formats` lists them.",
    shell_complete=completing(format_names),
)  # fmt: skip
@click.option(
    "-o", "--output-dir", type=click.Path(file_okay=False), help="Write to DIRECTORY instead of the run folder."
)
@click.option("--force", is_flag=True, help="Overwrite existing files, including files that asct did not write.")
@click.option(
    "--bundle",
    is_flag=True,
    help="Pack the reports and all files of the run into one zip archive, by default in the current directory.",
)
@click.option(
    "--redact",
    is_flag=True,
    help="Remove addresses, serial numbers, Linux kernel command lines, and the names of hosts and users.",
)
@results_option(file_okay=False)
@shared_options
def command(options: GlobalOptions, runs: tuple[str, ...], names: tuple[str, ...], **values: Any) -> None:
    """Render run reports again (default: HTML and Markdown for the latest run).

    RUN is a directory, a run id (or its first characters), a label, or `latest`. To select a run of a particular plan,
    write PLAN/ID, PLAN/LABEL or PLAN/latest.
    """
    from asct.cli.files import output_folder
    from asct.cli.reports import print_tables, published
    from asct.store.find import open_run
    from asct.store.folders import hold_lock

    bundle, redact, folder = values["bundle"], values["redact"], values["output_dir"]
    printed = names == ("stdout",) and folder is None and not options.json and not bundle
    if bundle and len(runs) > 1:
        raise click.UsageError(
            f"`--bundle` packs one run, but {len(runs)} were specified; run the command once per run"
        )
    if redact and not (bundle or printed or folder):
        raise click.UsageError(
            "`--redact` would overwrite the complete reports in the run folder; add `--output-dir DIRECTORY` or "
            "`--bundle`"
        )
    found = [open_run(Path(values["results"]), name) for name in runs or ("latest",)]
    if folder:
        output_folder(folder, force=True)  # existing files are protected one by one
    paths_by_run: dict[str, dict[str, list[str]]] = {}
    for stored in found:
        root = stored.layout.root
        target = Path(folder or ("." if bundle else root))
        if folder and len(runs) > 1:
            target /= stored.run.run if redact else root.name
        inside = not (printed or bundle) and target.resolve() == root.resolve()
        lock = hold_lock(stored.layout.lock, _ELSEWHERE) if inside else nullcontext()
        with lock, published(root, redact=redact) as view:
            if printed:
                print_tables(options.console, view)
                continue
            files = _write(view, names or _DEFAULT, target, bundle=bundle, force=values["force"])
            paths_by_run[str(root)] = {form: [str(path) for path in paths] for form, paths in files.items()}
    if printed:
        return
    if options.json:
        options.console.document({"schema": "asct.reports/1", "reports": paths_by_run})
    else:
        for path in (path for reports in paths_by_run.values() for paths in reports.values() for path in paths):
            options.console.result(path)


def _write(view: RunView, names: tuple[str, ...], target: Path, *, bundle: bool, force: bool) -> dict[str, list[Path]]:
    """Write the reports, or the archive that contains them, and return the paths, keyed by format."""
    if bundle:
        from asct.cli.reports import write_bundle

        return {"bundle": [write_bundle(view, names, target, force=force)]}
    from asct.export import write_all

    return write_all(view, names, target, replace=force)
