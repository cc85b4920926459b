"""Populating memory with the help of other CPUs: every byte is written once, and no CPU outside the affinity mask is
used."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from tests.kernels.building import Builds, check_program, run

pytestmark = pytest.mark.kernels


def test_parts_are_filled_once_by_allowed_cpus(tmp_path: Path) -> None:
    check_program([Path(__file__).with_name("populate.c")], tmp_path)


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
