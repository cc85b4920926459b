"""Fixtures: a repository with a small plan, and the programs that a job finds on its PATH."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest

PLAN = """plan: 1
name: gate
benchmarks: [{id: idle, uses: noop, sweep: {index: [1, 2]}, repeats: 2}]
expect:
  - {metric: idle.elapsed, max: 1h}
"""
HERE = Path(__file__).parent


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    """Return the checkout of a repository that contains plans/gate.yaml."""
    folder = tmp_path / "repository"
    (folder / "plans").mkdir(parents=True)
    (folder / "plans" / "gate.yaml").write_text(PLAN)
    return folder


@pytest.fixture
def programs(tmp_path: Path) -> Path:
    """Return a folder with asct and the fake programs gh and curl."""
    folder = tmp_path / "bin"
    folder.mkdir()
    commands = {"asct": "-m asct", "gh": str(HERE / "fake_gh.py"), "curl": str(HERE / "fake_curl.py")}
    for name, program in commands.items():
        (folder / name).write_text(f'#!/bin/sh\nexec {sys.executable} {program} "$@"\n')
        (folder / name).chmod(0o755)
    return folder


@pytest.fixture
def hub(tmp_path: Path) -> Path:
    """Return the folder of the fake gh, with two comments that must not change."""
    folder = tmp_path / "hub"
    folder.mkdir()
    others = [
        {"id": 1, "user": {"login": "somebody"}, "body": "<!-- asct: gate -->\nnot by the workflow"},
        {"id": 2, "user": {"login": "github-actions[bot]"}, "body": "<!-- asct: other -->\r\nof another plan"},
    ]
    (folder / "comments.json").write_text(json.dumps(others))
    return folder
