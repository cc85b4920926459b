"""The CI job that this process belongs to, as described by the environment variables."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from asct.analysis.grid import plain

_URL = re.compile(r"https?://[\w.:/~%+-]+", re.ASCII)


@dataclass(frozen=True, slots=True)
class CiJob:
    """A job on a CI server; `server` is empty outside CI. `artifacts` is the URL of the page that links to the job's
    artifacts, or empty if this URL is unknown."""

    server: Literal["", "github", "gitlab"] = ""
    checkout: str = ""
    artifacts: str = ""

    def path(self, file: str) -> str:
        """Return the path of a file relative to the checkout, because CI servers link only to files in the
        repository. The path of a file outside the checkout is returned unchanged."""
        file = plain(file)
        path, root = Path(os.path.normpath(Path.cwd() / file)), os.path.realpath(self.checkout)
        inside = self.checkout and file and path.is_relative_to(root)
        return path.relative_to(root).as_posix() if inside else file


def ci_job(environ: Mapping[str, str] = os.environ) -> CiJob:
    """Return the job that the environment describes (docs.github.com, "Variables reference"). If it describes both a
    GitHub job and a GitLab job, return the GitHub job."""
    if not environ.get("GITHUB_ACTIONS"):
        return gitlab_job(environ)
    server, repository, run = (
        environ.get(name, "") for name in ("GITHUB_SERVER_URL", "GITHUB_REPOSITORY", "GITHUB_RUN_ID")
    )
    url = f"{server}/{repository}/actions/runs/{run}" if repository and run else ""
    return CiJob("github", environ.get("GITHUB_WORKSPACE", ""), _checked(url))


def gitlab_job(environ: Mapping[str, str] = os.environ) -> CiJob:
    """Return the GitLab job that the environment describes, even if it also describes a GitHub job (docs.gitlab.com,
    "Predefined CI/CD variables reference")."""
    if not environ.get("GITLAB_CI"):
        return CiJob()
    job = environ.get("CI_JOB_URL", "")
    return CiJob("gitlab", environ.get("CI_PROJECT_DIR", ""), _checked(f"{job}/artifacts/browse" if job else ""))


def _checked(url: str) -> str:
    """Return the URL if it is safe in a Markdown link, otherwise an empty string."""
    return url if _URL.fullmatch(url) else ""
