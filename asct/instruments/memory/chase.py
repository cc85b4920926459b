"""Samples from the `chase` kernel: the latency at a size, in seconds and in core cycles, with its spread."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from asct.instruments.memory.kernel_flags import noise_flags
from asct.sdk.record import Measurement, Scalar, Stats
from asct.sdk.samples import PS, interval, number, sample_stats
from asct.statistics.visits import SAMPLES_MIN


@dataclass(frozen=True, slots=True)
class ChaseLatency:
    """The latency at one size in seconds and in core cycles, and the number of lines. `settled` is true if all batches
    were measured within the time limit.
    """

    size: int
    latency: Stats
    cycles: Stats
    clock_hz: float
    lines: int
    settled: bool

    def values(
        self, at: Mapping[str, Scalar], flags: tuple[str, ...] = (), *, prefix: str = "", detail: bool = False
    ) -> list[Measurement]:
        """Return the latency in seconds and in cycles, as metrics whose names begin with `prefix`."""
        spreads = {f"{prefix}latency": self.latency, f"{prefix}latency_cycles": self.cycles}
        return [Measurement(name, stats.median, dict(at), stats, flags, detail) for name, stats in spreads.items()]


def chase_latency(sample: Mapping[str, Any]) -> ChaseLatency:
    """Parse a sample. Raises ValueError if it is invalid.

    The kernel has computed the median and the interval over all batches. The MAD is computed here from the batches that
    the sample lists. The spread in cycles is the spread in time multiplied by the clock at this size, because the clock
    of a single batch may be wrong after an interrupt.
    """
    batches, loads = int(number(sample, "batches")), number(sample, "loads")
    ns = sample.get("ns")
    if not isinstance(ns, list) or not ns or loads <= 0:
        raise ValueError(f"the sample for size {sample.get('size')} has no batches")
    latency = sample_stats(sample, "ps", PS, batches, [value / loads * 1e-9 for value in ns])
    clock_hz = 1e15 / number(sample, "cycle_fs")
    median_cycles = number(sample, "mcycles") / 1e3
    return ChaseLatency(
        size=int(number(sample, "size")),
        latency=latency,
        cycles=Stats(
            n=batches,
            median=median_cycles,
            mad=latency.mad * clock_hz,
            ci95=interval(sample, "mcycles_low", "mcycles_high", 1e-3),
            min=min(latency.min * clock_hz, median_cycles),
            max=max(latency.max * clock_hz, median_cycles),
            dropped=latency.dropped,
        ),
        clock_hz=clock_hz,
        lines=int(number(sample, "lines")),
        settled=sample.get("capped") is not True,
    )


def chase_flags(found: ChaseLatency, end: Mapping[str, Any]) -> tuple[str, ...]:
    """Return the noise flags for a size in one visit.

    If there are none, but too few batches were undisturbed, return `noisy`.
    """
    few = not found.settled and found.latency.n < SAMPLES_MIN
    return noise_flags(end) or (("noisy",) if few else ())
