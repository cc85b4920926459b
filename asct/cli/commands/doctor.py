"""The command `asct doctor [PLAN]`."""

from __future__ import annotations

import tempfile
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import TYPE_CHECKING

import click

from asct.cli.options import FORCE_HELP, GlobalOptions, PlanSelection, shared_options
from asct.engine.options import FORKS

if TYPE_CHECKING:
    from asct.cli.console import Console
    from asct.doctor.model import HostReport
    from asct.plan.model import HostSpec
    from asct.planner.model import ResolvedPlan

_UNREADABLE = 3


@click.command("doctor", short_help="Find conditions that disturb measurements, without changing the hosts.")
@click.argument("plan", metavar="[PLAN]", required=False, type=click.Path())
@click.option(
    "--host",
    "hosts",
    multiple=True,
    metavar="H",
    help="Check only this host of the plan. Without a plan, check [USER@]ADDRESS[:PORT].",
)
@click.option("--fix-script", is_flag=True, help="Print a script that root can run to apply or undo the fixes.")
@click.option(
    "-o",
    "--output-dir",
    type=click.Path(file_okay=False),
    help="With --fix-script: write one file per host to DIRECTORY.",
)
@click.option("--force", is_flag=True, help=FORCE_HELP)
@shared_options
def command(
    options: GlobalOptions,
    plan: str | None,
    hosts: tuple[str, ...],
    fix_script: bool,
    output_dir: str | None,
    force: bool,
) -> int:
    """Check the hosts of a plan, or this machine, for conditions that disturb measurements.

    The report explains how each condition affects the results, how to fix it, and how to undo the fix. It also lists
    every block device and, if asct would refuse to write to a device, the reasons. With a plan, disturbances that
    affect the plan come first.

    The command never runs sudo and writes nothing except asct's cache in the account's home directory. The exit code
    is 3 if a host could not be checked.
    """
    from asct.cli.files import output_folder
    from asct.cli.loading import load
    from asct.cli.targets import host_of

    resolved = load(options, plan, PlanSelection(hosts=hosts)) if plan is not None else None
    specs = list(resolved.hosts.values()) if resolved else [host_of(name) for name in hosts or (None,)]
    _check_usage(options, fix_script, output_dir, len(specs))
    folder = output_folder(output_dir, force) if output_dir is not None else None
    reports = _examine(specs, resolved, Path(plan).resolve().parent if plan else Path.cwd())
    if fix_script:
        _write_scripts(options.console, reports, folder, force)
    elif options.json:
        from asct.doctor.model import SCHEMA

        options.console.document({"schema": SCHEMA, "hosts": [report.to_json() for report in reports]})
    else:
        for number, report in enumerate(reports):
            if number:
                options.console.result("")
            _print(options.console, report)
    return 0 if all(report.status == "ok" for report in reports) else _UNREADABLE


def _check_usage(options: GlobalOptions, fix_script: bool, output_dir: str | None, hosts: int) -> None:
    if output_dir is not None and not fix_script:
        raise click.UsageError("`--output-dir` requires `--fix-script`")
    if fix_script and options.json:
        raise click.UsageError(
            "`--fix-script` cannot be combined with `--json`; `--json` alone prints the same fixes under the keys "
            "`fix` and `settings`"
        )
    if fix_script and hosts > 1 and output_dir is None:
        raise click.UsageError(
            f"each of the {hosts} hosts needs its own script; add `-o DIRECTORY`, or select one host"
        )


def _examine(specs: Sequence[HostSpec], resolved: ResolvedPlan | None, folder: Path) -> list[HostReport]:
    """Check the hosts in parallel. Relative paths in a plan are resolved against `folder`."""
    from asct.doctor.examine import examine
    from asct.engine.services import default_services

    services = default_services()
    with tempfile.TemporaryDirectory(prefix="asct-doctor-") as raw:

        def one(spec: HostSpec) -> HostReport:
            if resolved is None:
                return examine(spec, services, Path(raw, spec.name), folder)
            destroys = [item for item in resolved.safety.destroys if item.host == spec.name]
            jobs = [job for job in resolved.jobs if job.host == spec.name]
            return examine(spec, services, Path(raw, spec.name), folder, destroys, jobs)

        with ThreadPoolExecutor(min(FORKS, len(specs))) as pool:
            return list(pool.map(one, specs))


def _write_scripts(console: Console, reports: Sequence[HostReport], folder: Path | None, force: bool) -> None:
    """Print the script, or write one file per host and print their paths.

    A host that could not be read has no script.
    """
    from asct.disturbances.script import script
    from asct.store.layout import safe_name
    from asct.store.outputs import write_output

    for report in reports:
        console.diagnostics(report.problems)
        if not report.collected_at:
            continue
        file = folder / f"{safe_name(report.name)}.sh" if folder is not None else None
        findings = report.findings if report.subjects is None else report.touching()
        text = script(report.name, report.collected_at, findings, file.name if file is not None else "FILE")
        if file is None:
            click.echo(text, nl=False)
        else:
            write_output(file, text, force=force)
            console.result(str(file))


def _print(console: Console, report: HostReport) -> None:
    from asct.cli.doctor_text import disk_lines, disturbance_lines, heading

    for part in heading(report, console.width):
        console.result(part)
    console.diagnostics(report.problems)
    if report.collected_at:
        console.result("")
        for line in disturbance_lines(report, console.width, verbose=console.style.verbosity > 0):
            console.result(line)
    if report.status != "ok":
        return
    console.result("")
    for part in disk_lines(report.disks, console.width):
        console.result(part)
    for item in report.consents:
        verdict = "asct would refuse to write to it:" if item.refusals else "all checks passed"
        console.result("")
        console.result(f"  {item.device}, which the plan may overwrite: {verdict}")
        console.diagnostics(item.refusals)
