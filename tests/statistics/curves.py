"""Synthetic latency curves: staircases with blurred edges, noise, and sizes with wrong values."""

from __future__ import annotations

import itertools
import math
import random
from collections.abc import Sequence
from dataclasses import dataclass, field

from asct.statistics.geometric import between_sizes, geometric_sizes

KIB, MIB, GIB = 1 << 10, 1 << 20, 1 << 30


@dataclass(frozen=True)
class Staircase:
    """The latency is `latencies[i]` up to `edges[i]` bytes, and then rises over `blur` octaves to the next one. The
    latency of DRAM drifts by a share per octave."""

    edges: Sequence[int]
    latencies: Sequence[float]
    blur: Sequence[float] = field(default_factory=tuple)
    drift: float = 0.0

    def at(self, size: int) -> float:
        for index, edge in enumerate(self.edges):
            width = self.blur[index] if index < len(self.blur) else 0.0
            end = edge * 2.0**width
            if size <= edge:
                return self.latencies[index]
            if size < end:
                share = math.log(size / edge) / math.log(end / edge)
                low, high = math.log(self.latencies[index]), math.log(self.latencies[index + 1])
                return math.exp(low + share * (high - low))
        last = self.edges[-1] * 2.0 ** (self.blur[-1] if self.blur else 0.0) if self.edges else size
        return self.latencies[-1] * math.exp(self.drift * math.log2(max(size / last, 1.0)))


def grid(low: int = 128, high: int = GIB, per_octave: float = 4) -> list[int]:
    return geometric_sizes(low, high, per_octave, 64)


def refined(stairs: Staircase, sizes: Sequence[int]) -> list[int]:
    """Return the grid and additional sizes that are 2 % apart wherever the true curve changes between two sizes of the
    grid."""
    extra: set[int] = set()
    for low, high in itertools.pairwise(sizes):
        if abs(math.log(stairs.at(high) / stairs.at(low))) > 0.1:
            extra.update(between_sizes(low, high, 1.02, 64))
    return sorted(extra | set(sizes))


def measured(stairs: Staircase, sizes: Sequence[int], sigma: float = 0.0, seed: int = 0) -> dict[int, float]:
    rng = random.Random(seed)
    return {size: stairs.at(size) * math.exp(rng.gauss(0.0, sigma)) for size in sizes}


FOUR = Staircase((48 * KIB, 1 * MIB, 16 * MIB), (1.0, 3.5, 12.0, 130.0), (0.1, 0.4, 0.8))
THREE = Staircase((32 * KIB, 512 * KIB), (1.5, 8.0, 110.0), (0.1, 0.5))
TWO = Staircase((64 * KIB,), (2.0, 90.0), (0.3,))
FIVE = Staircase((64 * KIB, 512 * KIB, 4 * MIB, 32 * MIB), (1.0, 3.5, 11.0, 35.0, 120.0), (0.1, 0.3, 0.4, 0.6))
