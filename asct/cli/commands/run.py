"""The command `asct run [SELECT...]`."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from asct.cli.completion import completing, selectors
from asct.cli.options import FORMAT, WAIT, GlobalOptions, PlanSelection, shared_options

if TYPE_CHECKING:
    from asct.planner.model import ResolvedPlan


@click.command("run", short_help="Run benchmarks by name, alias or keyword, without a plan.")
@click.argument("words", nargs=-1, metavar="[SELECT...]", shell_complete=completing(selectors))
@click.option(
    "--host", "address", metavar="[USER@]ADDRESS[:PORT]", help="Measure a host over ssh instead of this machine."
)
@click.option(
    "--user-config", "--update-config", "assignments", multiple=True, metavar="BENCH.SETTING=VALUE",
    help="Change a setting. Can be repeated, or followed by more settings.",
)  # fmt: skip
@click.option(
    "--config-file",
    type=click.Path(dir_okay=False),
    help="Read settings from a JSON file: {benchmark: {setting: value}}.",
)
@FORMAT
@click.option(
    "-o",
    "--output-dir",
    type=click.Path(file_okay=False),
    help="Directory to write the run to. Default: data.<date>_<time>_<microseconds>.",
)
@click.option("--force", is_flag=True, help="Replace an existing run in the output directory.")
@WAIT
@click.option("--dry-run", is_flag=True, help="Print the commands without running them.")
@shared_options
def command(
    options: GlobalOptions, words: tuple[str, ...], address: str | None, form: str, output_dir: str | None, **more: Any
) -> int:
    """Run benchmarks by name, alias or keyword, without writing a plan.

    SELECT is a name, alias or keyword, `all`, or `default` (used if nothing is selected); `^SELECT` excludes. Required
    benchmarks run as well. The output directory has the layout of a run in the results tree.
    """
    from asct.cli.dryrun import dry_run
    from asct.cli.execution import execute
    from asct.engine.options import RunOptions

    selected = tuple(word for word in words if not _names_setting(word))
    assignments = (*more["assignments"], *(word for word in words if _names_setting(word)))
    resolved = _plan(options, selected, assignments, more["config_file"], address)
    if more["dry_run"]:
        return dry_run(options, resolved)
    folder = Path(output_dir or f"data.{datetime.now(UTC):%Y%m%d_%H%M%S_%f}")
    if not more["force"]:
        _require_unused(folder)
    outcome = execute(options, resolved, RunOptions(folder=folder, force=more["force"], wait_s=more["wait"] or 0.0))
    _print_results(options, outcome.folder, form)
    return outcome.exit_code


def _print_results(options: GlobalOptions, folder: Path, form: str) -> None:
    """Print the tables, or write the CSV and JSON files as ASCT does."""
    from asct.cli.reports import print_tables, view_of
    from asct.export import write_all

    if form != "stdout":
        for paths in write_all(view_of(folder), ("csv", "json"), folder).values():
            for path in paths:
                options.console.line(str(path))
    elif not options.json:
        print_tables(options.console, view_of(folder))


def _names_setting(word: str) -> bool:
    """Return whether an argument is another setting for --user-config (`ls.stride=128`). Benchmark names contain no
    dot."""
    return "=" in word or "." in word


def _require_unused(folder: Path) -> None:
    """Reject a directory that is not empty before the first measurement. Raises UsageError or StoreError."""
    from asct.diagnostics.model import Diagnostic
    from asct.errors import StoreError, UsageError

    try:
        used = folder.exists() and not (folder.is_dir() and not any(folder.iterdir()))
    except OSError as problem:
        message = f"cannot read the output directory {folder}: {problem.strerror}"
        raise StoreError(Diagnostic("E912", message, hint="choose another directory")) from problem
    if used:
        hint = "choose another directory, or add `--force` to replace the run in it"
        raise UsageError(Diagnostic("E911", f"the output directory {folder} is not empty", hint=hint))


def _plan(
    options: GlobalOptions,
    words: tuple[str, ...],
    assignments: tuple[str, ...],
    config: str | None,
    address: str | None,
) -> ResolvedPlan:
    from asct.cli import adhoc
    from asct.cli.loading import load
    from asct.cli.targets import as_plan, host_of
    from asct.registry import installed

    chosen = [info.name for info in adhoc.select(words, installed().infos)]
    values = adhoc.file_settings(config, installed()) if config else {}
    for name, changed in adhoc.user_settings(assignments, installed()).items():
        values.setdefault(name, {}).update(changed)
    text = adhoc.plan_text(chosen, values, as_plan(host_of(address)))
    return load(options, "asct run", PlanSelection(), text=text)  # diagnostics show this name in place of a file name
