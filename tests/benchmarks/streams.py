"""Synthetic output of the kernel `stream` for a step, for hosts that are not available (with several nodes or many
CPUs)."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from asct.sdk.record import Scalar
from asct.sdk.step import Output, Step
from tests.benchmarks.test_contract import option

ARRAYS = {"all-reads": (1, 0), "3:1": (2, 1), "1:1": (0, 1), "write": (0, 1), "nt-write": (0, 1), "2:1": (1, 1)}
"""Cache lines loaded and stored in one step. All other patterns load two lines and store one."""
WINDOWS = 8
LEVELS: dict[str, Scalar] = {
    "cache.l1.optimum_size": 24 << 10, "cache.l2.optimum_size": 512 << 10, "cache.llc.optimum_size": 24 << 20,
    "cache.dram.optimum_size": 600 << 20,
}  # fmt: skip
"""The sizes that latency-sweep found for benchmarks that depend on it."""


def numbers(step: Step, name: str) -> list[int]:
    """Return the value of an option that is a list of numbers."""
    return [int(part) for part in (option(step, name) or "").split(",") if part]


@dataclass(frozen=True)
class Place:
    """A working set of a step: its label (or the name of the step if there is none), its size and its width."""

    step: Step
    name: str
    size: int
    width: str


def places(step: Step) -> list[Place]:
    """Return the working sets of a step, in the order of its command line."""
    sizes = numbers(step, "sizes")
    labels = (option(step, "labels") or ",".join(step.name for _ in sizes)).split(",")
    widths = (option(step, "width") or "auto").split(",")
    widths = widths if len(widths) > 1 else widths * len(sizes)
    return [Place(step, *parts) for parts in zip(labels, sizes, widths, strict=True)]


def output_of(
    step: Step, bps: Callable[[Place, str], float], changed: Callable[[Place], bool] = lambda _: True, **changes: Any
) -> Output:
    """Return the output of one step: two variants for each size and access pattern, of which the second is faster, with
    `bps(place, traffic)` useful bytes per second. `changes` is applied to the best samples of the places in
    `changed`."""
    lines: list[dict[str, Any]] = [
        {"t": "meta", "abi": 1, "kernel": "stream", "pages_asked": "auto", "pages": "thp", "page_bytes": 2 << 20,
         "pages_verified": True},
        {"t": "ready"},
    ]  # fmt: skip
    for place in places(step):
        for traffic in (option(step, "traffic") or "").split(","):
            rate = bps(place, traffic)
            lines.append(sample(step, place, traffic, rate / 2, variant="plain"))
            best = {"variant": "prefetch", "best": True, "capped": False, **(changes if changed(place) else {})}
            lines.append(sample(step, place, traffic, rate, **best))
    lines.append({"t": "end", "ok": True})
    return Output(step, 0, {"stdout": "".join(json.dumps(line) + "\n" for line in lines), "stderr": ""})


def outputs_of(
    steps: Sequence[Step],
    bps: Callable[[Place, str], float],
    changed: Callable[[Place], bool] = lambda _: True,
    **changes: Any,
) -> list[Output]:
    return [output_of(step, bps, changed, **changes) for step in steps]


def sample(step: Step, place: Place, traffic: str, rate: float, **changes: Any) -> dict[str, Any]:
    """Return one sample with `rate` useful bytes per second at a clock of 2.5 GHz. Its windows differ by at most 1
    %."""
    loads, stores = ARRAYS.get(traffic, (2, 1))
    useful = 64 * 1000 * (loads + stores)
    around = stores if "nt" not in traffic else 0
    rates = [rate * (0.99 + 0.02 * window / (WINDOWS - 1)) for window in range(WINDOWS)]
    return {
        "t": "sample", "label": place.name if option(step, "labels") else "", "size": place.size, "traffic": traffic,
        "variant": "plain", "width": place.width, "vector_bytes": int(place.width) if place.width.isdigit() else 64,
        "threads": max(1, len(numbers(step, "cpus"))), "windows": WINDOWS, "dropped": 0,
        "capped": True, "order": "time", "window_ns": [100_000] * WINDOWS,
        "window_bytes": [round(one * 1e-4) for one in rates], "median_bps": round(rate), "ci_low_bps": round(rates[0]),
        "ci_high_bps": round(rates[-1]), "min_bps": round(rates[0]), "max_bps": round(rates[-1]),
        "useful_bytes": useful, "bus_bytes": useful + 64 * 1000 * around, "read_bytes": 0, "write_bytes": 0,
        "cycle_fs": 400_000, "elapsed_ns": 1_000_000, "best": False, **changes,
    }  # fmt: skip
