"""`asct check PLAN...`."""

from __future__ import annotations

from collections.abc import Sequence

import click

from asct.cli.loading import Choice, choice_options, load
from asct.cli.options import Settings, shared_options
from asct.cli.words import counted
from asct.diagnostics.model import Diagnostic, errors
from asct.diagnostics.render import github_line
from asct.errors import PlanError


@click.command("check")
@click.argument("plans", nargs=-1, required=True, metavar="PLAN...", type=click.Path())
@click.option("--format", "form", type=click.Choice(["text", "json", "github"]), default="text", show_default=True)
@shared_options
@choice_options
def command(settings: Settings, plans: tuple[str, ...], form: str, choice: Choice) -> int:
    """Validate plans and say everything that is wrong. Touches no host."""
    settings.json = settings.json or form == "json"
    findings: list[Diagnostic] = []
    sizes: dict[str, tuple[int, int]] = {}
    for name in plans:
        try:
            resolved = load(settings, name, choice)
            sizes[name] = len(resolved.jobs), sum(len(job.points) for job in resolved.jobs)
        except PlanError as problem:
            findings += problem.diagnostics
    _show(settings, findings, sizes, form)
    return 2 if errors(findings) else 0


def _show(settings: Settings, findings: Sequence[Diagnostic], sizes: dict[str, tuple[int, int]], form: str) -> None:
    if settings.json:
        document = {
            "schema": "asct.check/1",
            "ok": not errors(findings),
            "plans": [{"plan": name, "jobs": jobs, "points": points} for name, (jobs, points) in sizes.items()],
            "diagnostics": [item.to_json() for item in findings],
        }
        settings.console.document(document)
        return
    if form == "github":
        for item in findings:
            settings.console.annotations(github_line(item))
        return
    settings.console.diagnostics(findings)
    for name, (jobs, points) in sizes.items():
        if not settings.quiet:
            settings.console.result(f"{name}: ok, {counted(jobs, 'job')}, {counted(points, 'point')}")
    number = len(errors(findings))
    if number:
        settings.console.line(counted(number, "error"))
