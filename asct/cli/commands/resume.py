"""`asct resume [RUN]`."""

from __future__ import annotations

from pathlib import Path

import click

from asct.cli.options import Settings, shared_options
from asct.engine.options import FORKS, RunOptions


@click.command("resume", short_help="Measure the missing and failed points of a run.")
@click.argument("run", default="latest")
@click.option("--results", type=click.Path(), default="results", show_default=True, help="The results tree.")
@click.option("--forks", type=click.IntRange(1, 1024), default=FORKS, show_default=True, help="Hosts at a time.")
@click.option("--ci", is_flag=True, help="For CI: plain lines, junit.xml, annotations under GitHub Actions.")
@shared_options
def command(settings: Settings, run: str, results: str, forks: int, ci: bool) -> int:
    """Measure the missing and failed points of a run, and write its report again.

    The plan is the one the run began with. RUN is a path, a run id or its start, a label, `latest`, or PLAN/latest.
    """
    from asct.cli.execution import resume_run

    if ci:
        settings.progress, settings.colour = False, "never"
    return resume_run(settings, run, RunOptions(results=Path(results), forks=forks), ci=ci)
