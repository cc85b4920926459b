"""The settings of a qualification: the active range, workloads, contradictions, and the estimated cost."""

from __future__ import annotations

import math
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from asct.benchmarks.storage_iops import BENCHMARK as IOPS
from asct.benchmarks.storage_iops import IopsParams
from asct.benchmarks.storage_latency import BENCHMARK as LATENCY
from asct.benchmarks.storage_latency import LatencyParams
from asct.instruments.qualification.settings import SEQUENTIAL_BLOCK, QualificationParams
from asct.sdk.benchmark import Context, Unsuitable
from asct.sdk.facts import HostFacts, ToolFact
from asct.sdk.guard import targets_in

MIB, GB = 2**20, 10**9


@given(
    target=st.integers(1, 2**44),
    jobs=st.integers(1, 64),
    offset=st.integers(0, 2**20).map(lambda block: 4096 * block),
    share=st.floats(0.01, 1),
)
def test_the_active_range_is_whole_for_every_job_and_block_size(
    target: int, jobs: int, offset: int, share: float
) -> None:
    params = QualificationParams(numjobs=jobs, offset=offset, capacity_fraction=share)
    grain = math.lcm(MIB, SEQUENTIAL_BLOCK) * jobs
    try:
        span = params.span(target)
    except Unsuitable:
        assert (target - offset) * share < grain
        return
    assert span % grain == 0
    assert 0 < span <= (target - offset) * share
    assert (target - offset) * share - span < grain


def test_the_active_range_lies_within_the_target() -> None:
    params = QualificationParams(active_range=64 * MIB, offset=4096, numjobs=1)
    assert params.span(65 * MIB) == 64 * MIB
    with pytest.raises(Unsuitable, match="`active_range` ends at"):
        params.span(64 * MIB)


@pytest.mark.parametrize("jobs", [1, 3, 7])
def test_a_pass_of_preconditioning_is_the_range_once(jobs: int) -> None:
    params = QualificationParams(numjobs=jobs)
    span = params.span(1000 * MIB)
    job = params.precondition_params(span, SEQUENTIAL_BLOCK)
    assert job.io_size == job.filesize == span
    assert span % (jobs * SEQUENTIAL_BLOCK) == 0


def test_the_cells_of_the_specification() -> None:
    cells = IopsParams().cells(512)
    assert len(cells) == 56
    assert (cells[0].label, cells[7].label, cells[-1].label) == ("1024k 100/0", "512 100/0", "512 0/100")
    assert len(IopsParams().cells(4096)) == 49
    assert [one.label for one in IopsParams().dependent_cells()] == ["4k 0/100", "64k 65/35", "1024k 100/0"]
    assert len(LatencyParams().cells(512)) == 9
    assert (LatencyParams().numjobs, LatencyParams().iodepth) == (1, 1)


def test_dependent_cells_follow_the_matrix_unless_they_are_named() -> None:
    def labels(**changes: str) -> list[str]:
        return [one.label for one in IopsParams(**changes).dependent_cells()]

    assert labels(block_sizes="4K,64K", mixes="100,0") == ["4k 0/100"]
    assert labels(block_sizes="8K,16K", mixes="100,30") == ["8k 30/70"]
    assert labels(dependent="8K:0") == ["8k 0/100"]


def test_dependent_cells_that_are_too_small_for_the_target() -> None:
    params = LatencyParams(dependent="512:0")
    assert params.phase(512, "latency").tracked[0].cell.block_size == 512
    with pytest.raises(Unsuitable, match="use 4k or more"):
        params.phase(4096, "latency")


@pytest.mark.parametrize(
    ("changes", "name", "message"),
    [
        ({"rounds_max": 4}, "rounds_max", "but the window consists of"),
        ({"purge": "blkdiscard"}, "purge", "cannot be purged"),
        ({"block_sizes": "4000B,4K"}, "block_sizes", "a multiple of 512"),
        ({"block_sizes": "8K", "dependent": "4K:50"}, "dependent", "4k 50/50"),
        ({"mixes": "0,101"}, "mixes", "exceed 100"),
        ({"offset": 512}, "offset", "multiple of 4096"),
        ({"filesize": MIB}, "filesize", "lower `numjobs`"),
        ({"file_names": "relative"}, "file_names", "must be an absolute path"),
        ({"engine": "psync"}, "engine", "keeps only one request in flight"),
    ],
    ids=str,
)
def test_contradictions_are_told_with_the_way_out(changes: dict[str, Any], name: str, message: str) -> None:
    found = list(IOPS.check(IopsParams(**({"dependent": "4K:0"} | changes))))
    assert any(setting == name and message in text for setting, text in found), found


def test_defaults_hold() -> None:
    assert list(IOPS.check(IopsParams())) == []
    assert list(LATENCY.check(LatencyParams())) == []
    device = IopsParams(file_names="/dev/disk/by-id/nvme-x")
    assert list(IOPS.check(device)) == []
    assert IOPS.continues(device)


def test_what_it_may_cost() -> None:
    """There are 56 workloads of one minute each, with 5 to 25 rounds. The volume is that of a fast drive."""
    device: dict[str, Any] = {"file_names": "/dev/disk/by-id/nvme-x", "active_range": 256 * GB}
    needs = IOPS.needs(IopsParams(**device), None)
    assert 4.6 < needs.seconds / 3600 < 5.2
    assert needs.longest_s / 3600 > 23.3
    assert needs.purges == needs.targets == ("/dev/disk/by-id/nvme-x",)
    [(target, written)] = needs.writes_bytes
    assert target == "/dev/disk/by-id/nvme-x"
    assert 2 * 256 * GB < written < 25 * 56 * 61 * 2 * GB
    fast = IOPS.needs(IopsParams(**device, profile="fast"), None)
    assert fast.seconds < needs.seconds / 5
    assert fast.longest_s < needs.longest_s
    assert "nvme" in needs.optional_tools
    assert dict(IOPS.needs(IopsParams(**device, purge="ata-erase"), None).tools)["hdparm"] == ""
    file = IOPS.needs(IopsParams(), None)
    assert file.scratch is not None
    assert file.purges == ()


def test_several_devices_are_one_target_only_as_a_raid_set() -> None:
    members = ("/dev/disk/by-id/a", "/dev/disk/by-id/b")
    apart = list(IOPS.check(IopsParams(file_names=members)))
    assert [name for name, message in apart if "add `raid_level` to combine them" in message] == ["file_names"]
    assert list(IOPS.check(IopsParams(file_names=members, raid_level=1))) == []
    (lack,) = IOPS.check(IopsParams(file_names=members, raid_level=5))
    assert lack[0] == "raid_level" and "needs at least 3 devices" in lack[1]
    alone = dict(IOPS.needs(IopsParams(file_names=members[:1]), None).writes_bytes)[members[0]]
    needs = IOPS.needs(IopsParams(file_names=members, raid_level=0), None)
    assert dict(needs.writes_bytes) == dict.fromkeys(members, alone // 2)
    assert needs.purges == members and dict(needs.tools)["mdadm"] == ""


def test_the_size_of_a_raid_set_is_read_while_it_exists() -> None:
    tools = {"mdadm": ToolFact(path="/usr/sbin/mdadm")}
    facts = HostFacts(host="h", collected_at="now", tools=tools)
    params = IopsParams(file_names=("/dev/disk/by-id/a", "/dev/disk/by-id/b"), raid_level=1)
    (step,) = IOPS.steps(params, Context(facts, "/work"))
    assert step.arguments[-5:] == ("1", "--mdadm", "/usr/sbin/mdadm", "--", "true")
    assert [target.access for target in targets_in(step)] == ["write", "write"]
