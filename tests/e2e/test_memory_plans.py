"""The memory plans that come with asct, run unchanged on this machine except for smaller sizes and shorter times."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest

from tests.e2e.running import Ended, asct, latest, lines, require_measured

pytestmark = [pytest.mark.e2e, pytest.mark.kernels]

PLANS = Path(__file__).parents[2] / "plans"
NEEDS_TWO_CPUS = pytest.mark.skipif(len(os.sched_getaffinity(0)) < 2, reason="load and pairs need two CPUs")
SMALL: dict[str, Any] = {
    "latency-sweep.max_size": "4M",
    "latency-sweep.visits": 2,
    "idle-latency.data_size": "8M",
    "idle-latency.duration": "20ms",
    "loaded-latency.data_size": "8M",
    "loaded-latency.load_size": "8M",
    "loaded-latency.duration": "20ms",
    "loaded-latency.visits": 2,
    "core-to-core-latency.time_cap": "10ms",
    "core-to-core-latency.visits": 2,
    "bandwidth-sweep.visits": 2,
    "cross-numa-bandwidth.visits": 2,
    "peak-bandwidth.visits": 2,
    "memory-profile.visits": 1,
    "bandwidth-sweep.sizes": "[16K, 1M]",
    "bandwidth-sweep.duration": "20ms",
    "cross-numa-bandwidth.data_size": "4M",
    "cross-numa-bandwidth.duration": "20ms",
    "peak-bandwidth.data_size": "4M",
    "peak-bandwidth.duration": "20ms",
    "memory-profile.data_size": "4M",
    "memory-profile.cache_sizes": "[16K]",
    "memory-profile.duration": "20ms",
    # beside other tests, all windows of such a short visit may be interrupted
    "defaults.retry": "{max: 9, on: [failed]}",
}


def apply(plan: str, cwd: Path, settings: dict[str, Any]) -> Ended:
    sets = [word for path, value in settings.items() for word in ("--set", f"{path}={value}")]
    return asct("apply", str(PLANS / f"{plan}.yaml"), *sets, cwd=cwd)


@NEEDS_TWO_CPUS
def test_the_memory_plan_measures_every_benchmark_of_the_set(tmp_path: Path) -> None:
    ended = apply("memory", tmp_path, SMALL)
    run = latest(tmp_path, "memory")
    require_measured(ended, run)  # working sets this small are invalid
    records = lines(run / "records.jsonl")
    assert {record["benchmark"] for record in records} == {
        "latency-sweep", "idle-latency", "loaded-latency", "core-to-core-latency", "bandwidth-sweep",
        "cross-numa-bandwidth", "peak-bandwidth", "memory-profile",
    }  # fmt: skip
    levels = [r for r in records if r["benchmark"] == "loaded-latency" and r["metric"] == "latency"]
    assert len({record["coords"]["delay"] for record in levels}) == 13
    (idle,) = [r for r in records if r["benchmark"] == "idle-latency" and r["metric"] == "latency"]
    assert idle["stats"]["visits"] in range(6, 13)
    assert idle["stats"]["ci95"][0] <= idle["value"] <= idle["stats"]["ci95"][1]
    assert {r["stats"]["visits"] for r in records if r["benchmark"] == "peak-bandwidth" and r["stats"]} == {2}
    levels = [r for r in records if r["id"] == "latency-sweep" and r["metric"] == "latency" and "level" in r["coords"]]
    assert {r["stats"]["visits"] for r in levels} <= {2}, "a shared cache may hide the levels, but none is visited once"
    text = (run / "summary.md").read_text()
    assert "Loaded latency with background memory activity" in text
    assert "Latencies of random memory access at idle" in text


@NEEDS_TWO_CPUS
def test_the_mlc_study_measures_19_levels_of_each_kind_of_load(tmp_path: Path) -> None:
    mine = {path: value for path, value in SMALL.items() if path.startswith("memory-profile")}
    names = ("data_size", "load_size", "duration", "visits")
    loaded = {f"loaded.{name}": SMALL[f"loaded-latency.{name}"] for name in names}
    flags = Path("/proc/cpuinfo").read_text().split()
    widths = ("16", "32", "64")[: 1 + ("avx2" in flags) + ("avx512f" in flags)]
    ended = apply("seeds/study-memory", tmp_path, {**mine, **loaded, "loaded.sweep.width": f"[{', '.join(widths)}]"})
    run = latest(tmp_path, "study-memory")
    require_measured(ended, run)
    records = lines(run / "records.jsonl")
    assert "latency-sweep" not in {record["benchmark"] for record in records}, "sizes are given: nothing to look for"
    bandwidths = [r for r in records if r["id"] == "loaded" and r["metric"] == "bus_bandwidth"]
    kinds = {(record["point"]["traffic"], record["point"]["width"]) for record in bandwidths}
    assert kinds == {(traffic, width) for traffic in ("all-reads", "2:1", "nt-write") for width in widths}
    assert len(bandwidths) == 19 * len(kinds)


@NEEDS_TWO_CPUS
def test_one_cpu_is_told_before_measuring_and_the_rest_goes_on(tmp_path: Path) -> None:
    cpu = str(min(os.sched_getaffinity(0)))
    plan = (
        "plan: 1\nname: quick\nbenchmarks:\n  - noop\n  - {uses: loaded-latency, config: {data_size: 8M, "
        "load_size: 8M, injected_nops: [0]}}\n"
    )
    (tmp_path / "plan.yaml").write_text(plan)
    ended = asct("apply", "plan.yaml", cwd=tmp_path, prefix=["taskset", "-c", cpu])
    assert ended.code == 3
    assert "E427" in ended.err
    assert f"requires 2 CPUs, but only 1 can be used (CPU {cpu})" in " ".join(ended.err.split())
    assert {record["id"] for record in lines(latest(tmp_path) / "records.jsonl")} == {"noop"}
