"""The command `asct resume [RUN]`."""

from __future__ import annotations

from pathlib import Path

import click

from asct.cli.completion import run_names
from asct.cli.options import CI, FORKS, WAIT, GlobalOptions, results_option, shared_options
from asct.engine.options import RunOptions


@click.command("resume", short_help="Measure the missing and failed points of a run.")
@click.argument("run", default="latest", shell_complete=run_names)
@results_option()
@FORKS
@WAIT
@CI
@shared_options
def command(options: GlobalOptions, run: str, results: str, forks: int, wait: float | None, ci: bool) -> int:
    """Measure the missing and failed points of a run, and write its reports again.

    The run continues with the plan that it started with.

    RUN is a directory, a run id (or its first characters), a label, or `latest`. To select a run of a particular plan,
    write PLAN/ID, PLAN/LABEL or PLAN/latest.
    """
    from asct.cli.ci import reporting
    from asct.cli.execution import resume_run

    how = RunOptions(results=Path(results), forks=forks, wait_s=wait or 0.0)
    with reporting(options, ci):
        return resume_run(options, run, how, ci=ci)
