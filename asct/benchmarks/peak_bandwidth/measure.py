"""From the samples of the kernel to measurements: the best variant of each kind of traffic, and every variant tried."""

from __future__ import annotations

from typing import Final

from asct.benchmarks.peak_bandwidth.params import PeakBandwidthParams
from asct.instruments.memory.stream import Point, bandwidths, best_of, circumstances, points_of
from asct.instruments.memory.stream_sizes import working_set_flags
from asct.instruments.memory.topology import usable_cpus
from asct.sdk.facts import HostFacts
from asct.sdk.record import Measurement
from asct.sdk.samples import KernelRun

BEST: Final = "best"
"""Flag of the variant whose figures stand for its kind of traffic."""


def measurements(params: PeakBandwidthParams, run: KernelRun, facts: HostFacts) -> list[Measurement]:
    """Everything that the run says. Raises ValueError for samples that are none, or without a best variant."""
    points = points_of(run)
    best = best_of(points)
    missing = set(params.traffic) - {point.traffic for point in best}
    if missing:
        raise ValueError(f"the kernel stream names no best variant of {', '.join(sorted(missing))}")
    flags = working_set_flags(facts, usable_cpus(facts), best[0].size)
    theoretical = params.theoretical_bandwidth or facts.memory.theoretical_bandwidth
    found = [item for point in best for item in _of_traffic(point, theoretical, flags)]
    found += [_of_variant(point) for point in points]
    if theoretical is not None:
        found.append(Measurement("theoretical_bandwidth", theoretical))
    found.append(Measurement("threads", float(best[0].threads)))
    found.append(Measurement("data_size", float(best[0].size)))
    return found + circumstances(best, run.meta, params)


def _of_traffic(point: Point, theoretical: float | None, flags: tuple[str, ...]) -> list[Measurement]:
    coords = {"traffic": point.traffic}
    found = bandwidths(point, coords, flags)
    if theoretical is not None:
        share = 100.0 * point.bus.median / theoretical
        words = (*point.flags, *flags, *(("above-theoretical",) if share > 100.0 else ()))
        found.append(Measurement("share_of_theoretical", share, dict(coords), flags=words))
    return found


def _of_variant(point: Point) -> Measurement:
    """A detail: tried in short windows only, unless it is the best."""
    coords = {"traffic": point.traffic, "variant": point.variant}
    flags = (BEST, *point.flags) if point.best else ()
    return Measurement("variant_bandwidth", point.useful.median, dict(coords), point.useful, flags, detail=True)
