"""Demand intensity: which operating points of a matrix of threads and depths the histograms are taken at.

SNIA Solid State Storage Performance Test Specification 2.0, "Demand intensity / response time histogram".
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Load:
    """One cell of the matrix: jobs, requests in flight per job, requests per second, mean latency in seconds."""

    numjobs: int
    iodepth: int
    iops: float
    latency: float

    @property
    def in_flight(self) -> int:
        """Requests in flight, all jobs together."""
        return self.numjobs * self.iodepth


def operating_points(loads: Sequence[Load], bound_s: float) -> dict[str, Load]:
    """`max`, `mid` and `min` of the cells whose mean latency is under `bound_s`; empty if there is none.

    `max` has the most requests per second, of equals the one with the fewest in flight; `min` the least; `mid` is the
    nearest to halfway between these rates. The same cell may stand for several.
    """
    kept = sorted((load for load in loads if load.latency < bound_s), key=lambda load: (load.in_flight, load.numjobs))
    if not kept:
        return {}
    most = max(kept, key=lambda load: load.iops)
    least = min(kept, key=lambda load: load.iops)
    halfway = (most.iops + least.iops) / 2.0
    middle = min(kept, key=lambda load: abs(load.iops - halfway))
    return {"max": most, "mid": middle, "min": least}
