"""Build runs for comparisons from a few values with given visits."""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from asct.analysis.diff.source import ASCT, DiffSource
from asct.sdk.record import Record, Stats
from tests.export.fakes import Fakes
from tests.records import record

CATALOG = Fakes()


def visits(middle: float, count: int = 12, seed: int = 1, spread: float = 0.004) -> tuple[float, ...]:
    """Return the values of visits around `middle`."""
    rng = random.Random(f"{seed} {middle}")
    return tuple(middle * (1.0 + rng.gauss(0.0, spread)) for _ in range(count))


def value(values: Sequence[float], **changes: Any) -> Record:
    """Return a value with these visits. It is the latency of level L1 unless `changes` specify otherwise."""
    middle = sorted(values)[len(values) // 2]
    ends = (min(values), max(values))
    stats = Stats(
        n=len(values), median=middle, mad=0.0, ci95=ends if len(values) > 5 else None, min=ends[0], max=ends[1],
        visits=len(values), visit_values=tuple(values),
    )  # fmt: skip
    measured = {"benchmark": "latency-sweep", "id": "latency-sweep", "coords": {"level": "L1"}, "stats": stats}
    return record(**{"value": middle, "host": "a", **measured, **changes})


def source(name: str, *records: Record, **changes: Any) -> DiffSource:
    """Return a run with these values."""
    body: dict[str, Any] = {
        "name": f"p/{name}", "root": Path(f"/results/p/{name}"), "tool": ASCT, "version": "1.0", "records": records,
        "plan": "p", "machines": {"a": {"CPU": "EPYC 7B13", "Linux kernel": "6.1 x86_64"}},
    }  # fmt: skip
    return DiffSource(**{**body, **changes})


def levels(factors: Mapping[str, float], **changes: Any) -> list[Record]:
    """Return the latency of several levels: 100 ns times a factor."""
    return [value(visits(1e-7 * factor), coords={"level": name}, **changes) for name, factor in factors.items()]
