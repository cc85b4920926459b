"""The command `asct import fio FILE...`."""  # noqa: N999 - a command is named after its file

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from asct.cli.options import LABEL, PROGRAM, GlobalOptions, results_option, shared_options

if TYPE_CHECKING:
    from asct.diagnostics.model import Diagnostic
    from asct.engine.imports import ImportedRepeat


def _folder_name(_ctx: click.Context, _param: click.Parameter, value: str) -> str:
    from asct.store.layout import safe_name

    try:
        return safe_name(value)
    except ValueError as error:
        raise click.BadParameter(str(error)) from error


@click.group("import")
def command() -> None:
    """Create a run from results that were measured without asct."""


@command.command("fio", short_help="Create a run from existing fio JSON output.")
@click.argument("files", nargs=-1, required=True, metavar="FILE...", type=click.Path(exists=True, dir_okay=False))
@click.option("--host", metavar="NAME", default="imported", show_default=True, callback=_folder_name,
              help="Name of the host on which the results were measured.")  # fmt: skip
@click.option("--plan", metavar="NAME", default="imported", show_default=True, callback=_folder_name,
              help="Name under which the results tree lists the run.")  # fmt: skip
@LABEL
@results_option(file_okay=False)
@shared_options
def fio(options: GlobalOptions, files: tuple[str, ...], **values: Any) -> int:
    """Create a run from existing fio results, so that `asct report` and `asct results` work on them.

    FILE contains the output of fio 3, written with --output-format=json+ or json. Each fio process becomes a point;
    processes with the same options become its repeats. If a file cannot be read, nothing is imported.
    """
    import sys

    from asct.cli.reports import view_of
    from asct.cli.summary import print_summary
    from asct.engine.imports import ImportTarget, import_results
    from asct.export import write_all
    from asct.registry import installed
    from asct.store.folders import hold_lock
    from asct.store.layout import RunLayout

    repeats, versions = _read(options, files)
    benchmark = installed().get("storage-fio")
    assert benchmark is not None  # storage-fio is part of asct
    results = Path(values["results"])
    target = ImportTarget(
        results=results,
        plan=values["plan"],
        host=values["host"],
        job="fio",
        label=values["label"],
        description=f"results imported from fio {', '.join(versions)}",
        command=(PROGRAM, *sys.argv[1:]),
    )
    run = import_results(repeats, benchmark, target)
    root = RunLayout(results / run.plan / run.run).root
    view = view_of(root)
    with hold_lock(RunLayout(root).lock):
        paths_by_format = write_all(view, ("html", "markdown"), root)
    reports = {name: paths[0] for name, paths in paths_by_format.items()}
    stored = view.run
    if options.json:
        paths = {name: str(path) for name, path in reports.items()}
        document = {"schema": "asct.import/1", "run": run.run, "plan": run.plan, "path": str(root)}
        counts = {"counts": stored.counts, "exit_code": run.exit_code, "reports": paths}
        options.console.document({**document, **counts})
    else:
        print_summary(options.console, view, reports)
    return run.exit_code or 0


def _read(options: GlobalOptions, files: tuple[str, ...]) -> tuple[list[ImportedRepeat], list[str]]:
    """Return the results from all files, and the fio versions that generated them. Raises a single UsageError that
    lists the errors in all files."""
    from asct.errors import UsageError

    found: list[ImportedRepeat] = []
    versions: dict[str, None] = {}
    problems: list[Diagnostic] = []
    for name in files:
        found += _results(options, name, problems, versions)
    if problems:
        raise UsageError(*problems)
    return _distinct(options, found), list(versions)


def _results(
    options: GlobalOptions, name: str, problems: list[Diagnostic], versions: dict[str, None]
) -> list[ImportedRepeat]:
    import hashlib

    from asct.diagnostics.model import Diagnostic, Span
    from asct.engine.imports import ImportedRepeat
    from asct.instruments.fio.imported import FormatError, results_in

    try:
        content = Path(name).read_bytes()
        text = content.decode("utf-8")
        results = results_in(text)
    except OSError as error:
        problems.append(Diagnostic("E922", f"{name}: cannot be read: {error.strerror}", hint="make it readable"))
        return []
    except UnicodeDecodeError:
        problems.append(Diagnostic("E922", f"{name}: the file is not text", hint="import the JSON that fio wrote"))
        return []
    except FormatError as error:
        options.console.files[name] = text
        span = Span(name, error.line, error.column) if error.line else None
        problems.append(Diagnostic("E922", f"{name}: {error}", span, hint=error.hint))
        return []
    versions |= dict.fromkeys(one.version.removeprefix("fio-") for one in results)
    sha256 = hashlib.sha256(content).hexdigest()
    return [ImportedRepeat(name, sha256, one) for one in results]


def _distinct(options: GlobalOptions, found: list[ImportedRepeat]) -> list[ImportedRepeat]:
    """Return each result only once, and warn about copies, because a copy is not a repeat."""
    from asct.diagnostics.model import Diagnostic

    by_text: dict[str, ImportedRepeat] = {}
    for one in found:
        first = by_text.setdefault(one.result.text.strip(), one)
        if first is not one:
            message = f"{one.source}: contains the same result as {first.source}; the result is imported once"
            hint = "a copy of a result does not count as a repeat of the measurement"
            options.console.diagnostics([Diagnostic("E923", message, hint=hint, severity="warning")])
    return list(by_text.values())
