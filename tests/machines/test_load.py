"""Measurements that use all CPUs of all nodes at once: bandwidth by access pattern and by size, and latency under load;
with SVE on aarch64."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.machines.guest import Guest
from tests.machines.running import applied, of, streams

pytestmark = [pytest.mark.machines, pytest.mark.timeout(900)]

QUICK = "visits: 1, pages: 4K"
USABLE = {"pair": {0, 1}, "three": {0, 1, 2, 3}, "arm": {0, 1}, "narrow": {0, 2, 3, 5}}


def test_peak_bandwidth_runs_on_all_usable_cpus(guests: dict[str, Guest], tmp_path: Path) -> None:
    config = f"{{data_size: 1M, duration: 20ms, {QUICK}, traffic: [2:1, nt-copy]}}"
    run = applied(f"benchmarks:\n  - uses: peak-bandwidth\n    config: {config}\n", [*guests.values()], tmp_path)
    for name in guests:
        traffics = {record["coords"]["traffic"] for record in of(run, "bandwidth") if record["host"] == name}
        assert traffics == {"2:1", "nt-copy"}
        (threads,) = {record["value"] for record in of(run, "threads") if record["host"] == name}
        assert threads == len(USABLE[name])
        assert {cpu for lines in streams(run, name, "peak-bandwidth") for cpu in lines[0]["cpus"]} == USABLE[name]


def test_vectors_of_sve_are_used_where_there_are_any(arm: Guest, pair: Guest, tmp_path: Path) -> None:
    config = f"{{sizes: [16K, 256K], duration: 20ms, {QUICK}, traffic: [all-reads, triad]}}"
    run = applied(f"benchmarks:\n  - uses: bandwidth-sweep\n    config: {config}\n", [arm, pair], tmp_path)
    for name in ("arm", "pair"):
        found = {
            (record["coords"]["size"], record["coords"]["traffic"])
            for record in of(run, "bandwidth")
            if record["host"] == name
        }
        assert found == {(size, traffic) for size in (16384, 262144) for traffic in ("all-reads", "triad")}
    samples = [line for lines in streams(run, "arm", "bandwidth-sweep") for line in lines if line["t"] == "sample"]
    assert {(sample["width"], sample["vector_bytes"]) for sample in samples} == {("sve", 32)}


def test_latency_is_measured_under_load(guests: dict[str, Guest], tmp_path: Path) -> None:
    config = f"{{data_size: 1M, load_size: 1M, duration: 30ms, {QUICK}, injected_nops: [1000, 0]}}"
    run = applied(f"benchmarks:\n  - uses: loaded-latency\n    config: {config}\n", [*guests.values()], tmp_path)
    for name in guests:
        delays = {record["coords"]["delay"] for record in of(run, "latency") if record["host"] == name}
        assert delays == {1000, 0}
        assert [record["value"] > 0 for record in of(run, "idle_latency") if record["host"] == name] == [True]
