"""The command `asct run [SELECT...]`."""

from __future__ import annotations

from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import click

from asct.cli.completion import completing, selectors, settings
from asct.cli.options import (
    FORMAT,
    INTERRUPTED,
    SHOW_COMMANDS,
    WAIT,
    YES,
    GlobalOptions,
    PlanSelection,
    shared_options,
)

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from asct.analysis.view import RunView
    from asct.cli.adhoc import Settings
    from asct.plan.findings import Findings
    from asct.plan.model import HostSpec
    from asct.planner.keywords import Chosen
    from asct.planner.model import ResolvedPlan
    from asct.registry import BenchmarkInfo


@click.command("run", short_help="Run benchmarks by name, alias or keyword, without a plan.")
@click.argument("words", nargs=-1, metavar="[SELECT...]", shell_complete=completing(selectors))
@click.option(
    "--host", "address", metavar="[USER@]ADDRESS[:PORT]", help="Measure a host over ssh instead of this machine."
)
@click.option(
    "--user-config", "--update-config", "assignments", multiple=True, metavar="BENCH.SETTING=VALUE",
    help="Change a setting. Can be repeated, or followed by more settings.", shell_complete=settings,
)  # fmt: skip
@click.option(
    "--config-file",
    type=click.Path(),
    help="Read settings from a JSON file: {benchmark: {setting: value}}.",
)
@FORMAT
@click.option(
    "-o",
    "--output-dir",
    type=click.Path(),
    help="Directory to write the run to. Default: data.<date>_<time>_<microseconds>.",
)
@click.option("--force", is_flag=True, help="Replace an existing run in the output directory.")
@WAIT
@click.option(
    "--destroys", "destroys", multiple=True, metavar="HOST:DEVICE:SERIAL",
    help="Allow asct to overwrite a device, as `safety: destroys:` does in a plan. Can be repeated.",
)  # fmt: skip
@click.option(
    "--overwrite", is_flag=True, help="With --destroys: overwrite the device even if it contains data or a file system."
)
@YES
@click.option("--dry-run", is_flag=True, help="Show the same preview as `asct plan` and measure nothing.")
@SHOW_COMMANDS
@shared_options
def command(
    options: GlobalOptions, words: tuple[str, ...], address: str | None, form: str, output_dir: str | None, **more: Any
) -> int:
    """Run benchmarks by name, alias or keyword, without writing a plan.

    SELECT is the name or an alias of a benchmark, a keyword, `all`, or `default` (used if nothing is selected).
    `^SELECT` excludes benchmarks. `all` leaves out benchmarks that take more than an hour or write more than 100 GiB,
    unless SELECT also names them. asct also runs the benchmarks that the selected ones need. The output directory has
    the same layout as a run folder in the results tree, and also contains a PNG picture of each figure.
    """
    from asct.analysis.retention import unwritten
    from asct.cli.execution import execute
    from asct.cli.files import check_folder
    from asct.cli.preview_text import dry_run, require_confirmation
    from asct.cli.reports import view_of, write_pictures
    from asct.engine.options import RunOptions
    from asct.plan.findings import Findings
    from asct.store.prune import clear_run

    selected = tuple(word for word in words if not _names_setting(word))
    assignments = (*more["assignments"], *(word for word in words if _names_setting(word)))
    request = _Request(selected, assignments, more["config_file"], address, more["destroys"], more["overwrite"])
    preview = more["dry_run"] or more["show_commands"]
    folder = Path(output_dir or f"data.{datetime.now(UTC):%Y%m%d_%H%M%S_%f}")
    findings = Findings()
    if not preview:
        with _reporting(findings):
            check_folder(str(folder), more["force"])
    resolved = _plan(options, request, findings)
    if preview:
        return dry_run(options, [resolved], more["show_commands"])
    if not more["yes"]:
        require_confirmation([resolved])
    if more["force"]:
        clear_run(folder, unwritten)
    how = RunOptions(folder=folder, wait_s=more["wait"] or 0.0)
    outcome = execute(options, resolved, how, results=form != "stdout")
    view = view_of(outcome.folder)
    _print_results(options, view, form)
    if outcome.exit_code < INTERRUPTED:  # a user who interrupts a run does not want to wait for pictures
        write_pictures(options.console, view)
    return outcome.exit_code


def _print_results(options: GlobalOptions, view: RunView, form: str) -> None:
    """Print the tables, or write the files of the requested format."""
    from asct.cli.reports import print_tables
    from asct.export import write_all
    from asct.store.folders import hold_lock
    from asct.store.layout import RunLayout

    if form != "stdout":
        with hold_lock(RunLayout(view.root).lock):
            paths = write_all(view, (form,), view.root)
        for path in paths[form]:
            options.console.line(str(path))
    elif not (options.json or options.quiet):
        print_tables(options.console, view)


def _names_setting(word: str) -> bool:
    """Return whether an argument is another setting for --user-config (`ls.stride=128`): unlike a benchmark name, a
    setting contains a dot."""
    return "=" in word or "." in word


@contextmanager
def _reporting(findings: Findings) -> Iterator[None]:
    """Add a usage error to `findings`, so that it is reported together with the other errors."""
    from asct.errors import UsageError

    try:
        yield
    except UsageError as problem:
        findings.add(*problem.diagnostics)


