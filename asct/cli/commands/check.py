"""The command `asct check PLAN...`."""

from __future__ import annotations

from collections.abc import Sequence

import click

from asct.cli.loading import baseline_warnings, load
from asct.cli.options import GlobalOptions, PlanSelection, plan_options, results_option, shared_options
from asct.diagnostics.model import Diagnostic, errors
from asct.diagnostics.render import in_order
from asct.errors import PlanError
from asct.values.text import counted

_MOST_SHOWN = 200
"""Maximum number of findings in text output."""


@click.command("check", short_help="Validate plans without contacting a host.")
@click.argument("plans", nargs=-1, required=True, metavar="PLAN...", type=click.Path())
@click.option(
    "--format", "form", type=click.Choice(["text", "json", "github"]), default="text", show_default=True,
    help="Output format.",
)  # fmt: skip
@results_option()
@plan_options
@shared_options
def command(options: GlobalOptions, plans: tuple[str, ...], form: str, results: str, selection: PlanSelection) -> int:
    """Validate plans and print every error, without contacting a host.

    A baseline that does not exist in the results tree causes only a warning.
    """
    options.json = options.json or form == "json"
    findings: list[Diagnostic] = []
    sizes: dict[str, tuple[int, int]] = {}
    for name in plans:
        try:
            resolved = load(options, name, selection)
            findings += baseline_warnings(resolved, results)
            sizes[name] = len(resolved.jobs), sum(len(job.points) for job in resolved.jobs)
        except PlanError as problem:
            findings += problem.diagnostics
    _show(options, findings, sizes, form)
    return 2 if errors(findings) else 0


def _show(options: GlobalOptions, findings: Sequence[Diagnostic], sizes: dict[str, tuple[int, int]], form: str) -> None:
    if options.json:
        document = {
            "schema": "asct.check/1",
            "ok": not errors(findings),
            "errors": len(errors(findings)),
            "plans": [{"plan": name, "jobs": jobs, "points": points} for name, (jobs, points) in sizes.items()],
            "diagnostics": [item.to_json() for item in in_order(findings)],
        }
        options.console.document(document)
        return
    if form == "github":
        from asct.analysis.problems import problem_of
        from asct.export.github import annotate

        options.console.annotations(annotate(list(map(problem_of, in_order(findings))), "`asct check` prints them"))
        return
    options.console.diagnostics(in_order(findings)[:_MOST_SHOWN])
    for name, (jobs, points) in sizes.items():
        if not options.quiet:
            options.console.result(f"{name}: ok, {counted(jobs, 'job')}, {counted(points, 'point')}")
    number = len(errors(findings))
    if number:
        left = len(findings) - _MOST_SHOWN
        hidden = counted(left, "more finding is", "more findings are")
        more = f"; {hidden} not shown (`--json` lists them)" if left > 0 else ""
        options.console.line(f"{counted(number, 'error')}{more}")
