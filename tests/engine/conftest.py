"""Fixtures: a results folder and a work folder for each test."""

from __future__ import annotations

from pathlib import Path

import pytest

from asct.planner.model import Job
from tests.engine import plant


class Lab:
    """Runs jobs on this machine."""

    def __init__(self, folder: Path) -> None:
        self.results = folder / "results"
        self.work = folder / "work"

    def plan(self, *jobs: Job, **fields: object) -> plant.ResolvedPlan:
        return plant.plan(*jobs, workdir=self.work, **fields)  # type: ignore[arg-type]

    def run(self, *jobs: Job, ports: plant.Services | None = None, **options: object) -> plant.Done:
        return plant.run(self.results, self.plan(*jobs), ports, **options)

    def leftovers(self) -> list[Path]:
        """Return what a run left in the work folder, except the cache."""
        if not self.work.exists():
            return []
        return [path for path in self.work.iterdir() if not path.name.startswith("cache")]


@pytest.fixture
def lab(tmp_path: Path) -> Lab:
    return Lab(tmp_path)


@pytest.fixture(autouse=True)
def unobserved(monkeypatch: pytest.MonkeyPatch) -> None:
    """Ignore whether the test machine is quiet. Only the tests of the host state need that information."""
    monkeypatch.setattr("asct.engine.host.READING", None)
