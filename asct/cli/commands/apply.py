"""The main command: `asct apply PLAN...`."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from asct.cli.loading import load_all
from asct.cli.options import (
    CI,
    FORKS,
    INTERRUPTED,
    LABEL,
    SHOW_COMMANDS,
    WAIT,
    YES,
    Duration,
    GlobalOptions,
    PlanSelection,
    plan_options,
    results_option,
    shared_options,
)
from asct.engine.options import RunOptions

if TYPE_CHECKING:
    from asct.planner.model import ResolvedPlan


@click.command("apply", short_help="Run plans: measure, judge the results, and write the reports.")
@click.argument("plans", nargs=-1, metavar="PLAN...", type=click.Path())
@results_option()
@click.option("--dry-run", is_flag=True, help="Show the same preview as `asct plan` and measure nothing.")
@SHOW_COMMANDS
@YES
@FORKS
@click.option("--timeout", type=Duration(), metavar="DURATION", help="Time limit for the whole run, e.g. 2h.")
@click.option("--fail-fast", is_flag=True, help="Stop at the first failed measurement.")
@click.option(
    "--resume",
    is_flag=False,
    flag_value="latest",
    metavar="[RUN]",
    help="Resume a run: measure only its missing points. Default: the latest run of the plan.",
)
@click.option(
    "--reuse",
    type=Duration(),
    metavar="AGE",
    help="Reuse points measured within AGE (e.g. 7d) if nothing they depend on has changed.",
)
@WAIT
@click.option("--approve", metavar="HASH", help="Run the plan only if its hash, which `asct plan` shows, is HASH.")
@LABEL
@CI
@plan_options
@shared_options
def command(options: GlobalOptions, plans: tuple[str, ...], selection: PlanSelection, **values: Any) -> int:
    """Run plans: measure, judge the results against the expectations, and write the reports.

    If several plans are given, they run one after the other, and the exit code reflects the run with the most severe
    outcome.
    """
    from asct.cli.ci import reporting

    with reporting(options, values["ci"]):
        return _apply(options, plans, selection, values)


def _apply(options: GlobalOptions, plans: tuple[str, ...], selection: PlanSelection, values: dict[str, Any]) -> int:
    from asct.cli.preview_text import dry_run, require_confirmation

    plans, resume = _plans_and_resume(plans, values["resume"])
    resolved = load_all(options, plans, selection)
    if values["approve"] is not None:
        _check_hash(resolved, values["approve"])
    if values["dry_run"] or values["show_commands"]:
        return dry_run(options, resolved, values["show_commands"])
    if resume is None and not values["yes"]:
        require_confirmation(resolved)
    worst, options.runs_left = 0, len(resolved)
    for plan in resolved:
        worst = max(worst, _measure(options, plan, values, resume))
        if worst > INTERRUPTED:
            break
    return worst


def _plans_and_resume(plans: tuple[str, ...], resume: str | None) -> tuple[tuple[str, ...], str | None]:
    """Return the plans and the run to resume. With `--resume plan.yaml`, the option's argument is a plan."""
    if not plans and resume is not None:
        plans, resume = (resume,), "latest"
    if not plans:
        raise click.UsageError("Missing argument 'PLAN...'.")
    if resume not in (None, "latest") and len(plans) > 1:
        raise click.UsageError(f"--resume {resume} specifies one run, but {len(plans)} plans are given")
    return plans, resume


def _measure(options: GlobalOptions, plan: ResolvedPlan, values: dict[str, Any], resume: str | None) -> int:
    from asct.cli.execution import execute, resume_run

    how = RunOptions(
        results=Path(values["results"]),
        forks=values["forks"],
        timeout_s=values["timeout"],
        fail_fast=values["fail_fast"],
        reuse_s=values["reuse"],
        wait_s=values["wait"] or 0.0,
        label=values["label"],
    )
    if resume is None:
        return execute(options, plan, how, ci=values["ci"]).exit_code
    run = f"{plan.name}/latest" if resume == "latest" else resume
    return resume_run(options, run, how, ci=values["ci"], plan=plan)


def _check_hash(plans: list[ResolvedPlan], approved: str) -> None:
    """Raise SafetyError unless `approved` has at least 8 digits and the hash of every plan starts with it."""
    from asct.diagnostics.model import Diagnostic
    from asct.errors import SafetyError

    for plan in plans:
        if len(approved) < 8 or not plan.hash.startswith(approved.lower()):
            message = f"plan `{plan.name}` has hash {plan.hash[:12]}, not the approved hash {approved}"
            hint = "review it with `asct plan`; give at least 8 digits of the hash"
            raise SafetyError(Diagnostic("E914", message, hint=hint))
