"""`asct doctor [PLAN]`."""

from __future__ import annotations

import tempfile
import textwrap
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import TYPE_CHECKING

import click

from asct.cli.options import Settings, shared_options
from asct.cli.words import counted
from asct.engine.forks import FORKS

if TYPE_CHECKING:
    from asct.cli.console import Console
    from asct.doctor import Disk, HostReport, Objection
    from asct.plan.model import Destroys, HostSpec

_NOT_LOOKED_AT = 3
_NARROWEST = 40


@click.command("doctor", short_help="Look at the hosts of a plan, or this machine; changes nothing.")
@click.argument("plan", metavar="[PLAN]", required=False, type=click.Path())
@click.option(
    "--host", "hosts", multiple=True, metavar="H", help="Only this host; without a plan [USER@]ADDRESS[:PORT]."
)
@shared_options
def command(settings: Settings, plan: str | None, hosts: tuple[str, ...]) -> int:
    """Look at the hosts of a plan, or at this machine: each block device, whether a job could write to it, and why not.

    Reads only, and never runs sudo. Exit code 3 when a host could not be looked at.
    """
    from asct.doctor import examine
    from asct.engine.ports import default_collaborators

    specs, given_up, folder = _chosen(settings, plan, hosts)
    ports = default_collaborators()
    with tempfile.TemporaryDirectory(prefix="asct-doctor-") as raw:

        def look(spec: HostSpec) -> HostReport:
            mine = [item for item in given_up if item.host == spec.name]
            return examine(spec, ports, Path(raw, spec.name), folder, mine)

        with ThreadPoolExecutor(min(FORKS, len(specs))) as pool:
            reports = list(pool.map(look, specs))
    if settings.json:
        from asct.doctor.model import SCHEMA

        settings.console.document({"schema": SCHEMA, "hosts": [report.to_json() for report in reports]})
    else:
        for number, report in enumerate(reports):
            _print(settings.console, report, first=number == 0)
    return 0 if all(report.status == "ok" for report in reports) else _NOT_LOOKED_AT


def _chosen(
    settings: Settings, plan: str | None, hosts: Sequence[str]
) -> tuple[list[HostSpec], Sequence[Destroys], Path]:
    """The hosts to look at, what a plan gives up on them, and where the relative paths of the plan start."""
    from asct.cli.targets import host_of

    if plan is None:
        return [host_of(name) for name in hosts or (None,)], (), Path.cwd()
    from asct.cli.loading import Choice, load

    resolved = load(settings, plan, Choice(hosts=tuple(hosts)))
    return list(resolved.hosts.values()), resolved.safety.destroys, Path(plan).resolve().parent


def _print(console: Console, report: HostReport, *, first: bool) -> None:
    if not first:
        console.result("")
    place = f" ({report.transport} {report.address})" if report.address else f" ({report.transport})"
    console.result(f"{report.name}{place}: {report.description or report.status}")
    console.diagnostics(report.problems)
    if report.status != "ok":
        return
    able = sum(disk.with_overwrite for disk in report.disks)
    console.result(f"  {counted(len(report.disks), 'block device')}, {able} of which a job could write to with consent")
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
    from asct.values.quantity import format_quantity

    size = format_quantity(disk.bytes, "B") if disk.bytes is not None else "unknown size"
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


def _why(item: Objection) -> str:
    why = item.detail or "did not pass"
    return f"{item.check}: could not be seen: {why}" if item.ok is None else f"{item.check}: {why}"


def _wrapped(text: str, indent: str, width: int) -> list[str]:
    return textwrap.wrap(
        text, max(width, _NARROWEST), initial_indent=indent, subsequent_indent=f"{indent}  ", break_long_words=False
    )
