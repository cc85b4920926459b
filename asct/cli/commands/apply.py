"""`asct apply PLAN...`, the main command."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from asct.cli.durations import Duration
from asct.cli.loading import Choice, choice_options, load_all
from asct.cli.options import Settings, shared_options
from asct.engine.options import FORKS, RunOptions

if TYPE_CHECKING:
    from asct.planner.model import ResolvedPlan


@click.command("apply", short_help="Measure what a plan names, judge it, write the report.")
@click.argument("plans", nargs=-1, metavar="PLAN...", type=click.Path())
@click.option("--results", type=click.Path(), default="results", show_default=True, help="The results tree.")
@click.option("--dry-run", is_flag=True, help="Show the commands that would be run; touches no host.")
@click.option("--forks", type=click.IntRange(1, 1024), default=FORKS, show_default=True, help="Hosts at a time.")
@click.option("--timeout", type=Duration(), metavar="DURATION", help="For the whole run: 2h.")
@click.option("--fail-fast", is_flag=True, help="Stop at the first measurement that fails.")
@click.option(
    "--resume", is_flag=False, flag_value="latest", metavar="[RUN]", help="Measure what that run of the plan lacks."
)
@click.option(
    "--reuse", type=Duration(), metavar="AGE",
    help="Take points that an earlier run measured not longer ago (7d), if nothing has changed since.",
)  # fmt: skip
@click.option("--approve", metavar="HASH", help="Run a plan only if this is the hash that `asct plan` showed.")
@click.option("--label", metavar="L", help="A name for the run.")
@click.option("--ci", is_flag=True, help="For CI: plain lines, junit.xml, annotations under GitHub Actions.")
@shared_options
@choice_options
def command(settings: Settings, plans: tuple[str, ...], choice: Choice, **given: Any) -> int:
    """Validate a plan, measure what it names, judge what it expects, and write the report.

    Several plans run one after the other; the exit code is that of the gravest outcome.
    """
    from asct.cli.dryrun import dry_run

    if given["ci"]:
        settings.progress, settings.colour = False, "never"
    plans, resume = _what(plans, given["resume"])
    resolved = load_all(settings, plans, choice)
    if given["approve"] is not None:
        _approve(resolved, given["approve"])
    if given["dry_run"]:
        return max(dry_run(settings, plan) for plan in resolved)
    options = RunOptions(
        results=Path(given["results"]),
        forks=given["forks"],
        timeout_s=given["timeout"],
        reuse_s=given["reuse"],
        fail_fast=given["fail_fast"],
        label=given["label"],
    )
    worst = 0
    for plan in resolved:
        worst = max(worst, _measure(settings, plan, options, resume, ci=given["ci"]))
        if worst > 128:
            break
    return worst


def _what(plans: tuple[str, ...], resume: str | None) -> tuple[tuple[str, ...], str | None]:
    """The plans and the run to resume; in `--resume plan.yaml` the plan is meant."""
    if not plans and resume is not None:
        plans, resume = (resume,), "latest"
    if not plans:
        raise click.UsageError("Missing argument 'PLAN...'.")
    if resume not in (None, "latest") and len(plans) > 1:
        raise click.UsageError(f"--resume {resume} names one run, and {len(plans)} plans are given")
    return plans, resume


def _measure(settings: Settings, plan: ResolvedPlan, options: RunOptions, resume: str | None, *, ci: bool) -> int:
    from asct.cli.execution import execute, resume_run

    if resume is None:
        return execute(settings, plan, options, ci=ci).exit_code
    run = f"{plan.name}/latest" if resume == "latest" else resume
    return resume_run(settings, run, options, plan, ci=ci)


def _approve(plans: list[ResolvedPlan], approved: str) -> None:
    from asct.diagnostics.model import Diagnostic
    from asct.errors import SafetyError

    for plan in plans:
        if len(approved) < 8 or not plan.hash.startswith(approved.lower()):
            message = f"plan `{plan.name}` has the hash {plan.hash[:12]}, not the approved {approved}"
            hint = "look at it again with `asct plan`; at least 8 digits of the hash are needed"
            raise SafetyError(Diagnostic("E914", message, hint=hint))
