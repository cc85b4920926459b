"""`asct network-info`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from asct.cli.options import GlobalOptions, ReportRequest, report_options, shared_options

if TYPE_CHECKING:
    from asct.sdk.facts import HostFacts


@click.command("network-info", short_help="Show the addresses and network interfaces of a machine.")
@report_options("network_info.csv", "report.json", several=True)
@shared_options
def command(options: GlobalOptions, request: ReportRequest) -> int:
    """Show the addresses and network interfaces of this machine, of other hosts, or of a snapshot.

    Sends nothing to any address. Exit code 3 if a host could not be read.
    """
    from asct.cli.machines import FactsDocument, print_facts, read_machines

    request.check()
    found = read_machines(options, request)
    print_facts(options, request, found, FactsDocument("network_info", _document, below="network"))
    return found.exit_code


def _document(facts: HostFacts) -> dict[str, Any]:
    """The network facts, under their own schema."""
    included = {"host", "collected_at", "network", "unknown", "notes"}
    whole = facts.model_dump(mode="json", by_alias=True, include=included)
    unknown = {name: why for name, why in whole.pop("unknown").items() if name.partition(".")[0] == "network"}
    return {"schema": "asct.network/1", **whole, "unknown": unknown}
