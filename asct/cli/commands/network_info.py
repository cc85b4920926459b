"""`asct network-info`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from asct.cli.asked import ReportAsked, report_options
from asct.cli.options import Settings, shared_options

if TYPE_CHECKING:
    from asct.sdk.facts import HostFacts


@click.command("network-info", short_help="Show the addresses and network interfaces of a machine.")
@report_options("network_info.csv", "report.json", several=True)
@shared_options
def command(settings: Settings, asked: ReportAsked) -> int:
    """Show the addresses and interfaces of this machine, of hosts, or of one that a snapshot was kept of.

    Only looks: nothing is sent to any address. Exit code 3 when a host could not be looked at.
    """
    from asct.cli.inventory import Inventory, publish
    from asct.cli.machines import machines

    asked.check()
    found = machines(settings, asked)
    publish(settings, asked, found, Inventory("network_info", _document, below="network"))
    return found.exit_code


def _document(facts: HostFacts) -> dict[str, Any]:
    """The part of the facts, under a schema of its own."""
    taken = {"host", "collected_at", "network", "unknown", "notes"}
    whole = facts.model_dump(mode="json", by_alias=True, include=taken)
    unknown = {name: why for name, why in whole.pop("unknown").items() if name.partition(".")[0] == "network"}
    return {"schema": "asct.network/1", **whole, "unknown": unknown}
