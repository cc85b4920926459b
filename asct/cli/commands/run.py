"""`asct run [SELECT...]`."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from asct.cli.completing import completing, selectors
from asct.cli.options import Settings, shared_options

if TYPE_CHECKING:
    from asct.planner.model import ResolvedPlan


@click.command("run", short_help="Run benchmarks by name, alias or keyword, without a plan.")
@click.argument("words", nargs=-1, metavar="[SELECT...]", shell_complete=completing(selectors))
@click.option("--host", "address", metavar="[USER@]ADDRESS[:PORT]", help="Measure this machine over ssh.")
@click.option(
    "--user-config", "--update-config", "assignments", multiple=True, metavar="BENCH.SETTING=VALUE",
    help="Change a setting; may be given again, or followed by more of them.",
)  # fmt: skip
@click.option("--config-file", type=click.Path(dir_okay=False), help="Settings as JSON: {benchmark: {setting: value}}.")
@click.option(
    "-f", "--format", "form", type=click.Choice(["stdout", "csv", "json"]), default="stdout", show_default=True
)
@click.option(
    "-o", "--output-dir", type=click.Path(file_okay=False), help="Default: data.<date>_<time>_<microseconds>."
)
@click.option("--force", is_flag=True, help="Replace an earlier run in the output folder.")
@click.option("--dry-run", is_flag=True, help="Show what would be run.")
@shared_options
def command(
    settings: Settings, words: tuple[str, ...], address: str | None, form: str, output_dir: str | None, **more: Any
) -> int:
    """Run benchmarks by name, alias or keyword, without writing a plan.

    `^WORD` excludes, `all` takes every benchmark, `default` (or nothing) the usual set. A benchmark that a chosen one
    needs runs as well. The run lies in the output folder, laid out like every run of asct.
    """
    from asct.cli.dryrun import dry_run
    from asct.cli.execution import execute
    from asct.cli.reporting import write_ad_hoc
    from asct.engine.options import RunOptions

    selected = tuple(word for word in words if not _names_setting(word))
    assignments = (*more["assignments"], *(word for word in words if _names_setting(word)))
    resolved = _plan(settings, selected, assignments, more["config_file"], address)
    if more["dry_run"]:
        return dry_run(settings, resolved)
    folder = Path(output_dir or f"data.{datetime.now(UTC):%Y%m%d_%H%M%S_%f}")
    if not more["force"]:
        _require_unused(folder)
    outcome = execute(settings, resolved, RunOptions(folder=folder, force=more["force"]))
    write_ad_hoc(settings, outcome.folder, form)
    return outcome.exit_code


def _names_setting(word: str) -> bool:
    """Whether a word goes on with --user-config: `ls.stride=128`, `ls.cycle_base`. No name of a benchmark has a dot."""
    return "=" in word or "." in word


def _require_unused(folder: Path) -> None:
    """Refuse anything but an empty folder, before something is measured. Raises UsageError, StoreError."""
    from asct.diagnostics.model import Diagnostic
    from asct.errors import StoreError, UsageError

    try:
        used = folder.exists() and not (folder.is_dir() and not any(folder.iterdir()))
    except OSError as problem:
        wrong = f"the output folder {folder} cannot be looked at: {problem.strerror}"
        raise StoreError(Diagnostic("E912", wrong, hint="name another one")) from problem
    if used:
        hint = "name another one, or add `--force` to replace an earlier run"
        raise UsageError(Diagnostic("E911", f"the output folder {folder} exists and is not empty", hint=hint))


def _plan(
    settings: Settings, words: tuple[str, ...], assignments: tuple[str, ...], config: str | None, address: str | None
) -> ResolvedPlan:
    from asct.cli import adhoc
    from asct.cli.loading import Choice, load
    from asct.cli.targets import as_plan, host_of
    from asct.registry import installed

    benchmarks = installed().all()
    chosen = adhoc.select(words, benchmarks)
    values = adhoc.file_settings(config, benchmarks) if config else {}
    for name, changed in adhoc.user_settings(assignments, benchmarks).items():
        values[name] = {**values.get(name, {}), **changed}
    text = adhoc.plan_text(chosen, values, as_plan(host_of(address)))
    return load(settings, "asct run", Choice(), text=text)  # the name stands where errors point
