"""The command `asct plan PLAN`."""

from __future__ import annotations

import json
import shlex
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from asct.cli.loading import baseline_warnings, load
from asct.cli.options import (
    RESULTS,
    Duration,
    GlobalOptions,
    PlanSelection,
    plan_options,
    results_option,
    shared_options,
)
from asct.values.duration import format_duration

if TYPE_CHECKING:
    from asct.planner.model import ResolvedPlan


@click.command("plan", short_help="Preview a plan without contacting a host.")
@click.argument("plan", metavar="PLAN", type=click.Path())
@click.option("--show-commands", is_flag=True, help="Print the shell commands instead of the preview.")
@click.option("--origin", is_flag=True, help="Show the origin of each setting.")
@click.option("--reuse", type=Duration(), metavar="AGE", help="Show how many points `apply --reuse AGE` could reuse.")
@results_option()
@click.option("-o", "--output", type=click.Path(dir_okay=False), help="Write the frozen plan to FILE, for `apply`.")
@click.option("--force", is_flag=True, help="Overwrite an existing FILE.")
@plan_options
@shared_options
def command(
    options: GlobalOptions,
    plan: str,
    show_commands: bool,
    origin: bool,
    output: str | None,
    force: bool,
    selection: PlanSelection,
    **before: Any,
) -> int:
    """Preview a plan without contacting a host: points, repeats, time per host, bytes written and privileges."""
    from asct.cli.preview_text import preview_of, print_origins, show_preview

    resolved = load(options, plan, selection)
    options.console.diagnostics(baseline_warnings(resolved, before["results"]))
    if output is not None:
        _freeze(options, resolved, output, force)
    if show_commands:
        from asct.cli.dryrun import print_commands

        print_commands(options, resolved)
        return 0
    show_preview(options, resolved, preview_of(resolved, _reusable(resolved, **before)))
    if options.json:
        return 0
    if origin:
        print_origins(options.console, resolved)
    if output is None:
        reuse = [] if before["reuse"] is None else ["--reuse", format_duration(before["reuse"])]
        results = [] if before["results"] == RESULTS else ["--results", before["results"]]
        options.console.line(f"next: asct apply {shlex.join([plan, *selection.arguments, *reuse, *results])}")
    return 0


def _reusable(resolved: ResolvedPlan, reuse: float | None, results: str) -> Mapping[str, int] | None:
    """Return the maximum number of points that each job can reuse from earlier runs, or None without --reuse."""
    if reuse is None:
        return None
    from asct.engine.reuse import earlier_runs, reusable
    from asct.registry import installed

    return reusable(resolved, installed(), earlier_runs(Path(results), reuse))


def _freeze(options: GlobalOptions, resolved: ResolvedPlan, output: str, force: bool) -> None:
    from asct.planner.freeze import freeze
    from asct.store.outputs import write_output

    write_output(Path(output), json.dumps(freeze(resolved), indent=1, allow_nan=False) + "\n", force=force)
    options.console.line(f"frozen plan written to {output}; next: asct apply {output} --approve {resolved.hash[:12]}")
