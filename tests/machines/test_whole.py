"""Everything in one run: a plan with all memory and storage benchmarks, on two architectures."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from asct.registry import Registry
from tests.e2e.running import Ended, asct, latest, lines, require_measured
from tests.machines.guest import Guest, hosts
from tests.machines.running import facts_of
from tests.machines.test_pools import POOLS

pytestmark = [pytest.mark.machines, pytest.mark.fio, pytest.mark.timeout(1200)]

PLAN = Path(__file__).with_name("whole.yaml").read_text()
ALL = {one.name for one in Registry().all() if not one.hidden}
RESUMES = 2
PAIRS = {(run, memory) for run in (0, 1) for memory in (0, 1)}
OURS = "for one in /proc/[0-9]*; do case $(readlink $one/exe; readlink $one/cwd) in */asct*) echo $one;; esac; done"
UNLOCKED = "[ ! -e /var/tmp/asct.lock ] || flock -n /var/tmp/asct.lock true"


@dataclass(frozen=True)
class Whole:
    """How the run (or its last resume) ended, its folder and records, and the huge pages of each guest before the
    run."""

    ended: Ended
    run: Path
    records: list[dict[str, Any]]
    pools: dict[str, str]


@pytest.fixture(scope="module")
def whole(pair: Guest, arm: Guest, tmp_path_factory: pytest.TempPathFactory) -> Whole:
    """Apply the plan to both guests with one command. The guests may have run it before."""
    folder = tmp_path_factory.mktemp("whole")
    for guest in (pair, arm):
        guest.blank(*guest.machine.drives)
    pools = {guest.machine.name: guest.sh(POOLS) for guest in (pair, arm)}
    (folder / "plan.yaml").write_text(PLAN + hosts(pair, arm))
    ended = asct("apply", "plan.yaml", cwd=folder, timeout=800)
    run = latest(folder, "guests")
    for _ in range(RESUMES):  # a guest that its machine held up refuses a value: asct says so, and how to get it
        if ended.code == 3:
            ended = asct("resume", str(run), cwd=folder, timeout=800)
    return Whole(ended, run, lines(run / "records.jsonl"), pools)


def test_every_benchmark_is_measured_on_both_architectures(whole: Whole) -> None:
    require_measured(whole.ended, whole.run)
    assert {(one["host"], one["benchmark"]) for one in whole.records} == {
        (host, name) for host in ("pair", "arm") for name in ALL
    }
    hosts_of = {one["name"]: one["status"] for one in json.loads((whole.run / "run.json").read_text())["hosts"]}
    assert hosts_of == {"pair": "ok", "arm": "ok"}


def test_both_nodes_of_both_machines_are_measured(whole: Whole) -> None:
    for host, arch in (("pair", "x86_64"), ("arm", "aarch64")):
        facts = facts_of(whole.run, host)
        assert facts["system"]["arch"] == arch
        assert [node["id"] for node in facts["nodes"]] == [0, 1]
        for name, metric in (("idle-latency", "latency"), ("cross-numa-bandwidth", "bandwidth")):
            found = [
                one["coords"]
                for one in whole.records
                if (one["host"], one["benchmark"], one["metric"]) == (host, name, metric)
            ]
            assert {(coords["run_node"], coords["memory_node"]) for coords in found} == PAIRS, (host, name)


def test_what_each_value_was_read_from_is_there(whole: Whole) -> None:
    raw = {one["raw"] for one in whole.records}
    assert raw and all(any(path.stat().st_size for path in (whole.run / one).rglob("stdout")) for one in raw)
    assert (whole.run / "report.html").is_file()


def test_kernels_come_from_here_and_the_guests_have_no_compiler(whole: Whole) -> None:
    for host, arch in (("pair", "x86_64"), ("arm", "aarch64")):
        built = [json.loads(path.read_text()) for path in (whole.run / "build" / host).glob("*.json")]
        assert {one["kernel"] for one in built} >= {"chase", "stream", "load", "pingpong", "guard"}
        assert {(one["where"], one["arch"]) for one in built} == {("here", arch)}
        assert all("aarch64" in one["compiler"] for one in built) is (arch == "aarch64")
        assert not {"gcc", "cc", "clang", "python3"} & set(facts_of(whole.run, host)["tools"])


def test_nothing_is_left_on_the_guests(whole: Whole, pair: Guest, arm: Guest) -> None:
    for guest in (pair, arm):
        assert guest.sh("find /var/tmp/asct* -name 'run-*'") == ""
        assert guest.sh(OURS) == ""
        assert guest.sh(POOLS) == whole.pools[guest.machine.name]
        guest.sh(UNLOCKED)
        assert guest.sh("for one in cc gcc python3 perl; do ! command -v $one || exit 1; done") == ""
