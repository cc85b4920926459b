"""Synthetic output of the kernel `load`: a memory with a given idle latency and peak, measured with given delays."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

from asct.sdk.step import Output, Step

PEAK = 40e9
"""Maximum number of useful bytes per second that the synthetic memory transfers."""
IDLE_NS = 100.0
QUEUE_NS = 5.0


def bandwidth_of(delay: int) -> float:
    """Return the bandwidth that the load threads demand. It decreases as the delay grows, and is about half of the peak
    at 100 NOPs."""
    return PEAK * 0.98 * 100.0 / (100.0 + delay)


def latency_ns(bandwidth: float) -> float:
    """Return the latency, which consists of a fixed part and a queue."""
    load = bandwidth / PEAK
    return IDLE_NS + QUEUE_NS * load / (1.0 - load)


def sample(phase: str, delay: int | None, **changes: Any) -> dict[str, Any]:
    """Return one line of the output. `changes` replaces members of the line."""
    bandwidth = 0.0 if delay is None else bandwidth_of(delay)
    ps = round(latency_ns(bandwidth) * 1000)
    bps = round(bandwidth)
    windows = [ps - 200, ps + 200, ps, ps - 100, ps + 100, ps, ps]
    made = {
        "t": "sample", "phase": phase, "delay": delay, "target_bps": None, "reached": None, "traffic": "all-reads",
        "width": "64", "vector_bytes": 64, "touch": 64, "threads": 0 if delay is None else 1, "windows": 300,
        "dropped": 0, "capped": False, "disturbed": False, "loads": 2000, "order": "time", "latency_ps": windows,
        "bandwidth_bps": [bps] * len(windows), "median_ps": ps, "ci_low_ps": ps - 150, "ci_high_ps": ps + 150,
        "min_ps": ps - 900, "max_ps": ps + 2000, "median_bps": bps, "ci_low_bps": bps, "ci_high_bps": bps,
        "min_bps": bps, "max_bps": bps, "effective": 250, "chain_bps": 640_000_000, "bus_permille": 1000,
        "cycle_fs": 333_333, "workload_ns": None, "elapsed_ns": 60_000_000,
    }  # fmt: skip
    return {**made, **changes}


def levels(delays: Sequence[int], **changes: Any) -> list[dict[str, Any]]:
    """Return the idle sample, and one sample for each delay."""
    return [sample("idle", None, **changes), *(sample("level", delay, **changes) for delay in delays)]


def output(step: Step, samples: Sequence[Mapping[str, Any]], meta: Mapping[str, Any] | None = None) -> Output:
    """Return a complete stream of these samples as the output of a step."""
    given = step.arguments

    def asked(name: str, other: str) -> str:
        return given[given.index(f"--{name}") + 1] if f"--{name}" in given else other

    pages = {"pages_asked": "auto", "pages": "thp", "page_bytes": 1 << 21, "pages_verified": True}
    first: dict[str, Any] = {
        "t": "meta", "abi": 1, "kernel": "load", "latency_cpu": 1, "latency_node": 0, "nodes": [-1],
        "cpus": [int(cpu) for cpu in asked("cpus", "0").split(",")], "chain_arena": pages, "load_arenas": [pages],
        "llc_bytes": 32 << 20,
        "options": {"size": int(asked("size", "0")), "load-size": int(asked("load-size", "0"))},
    }  # fmt: skip
    end = {"t": "end", "ok": True, "samples": len(samples), "noise": {"cpus": 2, "elapsed_ns": 2_000_000_000}}
    lines = [{**first, **(meta or {})}, {"t": "ready"}, *samples, end]
    return Output(step, 0, {"stdout": "\n".join(map(json.dumps, lines)) + "\n", "stderr": ""})
