"""The latency of each CPU, from the records of a run: the mean over all pairs to which it belongs or, if CPUs were
measured individually, its own value."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from statistics import fmean, median

from asct.analysis.grid import plain
from asct.sdk.record import Record, Scalar, is_invalid
from asct.values.grouping import grouped

_PAIR = ("cpu_a", "cpu_b")
_LEAST_SPAN = 1.2
"""Minimum ratio between the ends of the scale. Without this minimum, random variation alone would cause the cores of a
uniform machine to be drawn in all colors."""


@dataclass(frozen=True, slots=True)
class CoreLatency:
    """The latency of each measured CPU, in seconds. `title` says what was measured."""

    title: str
    cpus: Mapping[int, float]

    @property
    def scale(self) -> tuple[float, float]:
        """The latencies that the first and the last color represent: the lowest latency, and the highest latency or a
        larger value."""
        low = min(self.cpus.values())
        return low, max(*self.cpus.values(), low * _LEAST_SPAN)

    def of(self, cpus: Iterable[int]) -> float | None:
        """Return the mean latency of these CPUs, or None if none of them was measured."""
        known = [self.cpus[cpu] for cpu in cpus if cpu in self.cpus]
        return fmean(known) if known else None


def core_latencies(records: Iterable[Record]) -> dict[str, CoreLatency]:
    """Return each CPU's core-to-core latency, for each host on which at least two CPUs were measured.

    Values measured with the data in local memory are preferred. If several benchmarks or methods provide values, the
    first one in the records is used.
    """
    found: dict[str, CoreLatency] = {}
    usable = [one for one in records if one.unit == "s" and one.repeat >= 1 and not is_invalid(one.flags)]
    pairs = (one for one in usable if one.coords.keys() >= {*_PAIR} and one.coords.get("data", "local") == "local")
    alone = (one for one in usable if "cpu" in one.coords)
    for same in grouped(pairs, _kind).values():
        method = f", {same[0].coords['method']}" if "method" in same[0].coords else ""
        title = f"Mean latency from each core to the other CPUs ({same[0].id}{method})"
        _add(found, same, title, _PAIR)
    for same in grouped(alone, _kind).values():
        _add(found, same, f"{same[0].metric.replace('_', ' ').capitalize()} of each core ({same[0].id})", ("cpu",))
    return found


def _kind(record: Record) -> tuple[str, str, str, Scalar]:
    return record.host, record.id, record.metric, record.coords.get("method", "")


def _add(found: dict[str, CoreLatency], same: list[Record], title: str, keys: tuple[str, ...]) -> None:
    """Add the latencies of a host, unless `found` already contains some for that host."""
    places = grouped(same, lambda one: (one.point_id, *one.coords.values())).values()
    values: dict[int, list[float]] = {}
    for repeats in places:
        for key in keys:
            values.setdefault(int(repeats[0].coords[key]), []).append(median(one.value for one in repeats))
    if len(values) > 1:
        cpus = {cpu: fmean(own) for cpu, own in sorted(values.items())}
        found.setdefault(same[0].host, CoreLatency(plain(title), cpus))
