"""The output of the `load` kernel: levels, targets, bandwidth without latency, workloads and self-checks."""

from __future__ import annotations

import json
import signal
import statistics
import subprocess
from pathlib import Path

import pytest

from tests.awaiting import until
from tests.kernels.building import Ran, documented, run
from tests.kernels.load import BIND, ONE, OTHER, QUICK, SMALL_CHAIN, TINY, TRAFFIC

pytestmark = pytest.mark.kernels


@pytest.fixture(scope="module")
def curve(load: Path) -> Ran:
    """Return a run in which every level has windows without a preempted thread. If other tests run at the same time,
    this may take several attempts."""
    for _ in range(20):
        ran = run(load, *QUICK, "--delays", "100000,300,0", "--seed", "7")
        assert ran.status == 0, ran.stderr
        if not any(line["disturbed"] for line in ran.of("sample")):
            break
    return ran


def test_the_order_of_the_lines_and_their_keys(curve: Ran) -> None:
    assert [line["t"] for line in curve.lines] == ["meta", "ready", "probe", *["sample"] * 4, "probe", "end"]
    keys = documented("load")
    assert all(set(line) == keys[line["t"]] for line in curve.lines)
    assert [(line["phase"], line["delay"]) for line in curve.of("sample")] == [
        ("idle", None), ("level", 100000), ("level", 300), ("level", 0),
    ]  # fmt: skip


def test_cpus_nodes_and_memory_are_reported(curve: Ran) -> None:
    meta = curve.meta
    assert (meta["latency_cpu"], meta["cpus"], meta["nodes"]) == (int(OTHER), [int(ONE)], [-1])
    assert meta["options"]["seed"] == meta["seed"] == 7
    assert meta["lines"] == (1 << 20) // meta["line_bytes"]
    (arena,) = meta["load_arenas"]
    assert arena["threads"] == 1 and arena["pages"] == meta["chain_arena"]["pages"] == "4k"
    assert set(meta["chain_arena"]) | {"node", "threads"} == set(arena)
    assert meta["array_bytes"] == curve.end["verified_bytes"] == 131072
    assert curve.end["verified_lines"] == meta["lines"] and curve.end["samples"] == 4


def test_idle_threads_move_nothing_and_each_level_does(curve: Ran) -> None:
    idle, *levels = curve.of("sample")
    assert idle["threads"] == 0 and set(idle["bandwidth_bps"]) == {0} and idle["max_bps"] == 0
    assert all(level["threads"] == 1 and level["max_bps"] > 0 for level in levels)


def test_many_nops_make_less_traffic(curve: Ran) -> None:
    """The factor is a thousand or more, which no neighbor can hide. The fastest window of each level is compared."""
    many, some, none = [level["max_bps"] for level in curve.of("sample")[1:]]
    assert many * 10 < min(some, none)


def test_windows_and_their_statistics_agree(curve: Ran) -> None:
    for sample in curve.of("sample"):
        listed = min(64, sample["windows"])
        assert len(sample["latency_ps"]) == len(sample["bandwidth_bps"]) == listed > 0
        assert sample["order"] == "time" and sample["loads"] % 64 == 0 and sample["loads"] >= 256
        assert sample["min_ps"] <= sample["median_ps"] <= sample["max_ps"]
        assert sample["min_bps"] <= sample["median_bps"] <= sample["max_bps"]
        assert 1 <= sample["effective"] <= sample["windows"]
        if sample["windows"] == listed:
            assert abs(statistics.median(sample["latency_ps"]) - sample["median_ps"]) <= 1
            assert abs(statistics.median(sample["bandwidth_bps"]) - sample["median_bps"]) <= 1
        if sample["ci_low_ps"] is not None:
            assert sample["ci_low_ps"] <= sample["median_ps"] <= sample["ci_high_ps"]
        assert sample["disturbed"] is False or sample["capped"] is True


@pytest.mark.parametrize("touch", ["64", "128", "256"])
@pytest.mark.parametrize("traffic", TRAFFIC)
def test_each_traffic_leaves_what_it_must_in_memory(traffic: str, touch: str, load: Path) -> None:
    ran = run(
        load, *BIND, *SMALL_CHAIN, "--load-size", "200000", "--traffic", traffic, "--touch", touch, "--delays", "70,0"
    )
    assert (ran.status, ran.stderr) == (0, "")
    arrays = ran.meta["step_bytes"] // int(touch)
    assert ran.meta["array_bytes"] == 200000 // arrays // 4096 * 4096
    assert ran.end["verified_bytes"] == arrays * ran.meta["array_bytes"]
    assert {sample["traffic"] for sample in ran.of("sample")} == {traffic}
    bus = {"3:1": 4 / 3, "2:1": 1.5, "1:1": 2, "write": 2, "copy": 1.5, "scale": 1.5, "add": 4 / 3, "triad": 4 / 3}
    assert ran.of("sample")[0]["bus_permille"] == int(1000 * bus.get(traffic, 1))


@pytest.mark.parametrize(("asked", "vector"), [("16", 16), ("32", 32), ("64", 64)])
def test_widths(asked: str, vector: int, load: Path) -> None:
    ran = run(load, *QUICK, "--width", asked, "--delays", "10,0", "--traffic", "triad")
    if ran.status == 3:
        assert f"of width {asked}; supported:" in ran.stderr
        return
    assert ran.meta["vector_bytes"] == vector and ran.meta["width"] == asked
    assert {sample["vector_bytes"] for sample in ran.of("sample")} == {vector}


