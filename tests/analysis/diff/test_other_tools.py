"""Comparisons of values that different tools measured."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from asct.analysis.diff.arm_asct import read_arm_asct
from asct.analysis.diff.rows import aligned
from asct.analysis.diff.source import ASCT, DiffSource
from asct.analysis.groups import MetricGroup, gather
from asct.registry import installed
from tests.analysis.diff.arm_folders import folder_06


@pytest.fixture
def arm(tmp_path: Path) -> DiffSource:
    return read_arm_asct(folder_06(tmp_path / "run"), installed())


def own(source: DiffSource, **settings: Any) -> DiffSource:
    """Return a run of asct that contains the same values, and these settings for each benchmark."""
    records = tuple(
        record.model_copy(update={"version": "3", "point_id": record.point_id[::-1], "host": "h1"})
        for record in source.records
    )
    jobs = {("h1", record.id): settings for record in records}
    return replace(source, tool=ASCT, records=records, settings=jobs, unlike={})


def pair(base: DiffSource, new: DiffSource, name: str, **at: Any) -> tuple[MetricGroup, MetricGroup, str]:
    """Return the matching value of the base, the value of the new run, and the reason."""
    benchmark, metric = name.split(".")
    before, after = (
        next(one for one in gather(run.records) if (one.id, one.metric, one.at) == (benchmark, metric, at))
        for run in (base, new)
    )
    found, reason = aligned(base, new, before, after)
    return found, after, reason


@pytest.mark.parametrize("swapped", [False, True])
def test_values_that_mean_the_same_are_comparable(arm: DiffSource, swapped: bool) -> None:
    runs = (own(arm), arm) if swapped else (arm, own(arm))
    before, after, reason = pair(*runs, "latency-sweep.latency", level="DRAM")
    assert reason == ""
    first, second = before.records[0], after.records[0]
    assert (first.version, first.point_id) == (second.version, second.point_id)


@pytest.mark.parametrize("swapped", [False, True])
def test_values_with_another_meaning_are_not_comparable(arm: DiffSource, swapped: bool) -> None:
    runs = (own(arm), arm) if swapped else (arm, own(arm))
    assert "64 bytes" in pair(*runs, "bandwidth-sweep.bandwidth", level="L1", traffic="all-reads")[2]


def test_values_under_another_load_are_not_comparable(arm: DiffSource) -> None:
    name = "storage-io-depth-sweep.iops"
    assert pair(arm, own(arm, numjobs=1), name, iodepth=16)[2] == (
        "the base was measured with numjobs 4, this run with 1"
    )
    equal = own(arm, numjobs=4, block_size=4096, iodepth=99, data_size=None, duration=1)
    assert pair(arm, equal, name, iodepth=16)[2] == ""


def test_values_of_the_same_tool_are_left_alone(arm: DiffSource) -> None:
    before, after, reason = pair(arm, arm, "bandwidth-sweep.bandwidth", level="L1", traffic="all-reads")
    assert (before, reason) == (after, "")
