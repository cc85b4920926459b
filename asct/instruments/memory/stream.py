"""The `stream` kernel: its settings and command line, and the conversion of its samples to bandwidths with their
spread."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from asct.instruments.memory.kernel_flags import NOISE_FLAGS, PAGE_FLAGS, many_dropped, noise_flags, page_flags
from asct.instruments.memory.settings import PageKind, cycle_base_setting, from_pools, pages_setting
from asct.instruments.memory.sizes import SET_FLAGS
from asct.instruments.memory.topology import UNBOUND
from asct.instruments.memory.traffic import WORDS, Width
from asct.instruments.memory.visits import VISIT_FLAGS, VisitedParams
from asct.sdk.metric import Metric, Unit
from asct.sdk.params import setting
from asct.sdk.record import Measurement, Scalar, Stats
from asct.sdk.samples import KernelRun, number, sample_stats
from asct.sdk.step import Kernel, Step, options, thousandths
from asct.statistics.robust import median
from asct.statistics.visits import SAMPLES_MIN

KERNEL: Final = "stream"
WINDOW_S: Final = 100e-6
WINDOWS: Final = 63
"""Number of windows for each value in one visit. Although starting a visit takes as long as hundreds of windows,
another visit improves the result more than additional windows do (Kalibera and Jones, ISMM 2013, section 6)."""
WINDOWS_MOST: Final = 4096
"""Maximum number of windows that the kernel can store."""
# A window, including its wait for all threads and its probe of the clock, takes up to this multiple of its length.
_WAITING: Final = 3
PER_CYCLE: Final = "_cycles"
"""Suffix of metric names for values in bytes per core cycle."""
STREAM_FLAGS: Final[dict[str, str]] = {
    **NOISE_FLAGS,
    **VISIT_FLAGS,
    **PAGE_FLAGS,
    "switched": "more than a quarter of the windows were dropped because a thread was descheduled",
    **SET_FLAGS,
}
"""All flags that a bandwidth measured by the kernel may have, with their meanings."""
CIRCUMSTANCES: Final = (
    Metric("core_clock", "Hz", "neither", "Core clock during the measurement, derived from dependent additions"),
    Metric.info("page_size", "B", "Page size of the memory"),
)
"""The metrics whose values `circumstances` returns."""
THREADS: Final = Metric.info("threads", "1", "Number of concurrent threads, one per CPU")
THEORETICAL: Final = Metric.info("theoretical_bandwidth", "B/s", "Theoretical peak of all memory channels together")


WIDTH_PITFALL: Final = (
    "A width that the CPU does not support is an error. On aarch64, 16 means NEON, and 32 and 64 require SVE vectors "
    "of that length."
)


class StreamParams(VisitedParams):
    """The settings for every benchmark based on the `stream` kernel."""

    pages: PageKind = pages_setting()
    cycle_base: bool = cycle_base_setting("bytes per core cycle instead of GB/s")


class OneWidthParams(StreamParams):
    """The settings for benchmarks that measure all values with the same access width."""

    width: Width = setting(
        "auto",
        "Bytes per load or store: `16`, `32`, `64`, `sve`, or `auto` (the widest that the CPU supports)",
        pitfalls=WIDTH_PITFALL,
        resembles=("access_size", "touch", "bytes_per_step"),
    )


def value_seconds(duration_s: float, windows: int = WINDOWS) -> float:
    """Return the estimated time to measure one value in one visit: the time of its windows, but at most
    `duration_s`."""
    return min(duration_s, _WAITING * windows * WINDOW_S)


@dataclass(frozen=True, slots=True)
class WorkingSet:
    """The bytes per thread (all arrays combined), the bytes per load or store, and a label for the working set's
    results."""

    size: int
    width: str = "auto"
    label: str = ""


def working_sets(sizes: Iterable[int], width: str) -> tuple[WorkingSet, ...]:
    """Return working sets without labels, smallest first."""
    return tuple(WorkingSet(size, width) for size in sorted(set(sizes)))


@dataclass(frozen=True, slots=True)
class StreamCall:
    """A process that runs one thread on each of `cpus` and measures every working set with every access pattern.

    All sets are measured in the same memory; either all or none of them have a label. `nodes` are the memory nodes: one
    for all threads, or one per CPU. UNBOUND means the node on which the thread runs. If `cpus` is empty, a single
    thread runs on the CPU on which the process starts.
    """

    cpus: Sequence[int]
    sets: Sequence[WorkingSet]
    traffic: Sequence[str]
    cap_s: float
    nodes: Sequence[int] = (UNBOUND,)
    windows: int = WINDOWS

    def step(self, name: str, params: StreamParams) -> Step:
        """Return the step that runs the process."""
        return Step(name, Kernel(KERNEL), self.arguments(params), as_root=from_pools(params.pages))

    def arguments(self, params: StreamParams) -> tuple[str, ...]:
        """Return the command-line options for the `stream` kernel."""
        nodes = list(dict.fromkeys(self.nodes))
        widths = [one.width for one in self.sets]
        return options(
            {
                "cpus": self.cpus or None,
                "sizes": [one.size for one in self.sets],
                "labels": [one.label for one in self.sets if one.label] or None,
                "traffic": dict.fromkeys(self.traffic),
                "nodes": self.nodes if len(nodes) > 1 else nodes,
                "width": widths if len(set(widths)) > 1 else widths[0],
                "pages": params.pages,
                "window-us": round(WINDOW_S * 1e6),
                "windows": min(self.windows, WINDOWS_MOST),
                "time-cap-ms": thousandths(self.cap_s),
                "seed": params.seed,
            }
        )


@dataclass(frozen=True, slots=True)
class StreamResult:
    """The bandwidth of one variant of an access pattern in one working set (`size` bytes per thread).

    `useful` is the rate at which the program loads and stores bytes, in B/s for all threads together; `bus_share` is
    the ratio of bytes on the bus to these bytes.
    """

    label: str
    size: int
    traffic: str
    variant: str
    best: bool
    threads: int
    vector_bytes: int
    useful: Stats
    bus_share: float
    clock_hz: float
    flags: tuple[str, ...]

    @property
    def bus(self) -> Stats:
        """The bandwidth on the memory bus in B/s. Before a normal store, the line is read for ownership."""
        return self.useful.scaled(self.bus_share)


def stream_results(run: KernelRun) -> list[StreamResult]:
    """Parse all samples. Raises ValueError if there are none or one is invalid."""
    found = [_point(sample, run) for sample in run.samples]
    if not found:
        raise ValueError(f"the `{KERNEL}` kernel reported no results")
    return found


def best_results(points: Iterable[StreamResult]) -> list[StreamResult]:
    """Return the results of the fastest variants, sorted by size, width and access pattern."""
    best = (one for one in points if one.best)
    return sorted(best, key=lambda one: (one.size, one.vector_bytes, WORDS.index(one.traffic)))


def circumstances(points: Sequence[StreamResult], meta: Mapping[str, Any]) -> list[Measurement]:
    """Return the median core clock during the measurement, and the page size with the page flags."""
    return [
        Measurement("core_clock", median([one.clock_hz for one in points])),
        Measurement("page_size", number(meta, "page_bytes"), flags=page_flags(meta)),
    ]


def bandwidths(
    point: StreamResult, coords: Mapping[str, Scalar], flags: tuple[str, ...] = (), *, detail: bool = False
) -> list[Measurement]:
    """Return one result's value for each metric that `bandwidth_metrics` returns."""
    spreads = {
        "bandwidth": point.useful,
        "bus_bandwidth": point.bus,
        f"bandwidth{PER_CYCLE}": point.useful.scaled(1.0 / point.clock_hz),
        f"bus_bandwidth{PER_CYCLE}": point.bus.scaled(1.0 / point.clock_hz),
    }
    all_flags = (*point.flags, *flags)
    return [Measurement(name, stats.median, dict(coords), stats, all_flags, detail) for name, stats in spreads.items()]