def test_an_unreachable_target_gives_the_nearest_and_says_so(load: Path) -> None:
    ran = run(load, *QUICK, "--delays", "", "--targets", "9000000000000000")
    idle, target = ran.of("sample")
    assert idle["phase"] == "idle" and idle["reached"] is None and idle["target_bps"] is None
    assert (target["phase"], target["delay"], target["reached"]) == ("target", 0, False)
    assert target["target_bps"] == 9000000000000000


def test_a_target_within_reach_is_searched_by_the_delay(load: Path) -> None:
    ran = run(load, *QUICK, "--delays", "", "--targets", "2000000000,500000000")
    for target in ran.of("sample")[1:]:
        assert 0 <= target["delay"] <= 100000
        off = abs(target["median_bps"] / target["target_bps"] - 1)
        assert target["reached"] is (off <= 0.02) or abs(off - 0.02) < 1e-6
    fast, slow = ran.of("sample")[1:]
    if fast["reached"] and slow["reached"]:
        assert fast["delay"] < slow["delay"]


def test_bandwidth_alone_needs_one_cpu(load: Path) -> None:
    ran = run(["taskset", "-c", ONE, str(load)], *TINY, "--probe", "none", "--delays", "100")
    assert (ran.status, ran.stderr) == (0, "")
    (sample,) = ran.of("sample")
    assert ran.meta["latency_cpu"] == -1 and ran.meta["chain_arena"] is None and ran.meta["lines"] == 0
    assert sample["latency_ps"] == [] and sample["median_ps"] is None and sample["chain_bps"] is None
    assert sample["max_bps"] > 0 and sample["loads"] == 0


def test_a_workload_is_timed_alone_and_at_each_level(load: Path, tmp_path: Path) -> None:
    told = tmp_path / "told"
    command = ["sh", "-c", 'echo noise; taskset -cp $$ >> "$0"; sleep 0.02', str(told)]
    ran = run(load, *QUICK, "--probe", "workload", "--delays", "100,0", "--", *command)
    assert (ran.status, ran.stderr) == (0, "")
    assert ran.meta["command"] == command
    assert [sample["phase"] for sample in ran.of("sample")] == ["idle", "level", "level"]
    assert all(sample["workload_ns"] >= 20_000_000 for sample in ran.of("sample"))
    assert all(sample["median_ps"] is None for sample in ran.of("sample"))
    assert [line.rsplit(" ", 1)[1] for line in told.read_text().splitlines()] == [OTHER] * 3


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGKILL])
def test_a_workload_dies_with_a_killed_kernel(number: signal.Signals, load: Path) -> None:
    arguments = [str(load), *QUICK, "--probe", "workload", "--", "sleep", "777"]
    with subprocess.Popen(arguments, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        lines = [process.stdout.readline() for _ in range(2)]
        children = until(lambda: sleepers(process.pid), "no workload")
        process.send_signal(number)
        lines += process.stdout.readlines()
        assert process.wait(timeout=60) == -number
    assert "end" not in [json.loads(line)["t"] for line in lines]
    until(lambda: not any(map(alive, children)), "the workload lives on")


DAEMON = '(setsid sleep 777 & echo $! >> "$0") & told=$!; setsid sleep 777 & echo $! >> "$0"; wait $told'


def test_what_a_workload_leaves_behind_ends_with_it(load: Path, tmp_path: Path) -> None:
    told = tmp_path / "told"
    ran = run(load, *QUICK, "--probe", "workload", "--delays", "100", "--", "sh", "-c", DAEMON, str(told))
    assert (ran.status, ran.stderr) == (0, "")
    left = [int(line) for line in told.read_text().split()]
    assert len(left) == 4
    assert not any(alive(process) for process in left)


def sleepers(parent: int) -> list[int]:
    """Return the descendants that are sleeping."""
    children = [int(word) for word in of_process(parent, f"task/{parent}/children").split()]
    found = [child for child in children if of_process(child, "comm") == "sleep\n"]
    return found + [one for child in children for one in sleepers(child)]


def of_process(process: int, name: str) -> str:
    """Return the content of a file of a process, or an empty string if the process has ended."""
    try:
        return Path(f"/proc/{process}/{name}").read_text()
    except (FileNotFoundError, ProcessLookupError):
        return ""


def alive(process: int) -> bool:
    return of_process(process, "stat") != "" and ") Z " not in of_process(process, "stat")


def test_memory_is_bound_to_the_nodes_asked_for(load: Path) -> None:
    ran = run(load, *QUICK, "--latency-node", "0", "--nodes", "0", "--delays", "0")
    assert ran.status == 0, ran.stderr
    assert ran.meta["latency_node"] == 0 and ran.meta["nodes"] == [0] and ran.meta["load_arenas"][0]["node"] == 0


def test_the_default_cpus_are_all_others(load: Path) -> None:
    ran = run(["taskset", "-c", f"{ONE},{OTHER}", str(load)], *TINY, "--delays", "0")
    assert ran.status == 0, ran.stderr
    assert sorted([ran.meta["latency_cpu"], *ran.meta["cpus"]]) == sorted([int(ONE), int(OTHER)])
    bound = run(load, *TINY, "--cpus", OTHER, "--delays", "0")
    assert bound.meta["latency_cpu"] != int(OTHER) and bound.meta["cpus"] == [int(OTHER)]


def test_the_last_cache_decides_the_default_sizes(load: Path) -> None:
    ran = run(load, *BIND, "--llc-bytes", "1048576", "--delays", "0", "--level-ms", "5")
    assert ran.status == 0, ran.stderr
    assert ran.meta["options"]["load-size"] == 64 << 20 and ran.meta["options"]["size"] == 256 << 20
    assert ran.meta["lines"] * 64 * 2 == 256 << 20
