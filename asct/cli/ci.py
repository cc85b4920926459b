"""What `--ci` adds to a command: reports that CI servers read and, under GitHub Actions, annotations, a job summary and
the step output `run`."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from asct.analysis.budget import MOST_BYTES
from asct.analysis.ci import ci_job, gitlab_job
from asct.analysis.markup import SIGNS, code, escape, prose
from asct.analysis.problems import Problem, problem_of, problems_of
from asct.analysis.view import RunView
from asct.cli.console import Console
from asct.cli.options import GlobalOptions
from asct.diagnostics.render import in_order
from asct.errors import AsctError, StoreError, UsageError
from asct.export.github import annotate
from asct.export.markdown import within
from asct.store.files import writing
from asct.store.outputs import open_output

_MOST_LISTED = 100


def report_names(formats: Iterable[str]) -> tuple[str, ...]:
    """Return the report formats that a plan requests, followed by the formats that CI servers read."""
    gitlab = ("codequality",) if gitlab_job().server else ()
    return tuple(dict.fromkeys((*formats, "junit", "markdown", *gitlab)))


@contextmanager
def reporting(options: GlobalOptions, ci: bool) -> Iterator[None]:
    """With `ci`, print plain output, and report errors that end the command both as annotations and in the job
    summary."""
    if ci:
        options.progress, options.colour = False, "never"
    try:
        yield
    except AsctError as problem:
        if ci and ci_job().server == "github":
            problems = [problem_of(item) for item in in_order(problem.diagnostics)]
            text = _refusal(problems, problem.exit_code)
            options.console.annotations(annotate(problems, "see the log"))
            _append(options.console, "GITHUB_STEP_SUMMARY", lambda _: text)
        raise


def _refusal(problems: Sequence[Problem], exit_code: int) -> str:
    """Return the job summary for a command that ended before a run started."""
    lines = [f"{SIGNS['bad']} **asct exited with code {exit_code} before measuring anything**", ""]
    for item in problems[:_MOST_LISTED]:
        place = ":".join(str(part) for part in (item.file, item.line) if part)
        where = f"{code(place)}: " if place else ""
        lines.append(f"- **{escape(item.level)}** {code(item.title)} {where}{prose(item.message)}")
    left = len(problems) - _MOST_LISTED
    return "\n".join([*lines, *([f"- and {left} more"] if left > 0 else []), "", ""])


@contextmanager
def folded(console: Console, title: str) -> Iterator[None]:
    """Under GitHub Actions, fold progress printed in this context into a log group."""
    enabled = ci_job().server == "github" and not (console.style.quiet or console.style.json)
    if enabled:
        console.runner_command(f"::group::{title}")
    try:
        yield
    finally:
        if enabled:
            console.runner_command("::endgroup::")


def publish(console: Console, view: RunView) -> None:
    """Under GitHub Actions, annotate the plan, append the report to the job summary, and set the step output `run` to
    the path of the run folder."""
    if ci_job().server != "github":
        return
    console.annotations(annotate(problems_of(view), "see summary.md and junit.xml in the run folder"))
    _append(console, "GITHUB_STEP_SUMMARY", lambda room: within(view, room - 1) + "\n")
    folder = str(view.root)
    if folder.isprintable():  # a line break in the path would set further outputs
        _append(console, "GITHUB_OUTPUT", lambda _: f"run={folder}\n")


def _append(console: Console, variable: str, text_of: Callable[[int], str]) -> None:
    """Append text to the file whose path is in an environment variable. `text_of` receives the number of bytes that may
    be added. If writing fails, report the error instead of raising it, because the results are already in the run
    folder."""
    name = os.environ.get(variable)
    if not name:
        return
    path = Path(name)
    try:
        with writing(path), open_output(path, append=True) as target:
            room = MOST_BYTES - os.fstat(target.fileno()).st_size
            text = text_of(room)
            if len(text.encode()) <= room:
                target.write(text)
            else:
                console.line(f"the summary of this run does not fit into {path}: GitHub accepts at most 1 MiB per step")
    except (StoreError, UsageError) as error:
        console.diagnostics(error.diagnostics)
