"""`asct system-info`."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from asct.cli.asked import ReportAsked, report_options
from asct.cli.options import Settings, shared_options

if TYPE_CHECKING:
    from asct.sdk.facts import HostFacts


@click.command("system-info", short_help="Show what a machine is: hardware, firmware, kernel, tools.")
@report_options("system_info.csv", "report.json", several=True)
@click.option("--topology", is_flag=True, help="Draw how it hangs together; with --output-dir topology.svg as well.")
@click.option(
    "--compare", "base", metavar="BASE", type=click.Path(),
    help="Show only what differs from BASE: a snapshot, the facts of a run (facts/HOST.json), or a run.",
)  # fmt: skip
@shared_options
def command(settings: Settings, asked: ReportAsked, topology: bool, base: str | None) -> int:
    """Show what is known of this machine, of hosts, or of one that a snapshot was kept of.

    Nothing is guessed: what is not known is listed at the end with the reason. Much of the firmware is told to root
    alone. Exit code 3 when a host could not be looked at.
    """
    from asct.cli.inventory import Inventory, publish
    from asct.cli.machines import machines

    asked.check()
    _check_topology(settings, asked, topology, base)
    if base is not None:
        return _compare(settings, asked, Path(base))
    found = machines(settings, asked)
    publish(settings, asked, found, Inventory("system_info", _document, topology=topology))
    return found.exit_code


def _check_topology(settings: Settings, asked: ReportAsked, topology: bool, base: str | None) -> None:
    """A drawing that would go nowhere is refused. Raises UsageError."""
    if topology and base is not None:
        raise click.UsageError("--topology draws one machine, --compare tells two apart: leave one out")
    if topology and asked.output_dir is None and (settings.json or asked.form != "stdout"):
        raise click.UsageError("--topology is drawn as text, or into the folder of --output-dir: name one")


def _document(facts: HostFacts) -> dict[str, Any]:
    return facts.model_dump(mode="json", by_alias=True)


def _compare(settings: Settings, asked: ReportAsked, base: Path) -> int:
    from asct.cli.comparing import publish
    from asct.cli.machines import kept_machine, machines

    if len(asked.hosts) > 1:
        raise click.UsageError("--compare takes one machine: give one --host, or --from")
    found = machines(settings, asked)
    if settings.json:
        settings.console.diagnostics(found.problems)
    for facts in found.facts:
        publish(settings, asked, kept_machine(settings, base, facts.host), facts)
    return found.exit_code