class _Request(NamedTuple):
    """The arguments of the command: selected words, settings (`bench.setting=value`), a settings file, a host and
    consents."""

    words: tuple[str, ...]
    assignments: tuple[str, ...]
    config: str | None
    address: str | None
    destroys: tuple[str, ...]
    overwrite: bool


def _plan(options: GlobalOptions, request: _Request, findings: Findings) -> ResolvedPlan:
    """Return the plan that the arguments describe. Raises an AsctError that contains all errors in the arguments,
    including `findings`."""
    from asct.cli import adhoc
    from asct.cli.loading import beside, load
    from asct.cli.places import OPTION, moving, words_text
    from asct.cli.targets import as_plan
    from asct.diagnostics.wording import WITHOUT_PLAN
    from asct.planner.keywords import chosen_by
    from asct.registry import installed

    catalog, texts = installed(), options.console.files
    texts[WITHOUT_PLAN], spans = words_text(request.words)
    texts[OPTION] = "\n".join(request.assignments)
    chosen = {item.info.name: item for item in chosen_by(spans, catalog.infos, findings)}
    from_file = adhoc.file_settings(request.config, catalog, texts, findings) if request.config else {}
    assigned = adhoc.user_settings(request.assignments, catalog, findings, chosen)
    changes = {name: {**from_file.get(name, {}), **assigned.get(name, {})} for name in {**from_file, **assigned}}
    values = adhoc.plain(changes)
    spec = _host(request.address, findings)
    destroys = _consents(request, values, spec, findings)

    def require_selected() -> None:
        adhoc.require_selected(chosen, assigned, "`--user-config`", findings)
        adhoc.require_selected(chosen, adhoc.changed(from_file, catalog), f"`{request.config}`", findings)

    def plan_of(names: Iterable[str], warn: bool) -> ResolvedPlan:
        text = adhoc.plan_text(names, values, as_plan(spec), destroys)
        move = moving(changes, WITHOUT_PLAN, text)
        found = load(options, WITHOUT_PLAN, PlanSelection(), text=text, warn=warn, move=move)
        reasons = {name: item.reason for name, item in chosen.items()}
        return found._replace(jobs=tuple(job._replace(reason=reasons.get(job.id, job.reason)) for job in found.jobs))

    require_selected()
    if findings.failed:  # settings are checked even if their benchmark is not selected
        with beside(findings):
            if names := {**chosen, **changes}:
                plan_of(names, False)
    if "all" in request.words:
        chosen = _without_large(options, chosen, plan_of(chosen, False))
        require_selected()
        findings.require()
    return plan_of(chosen, True)


def _host(address: str | None, findings: Findings) -> HostSpec:
    """Return the host to measure. If the address is invalid, report an error and return this machine."""
    from asct.cli.targets import host_of

    with _reporting(findings):
        return host_of(address)
    return host_of(None)


def _consents(request: _Request, values: Settings, spec: HostSpec, findings: Findings) -> list[dict[str, Any]]:
    """Return the `safety: destroys:` entries for the options `--destroys` and `--overwrite`."""
    from asct.cli.adhoc import consents

    if request.overwrite and not request.destroys:
        message = "--overwrite applies only to devices given with --destroys"
        findings.error("E910", message, None, "for files, use the setting `overwrite`")
    names = {request.address or "local": spec.name, spec.address: spec.name}
    entries = consents(request.destroys, values, names, findings)
    return [{**entry, "overwrite": request.overwrite} for entry in entries]


def _without_large(
    options: GlobalOptions, chosen: Mapping[str, Chosen[BenchmarkInfo]], plan: ResolvedPlan
) -> dict[str, Chosen[BenchmarkInfo]]:
    """Return the benchmarks that `all` includes, and print the names of the excluded ones. Raises UsageError if none
    remains."""
    from asct.cli.preview_text import preview_of
    from asct.cli.text import short_time
    from asct.diagnostics.model import Diagnostic
    from asct.errors import UsageError
    from asct.planner.budget import too_large
    from asct.planner.keywords import UNNAMED
    from asct.values.quantity import format_quantity
    from asct.values.text import counted

    jobs = {item.job.benchmark: item for host in preview_of(plan).hosts for item in host.jobs}
    unnamed = [item.info for item in chosen.values() if item.unnamed]
    large = [info.name for info in unnamed if too_large(jobs[info.name]) or UNNAMED in info.keywords]
    if large:
        title = f"`all` leaves out {counted(len(large), 'benchmark')}; name a benchmark to include it"
        options.console.line(f"{title}, e.g. `asct run all {large[0]}`:")
    for name in large:
        size = format_quantity(sum(jobs[name].cost.likely_writes.values()), "B")
        options.console.line(f"  {name}: about {short_time(jobs[name].cost.seconds)}, writes about {size}")
    remaining = {name: item for name, item in chosen.items() if name not in large}
    if not remaining:
        hint = "specify a benchmark, e.g. `asct run storage-iops`"
        raise UsageError(Diagnostic("E913", "`all` leaves out every selected benchmark", hint=hint))
    return remaining
