"""`asct doctor [PLAN]`."""

from __future__ import annotations

import tempfile
import textwrap
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import click

from asct.cli.disturbed import disturbed_lines
from asct.cli.files import output_folder, write_text
from asct.cli.options import Settings, shared_options
from asct.cli.sections import wrapped
from asct.cli.words import counted
from asct.engine.options import FORKS

if TYPE_CHECKING:
    from asct.cli.console import Console
    from asct.doctor import Disk, FailedCheck, HostReport
    from asct.engine.services import Services
    from asct.plan.model import Destroys, HostSpec
    from asct.planner.model import Job

_NOT_LOOKED_AT = 3
_NARROWEST = 40


@click.command("doctor", short_help="Look at the hosts of a plan, or this machine; changes nothing.")
@click.argument("plan", metavar="[PLAN]", required=False, type=click.Path())
@click.option(
    "--host", "hosts", multiple=True, metavar="H", help="Only this host; without a plan [USER@]ADDRESS[:PORT]."
)
@click.option("--fix-script", is_flag=True, help="Print a script for root that applies the fixes, and undoes them.")
@click.option(
    "-o", "--output-dir", type=click.Path(file_okay=False), help="With --fix-script: one file for each host, there."
)
@click.option("--force", is_flag=True, help="Use an output folder that exists.")
@shared_options
def command(
    settings: Settings,
    plan: str | None,
    hosts: tuple[str, ...],
    fix_script: bool,
    output_dir: str | None,
    force: bool,
) -> int:
    """Look at the hosts of a plan, or at this machine.

    What disturbs measurement there, with its effect on the results, fix and undo; each block device, whether a job
    could write to it, and why not. With a plan, first what touches what it measures.

    Reads only, and never runs sudo. Exit code 3 when a host could not be looked at.
    """
    from asct.engine.services import default_services

    asked = _chosen(settings, plan, hosts)
    _check_usage(settings, fix_script, output_dir, len(asked.specs))
    place = output_folder(output_dir, force) if output_dir is not None else None
    reports = _look(asked, default_services())
    if fix_script:
        _write_scripts(settings.console, reports, place)
    elif settings.json:
        from asct.doctor.model import SCHEMA

        settings.console.document({"schema": SCHEMA, "hosts": [report.to_json() for report in reports]})
    else:
        for number, report in enumerate(reports):
            _print(settings.console, report, first=number == 0)
    return 0 if all(report.status == "ok" for report in reports) else _NOT_LOOKED_AT


@dataclass(frozen=True)
class _Asked:
    """The hosts to look at, what a plan gives up on them, where its relative paths start, its jobs (None: no plan)."""

    specs: list[HostSpec]
    given_up: Sequence[Destroys]
    folder: Path
    jobs: Sequence[Job] | None = None


def _check_usage(settings: Settings, fix_script: bool, output_dir: str | None, hosts: int) -> None:
    if output_dir is not None and not fix_script:
        raise click.UsageError("`--output-dir` goes with `--fix-script`")
    if fix_script and settings.json:
        raise click.UsageError("`--fix-script` prints a script; `--json` has the same fixes, as `fix` and `settings`")
    if fix_script and hosts > 1 and output_dir is None:
        raise click.UsageError(f"{hosts} hosts have a script each: name a folder for them (`-o`), or one `--host`")


def _look(asked: _Asked, ports: Services) -> list[HostReport]:
    """Every host at the same time."""
    from asct.doctor import examine

    with tempfile.TemporaryDirectory(prefix="asct-doctor-") as raw:

        def look(spec: HostSpec) -> HostReport:
            mine = [item for item in asked.given_up if item.host == spec.name]
            jobs = None if asked.jobs is None else [job for job in asked.jobs if job.host == spec.name]
            return examine(spec, ports, Path(raw, spec.name), asked.folder, mine, jobs)

        with ThreadPoolExecutor(min(FORKS, len(asked.specs))) as pool:
            return list(pool.map(look, asked.specs))


def _write_scripts(console: Console, reports: Sequence[HostReport], place: Path | None) -> None:
    """To standard output, or a file for each host, named; a host that could not be looked at has none."""
    from asct.disturbances.script import script
    from asct.store.layout import safe_name

    for report in reports:
        console.diagnostics(report.problems)
        if not report.collected_at:
            continue
        file = place / f"{safe_name(report.name)}.sh" if place is not None else None
        findings = report.findings if report.subjects is None else report.touching()
        text = script(report.name, report.collected_at, findings, file.name if file is not None else "FILE")
        if file is None:
            click.echo(text, nl=False)
        else:
            write_text(file, text)
            console.result(str(file))


def _chosen(settings: Settings, plan: str | None, hosts: Sequence[str]) -> _Asked:
    from asct.cli.targets import host_of

    if plan is None:
        return _Asked([host_of(name) for name in hosts or (None,)], (), Path.cwd())
    from asct.cli.loading import Choice, load

    resolved = load(settings, plan, Choice(hosts=tuple(hosts)))
    specs = list(resolved.hosts.values())
    return _Asked(specs, resolved.safety.destroys, Path(plan).resolve().parent, resolved.jobs)


def _print(console: Console, report: HostReport, *, first: bool) -> None:
    if not first:
        console.result("")
    place = f" ({report.transport} {report.address})" if report.address else f" ({report.transport})"
    for part in wrapped(f"{report.name}{place}: {report.description or report.status}", console.out.width, ""):
        console.result(part)
    console.diagnostics(report.problems)
    if report.collected_at:
        console.result("")
        for line in disturbed_lines(report, console.out.width, whole=console.look.verbosity > 0):
            console.result(line)
    if report.status != "ok":
        return
    console.result("")
    able = sum(disk.with_overwrite for disk in report.disks)
    count = f"{counted(len(report.disks), 'block device')}, {able} of which a job could write to with consent"
    for part in wrapped(count, console.out.width):
        console.result(part)
    for disk in report.disks:
        for line in _lines(disk, console.out.width):
            console.result(line)
    for item in report.consents:
        verdict = "would be written" if not item.refusals else "would be refused:"
        console.result("")
        console.result(f"  {item.device}, which the plan gives up: {verdict}")
        console.diagnostics(item.refusals)


def _lines(disk: Disk, width: int) -> list[str]:
    """A device: what it is, how a plan names it, and whether it could be a target."""
    from asct.analysis.machine.rows import decimal_size

    size = decimal_size(disk.bytes) or "unknown size"
    about = [disk.device, size, *(text for text in (disk.model,) if text)]
    lines = ["", f"  {'  '.join(about)}"]
    lines += [f"    by-id   {name}" for name in disk.names[:1]]
    lines += [f"    serial  {disk.serial}"] if disk.serial else []
    verdict = (
        "yes" if disk.target else "only with `overwrite: true` in `safety.destroys`" if disk.with_overwrite else "no"
    )
    lines.append(f"    target  {verdict}")
    for item in disk.objections:
        lines += _wrapped(_why(item), "      ", width)
    return lines


def _why(item: FailedCheck) -> str:
    why = item.detail or "did not pass"
    return f"{item.check}: could not be seen: {why}" if item.ok is None else f"{item.check}: {why}"


def _wrapped(text: str, indent: str, width: int) -> list[str]:
    return textwrap.wrap(
        text, max(width, _NARROWEST), initial_indent=indent, subsequent_indent=f"{indent}  ", break_long_words=False
    )
