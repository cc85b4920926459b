"""Populating memory with the help of other CPUs: every byte is written once, and no CPU outside the affinity mask is
used."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest

from tests.kernels.building import Builds, compile_sources, run

pytestmark = pytest.mark.kernels

HERE = Path(__file__).parent
SANITIZED = ("-g", "-fsanitize=address,undefined", "-fno-sanitize-recover=all")


def test_parts_are_filled_once_by_allowed_cpus(tmp_path: Path) -> None:
    program = compile_sources([HERE / "populate.c"], tmp_path / "populate", flags=SANITIZED)
    done = subprocess.run([str(program)], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout, done.stderr) == (0, "ok\n", "")


@pytest.mark.parametrize("traffic", ["all-reads", "triad"])
@pytest.mark.parametrize("pages", ["4k", "thp"])
def test_threads_of_load_that_share_an_arena_fill_their_parts(traffic: str, pages: str, built: Builds) -> None:
    """The parts belong to several arrays, and their ends are on the same pages as those of other threads. All contents
    are verified."""
    cpus = sorted(os.sched_getaffinity(0))[:3]
    options = ("--probe", "none", "--cpus", ",".join(map(str, cpus)), "--load-size", str((5 << 20) + 3 * 4096))
    ran = run(built["load"], *options, "--traffic", traffic, "--pages", pages, "--delays", "0", "--level-ms", "5")
    assert ran.status == 0, ran.stderr
    assert [arena["threads"] for arena in ran.meta["load_arenas"]] == [len(cpus)]
    assert 0 < ran.meta["map_ns"] <= ran.meta["setup_ns"]
