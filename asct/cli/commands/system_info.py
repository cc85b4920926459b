"""The command `asct system-info`."""

from __future__ import annotations

from pathlib import Path

import click

from asct.cli.options import GlobalOptions, ReportRequest, report_options, shared_options


@click.command("system-info", short_help="Show the hardware, firmware, Linux kernel and tools of a machine.")
@report_options("system_info.csv", "report.json", several=True)
@click.option("--topology", is_flag=True, help="Draw the topology. With --output-dir, also write topology.svg.")
@click.option(
    "--compare", "base", metavar="BASE", type=click.Path(),
    help="Show only the differences from BASE: a snapshot, a run, or facts from a run (facts/HOST.json).",
)  # fmt: skip
@shared_options
def command(options: GlobalOptions, request: ReportRequest, topology: bool, base: str | None) -> int:
    """Show the facts of this machine, of other hosts, or of a snapshot.

    Unknown facts are listed at the end, with the reason. Many facts about the firmware require root. The exit code is
    3 if a host could not be read.
    """
    from asct.cli.machines import print_facts, read_machines

    request.check()
    _check_topology(options, request, topology, base)
    if base is not None:
        return _compare(options, request, Path(base))
    found = read_machines(options, request)
    print_facts(options, request, found, topology=topology)
    return found.exit_code


def _check_topology(options: GlobalOptions, request: ReportRequest, topology: bool, base: str | None) -> None:
    """Raise UsageError if --topology would have no effect."""
    if topology and base is not None:
        raise click.UsageError(
            "--topology draws one machine, whereas --compare compares two; use only one of these options"
        )
    if topology and request.output_dir is None and (options.json or request.form != "stdout"):
        raise click.UsageError(
            "--topology prints a text diagram or writes files to --output-dir; use --format stdout or add --output-dir"
        )


def _compare(options: GlobalOptions, request: ReportRequest, base: Path) -> int:
    from asct.cli.machines import print_comparison, read_machines, read_snapshot

    if len(request.hosts) > 1:
        raise click.UsageError("--compare takes one machine: use one --host, or --from")
    found = read_machines(options, request)
    if options.json:
        options.console.diagnostics(found.problems)
    for facts in found.facts:
        print_comparison(options, request, read_snapshot(options, base, facts.host), facts)
    return found.exit_code
