"""GitHub workflow commands, which show a run's problems as annotations on lines of the plan."""

from __future__ import annotations

from collections.abc import Sequence

from asct.analysis.ci import ci_job
from asct.analysis.problems import Problem, problems_of
from asct.analysis.view import RunView
from asct.diagnostics.render import Level, annotation
from asct.values.text import counted

NAME = "github"
FILE = "annotations.txt"
SUMMARY = "GitHub workflow commands: ::error and ::warning lines"

MOST = 10
"""Maximum number of annotations per level that GitHub shows for a step."""


def render(view: RunView) -> str:
    """Return one workflow command per problem of the run, at most ten per level."""
    return annotate(problems_of(view), "see summary.md and junit.xml in the run folder")


def annotate(problems: Sequence[Problem], rest: str) -> str:
    """Return at most ten annotations per level. A final notice states how many annotations were omitted; `rest` says
    where to find them."""
    job, lines, left = ci_job(), [], []
    levels: tuple[Level, ...] = ("error", "warning", "notice")
    for level in levels:
        found = [item for item in problems if item.level == level]
        for item in found[:MOST]:
            lines.append(annotation(level, item.title, item.message, (job.path(item.file), item.line, item.column)))
        if (more := len(found) - MOST) > 0:
            left.append(counted(more, f"more {level}"))
    if left:
        lines.append(annotation("notice", "asct", f"{' and '.join(left)}: {rest}"))
    return "".join(line + "\n" for line in lines)
