"""A GitLab Code Quality report (docs.gitlab.com, "Code Quality", "Code Quality report format"; GitLab checks each item
with its schema codeclimate.json).

GitLab compares the fingerprints from two pipelines to find out which problems are new, so fingerprints must not depend
on measured values.
"""

from __future__ import annotations

import hashlib
import json
from typing import Any, Final

from asct.analysis.ci import CiJob, ci_job, gitlab_job
from asct.analysis.grid import plain
from asct.analysis.problems import Problem, problems_of
from asct.analysis.view import RunView
from asct.diagnostics.render import Level

NAME = "codequality"
FILE = "gl-code-quality-report.json"
SUMMARY = "a GitLab Code Quality report that links each problem in the run to a line in the plan"

_SEVERITIES: Final[dict[Level, str]] = {"error": "critical", "warning": "minor", "notice": "info"}


def render(view: RunView) -> str:
    """Return a JSON array with one item per problem. A problem that causes a nonzero exit code has the severity
    `critical`; every other problem has the severity `minor`.
    """
    job = gitlab_job() if gitlab_job().server else ci_job()
    items = [_item(problem, job, view.run.plan) for problem in problems_of(view)]
    return json.dumps(items, indent=1, allow_nan=False) + "\n"


def _item(problem: Problem, job: CiJob, plan: str) -> dict[str, Any]:
    """Return an item. GitLab requires a path and a line, so a problem without a location is shown at the beginning of
    the plan."""
    path = plain(job.path(problem.file)) or plan
    identity = "\0".join((plan, path, *problem.identity))
    return {
        "description": plain(f"{problem.title}: {problem.message}"),
        "check_name": plain(problem.check),
        "fingerprint": hashlib.sha256(identity.encode("utf-8", errors="replace")).hexdigest(),
        "severity": _SEVERITIES[problem.level],
        "location": {"path": path, "lines": {"begin": problem.line or 1}},
    }