def bandwidth_metrics(coords: Mapping[str, tuple[str, ...] | None]) -> tuple[Metric, ...]:
    """Return the metrics whose values `bandwidths` returns, with the coordinates `coords`."""
    texts: dict[str, tuple[Unit, str]] = {
        "bandwidth": ("B/s", "Bytes that the program loads and stores per second"),
        "bus_bandwidth": (
            "B/s",
            "Bytes on the memory bus per second: useful bytes, plus the cache lines read for ownership before a store",
        ),
        "bandwidth_cycles": ("B/cycle", "Useful bytes per core cycle, all threads combined"),
        "bus_bandwidth_cycles": ("B/cycle", "Bytes on the memory bus per core cycle, all threads combined"),
    }
    return tuple(Metric(name, unit, "higher", text, dict(coords)) for name, (unit, text) in texts.items())


@dataclass(frozen=True, slots=True)
class BandwidthStyle:
    """How bandwidths are presented: the metrics whose names end in `suffix`, divided by `scale`, in `unit`."""

    unit: str
    scale: float
    suffix: str


IN_CYCLES: Final = BandwidthStyle("B/cycle", 1.0, PER_CYCLE)
IN_TIME: Final = BandwidthStyle("GB/s", 1e9, "")


def _point(sample: Mapping[str, Any], run: KernelRun) -> StreamResult:
    """Parse a sample. Except for the MAD, the statistics come from the kernel, which computed them over all windows."""
    traffic, variant = sample.get("traffic"), sample.get("variant")
    if traffic not in WORDS or not isinstance(variant, str):
        raise ValueError(
            f"a sample from the `{KERNEL}` kernel has an unknown access pattern or variant: {traffic!r}, {variant!r}"
        )
    useful_bytes = number(sample, "useful_bytes")
    if useful_bytes <= 0 or number(sample, "cycle_fs") <= 0:
        raise ValueError(f"the sample for {traffic} at size {sample.get('size')} moved no bytes")
    best = sample.get("best") is True
    return StreamResult(
        label=str(sample.get("label") or ""),
        size=int(number(sample, "size")),
        traffic=str(traffic),
        variant=variant,
        best=best,
        threads=int(number(sample, "threads")),
        vector_bytes=int(number(sample, "vector_bytes")),
        useful=_stats(sample),
        bus_share=number(sample, "bus_bytes") / useful_bytes,
        clock_hz=1e15 / number(sample, "cycle_fs"),
        flags=_flags(sample, run.end) if best else (),
    )


def _stats(sample: Mapping[str, Any]) -> Stats:
    ns, moved = sample.get("window_ns"), sample.get("window_bytes")
    if not isinstance(ns, list) or not isinstance(moved, list) or not ns or len(ns) != len(moved) or min(ns) <= 0:
        raise ValueError(f"the sample for {sample.get('traffic')} at size {sample.get('size')} has no windows")
    rates = [bytes_ / time * 1e9 for bytes_, time in zip(moved, ns, strict=True)]
    return sample_stats(sample, "bps", 1.0, int(number(sample, "windows")), rates)


def _flags(sample: Mapping[str, Any], end: Mapping[str, Any]) -> tuple[str, ...]:
    windows, dropped = number(sample, "windows"), int(number(sample, "dropped"))
    switched = ("switched",) if many_dropped(windows, dropped) else ()
    few = ("noisy",) if sample.get("capped") is True and windows < SAMPLES_MIN else ()
    return (*(noise_flags(end) or few), *switched)
