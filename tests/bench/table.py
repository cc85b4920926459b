"""Lines of the table: our value, the limit, the best peer, and the ratios."""

from __future__ import annotations

import os
import statistics
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

ROUNDS = 5
Subject = Callable[[], float]


@dataclass(frozen=True)
class Limit:
    """The maximum that the hardware can reach (in the unit of the row), the source of this value, and the sustained
    rate that the source states."""

    value: float
    source: str
    sustained: float


@dataclass(frozen=True)
class Goal:
    """A goal as `text`, and whether it was reached."""

    text: str
    reached: bool


def note(text: str) -> None:
    """Print a line next to the table."""
    print(f"# {text}", flush=True)


def machine() -> str:
    """Return the CPU model, the usable CPUs, and the load average of the last minute."""
    lines = Path("/proc/cpuinfo").read_text().splitlines()
    model = next(
        (line.split(":", 1)[1].strip() for line in lines if line.startswith("model name")), "unknown processor"
    )
    return f"{model}, CPUs {','.join(map(str, cpus()))}, load {os.getloadavg()[0]:.2f}"


def cpus() -> list[int]:
    """Return the CPUs that this process may use."""
    return sorted(os.sched_getaffinity(0))


def interleaved(subjects: Mapping[str, Subject], rounds: int = ROUNDS) -> dict[str, list[float]]:
    """Run each subject once per round. A subject that fails is omitted with a note, except the one called `ours`, which
    must not fail."""
    values: dict[str, list[float]] = {name: [] for name in subjects}
    for _ in range(rounds):
        for name in list(values):
            try:
                values[name].append(subjects[name]())
            except (RuntimeError, OSError, LookupError) as problem:
                if name.startswith("ours"):
                    raise
                del values[name]
                note(f"{name}: {problem}")
    return values


def row(
    name: str,
    unit: str,
    middle: float,
    best: float,
    *,
    limit: Limit | None = None,
    peer: tuple[str, float, float] | None = None,
    goal: Goal | None = None,
) -> None:
    """Print one line. `peer` contains the name, the median and the best value of a peer; ratios are ours divided by the
    peer's, medians first."""
    parts = [f"{name:<34} median {middle:9.3f}  best {best:9.3f} {unit:<8}"]
    if limit is not None:
        lasting = f", {limit.sustained:g} sustained" if limit.sustained != limit.value else ""
        parts.append(f"limit {limit.value:g}{lasting} ({limit.source}), ratio {middle / limit.value:.3f}")
    if peer is not None:
        parts.append(f"{peer[0]} {peer[1]:.3f} / {peer[2]:.3f}, ratio {middle / peer[1]:.3f} / {best / peer[2]:.3f}")
    if goal is not None:
        parts.append(f"goal {goal.text}: {'reached' if goal.reached else 'MISSED'}")
    print("  ".join(parts), flush=True)


def run(rows: Mapping[str, Callable[[], None]], words: Sequence[str]) -> int:
    """Run every row, or those whose names contain one of the words. Return 1 if a row cannot be measured, after
    reporting the reason."""
    failed = 0
    for name, one in rows.items():
        if words and not any(word in name for word in words):
            continue
        try:
            one()
        except (RuntimeError, OSError, LookupError) as problem:
            failed += 1
            note(f"{name}: could not be measured: {problem}")
    return 1 if failed else 0


def best_peer(values: Mapping[str, Sequence[float]], better: Callable[..., float]) -> tuple[str, float, float] | None:
    """Return the name, the median and the best value of the peer with the best median (`better` is max or min)."""
    peers = {name: series for name, series in values.items() if not name.startswith("ours") and series}
    if not peers:
        return None
    middles = {name: statistics.median(series) for name, series in peers.items()}
    name = next(name for name, middle in middles.items() if middle == better(middles.values()))
    return name, middles[name], better(peers[name])
