"""The command `asct network-info`."""

from __future__ import annotations

import click

from asct.cli.options import GlobalOptions, ReportRequest, report_options, shared_options


@click.command("network-info", short_help="Show the addresses and network interfaces of a machine.")
@report_options("network_info.csv", "report.json", several=True)
@shared_options
def command(options: GlobalOptions, request: ReportRequest) -> int:
    """Show the addresses and network interfaces of this machine, of other hosts, or of a snapshot.

    The command does not contact any of the addresses. The exit code is 3 if a host could not be read.
    """
    from asct.cli.machines import print_facts, read_machines

    request.check()
    found = read_machines(options, request)
    print_facts(options, request, found, network=True)
    return found.exit_code
