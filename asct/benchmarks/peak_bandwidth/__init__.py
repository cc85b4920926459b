"""peak-bandwidth: the highest combined bandwidth of all CPUs on all nodes, for each access pattern."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Annotated, Final

from asct.instruments.memory.bandwidth import (
    OWN_COLUMNS,
    TRIALS_S,
    BandwidthBenchmark,
    traffic_bars,
    traffic_kinds,
    traffic_series,
)
from asct.instruments.memory.kernel_flags import ABOVE_THEORETICAL_FLAGS, above_theoretical
from asct.instruments.memory.quantities import PEAK_BANDWIDTH
from asct.instruments.memory.settings import (
    AUTO,
    LISTED,
    AutoSize,
    Bandwidth,
    data_size_setting,
    duration_setting,
    iterations_setting,
    theoretical_bandwidth_setting,
)
from asct.instruments.memory.sizes import (
    MEMORY_LEVEL,
    demanded_bytes,
    level_size,
    local_nodes,
    mapping_seconds,
    optimum_size,
    working_set_flags,
)
from asct.instruments.memory.stream import (
    CIRCUMSTANCES,
    STREAM_FLAGS,
    THEORETICAL,
    THREADS,
    WINDOWS,
    BandwidthStyle,
    OneWidthParams,
    StreamCall,
    StreamResult,
    WorkingSet,
    bandwidth_metrics,
    bandwidths,
    best_results,
    circumstances,
    stream_results,
    value_seconds,
)
from asct.instruments.memory.topology import usable_cpus
from asct.instruments.memory.traffic import TITLES, WORDS, Traffic
from asct.sdk.benchmark import Context
from asct.sdk.facts import HostFacts
from asct.sdk.figure import Column, Figure, Rated, Table
from asct.sdk.metric import Coords, Highlight, Metric
from asct.sdk.needs import Needs, Privilege
from asct.sdk.params import Count, Duration, setting
from asct.sdk.record import Measurement, Record
from asct.sdk.rows import FLAGS_COLUMN, Row, at, by_point, flag_cell, flags_of, middle, point_rows, spread_cells
from asct.sdk.samples import KernelRun
from asct.sdk.step import Step
from asct.values.quantity import format_quantity

PEAK: Final = ("all-reads", "3:1", "2:1", "1:1", "2:1-nt", "copy", "triad", "write", "nt-write", "nt-copy")
_TRAFFIC: Final[Coords] = {"traffic": WORDS}
_BEST: Final = "best"
"""Flag on the fastest variant, which determines the values of its access pattern."""
COUNTING: Final = (
    "Useful BW is the median over the windows of the fastest variant, all threads combined. It counts the bytes that "
    "the program loads and stores. Peak BW counts bytes on the memory bus: the same bytes, plus the cache lines "
    "that a normal store is assumed to read first (some cores avoid that read, and string instructions are assumed to "
    "avoid it). The interval and Max (the best window) refer to Useful BW."
)


class PeakBandwidthParams(OneWidthParams):
    """Settings for the traffic, the working set and the duration."""

    traffic: Annotated[tuple[Traffic, ...], LISTED] = setting(
        PEAK, "Access patterns, measured one after another", min_length=1, max_length=13
    )
    data_size: AutoSize = data_size_setting()
    iterations: Count = iterations_setting(WINDOWS, "variant")
    duration: Duration = duration_setting(0.2, "access pattern")
    theoretical_bandwidth: Annotated[Bandwidth | None, AUTO] = theoretical_bandwidth_setting()


class PeakBandwidth(BandwidthBenchmark[PeakBandwidthParams]):
    """A benchmark with one process and a thread on every usable CPU. All threads start and stop together; nothing is
    extrapolated."""

    name = "peak-bandwidth"
    title = "Peak memory bandwidth"
    version = "2"
    summary = (
        "Peak bandwidth of all CPUs on all nodes at once, by access pattern, measured with the fastest of several loops"
    )
    aliases = ("pb",)
    default = True
    params_model = PeakBandwidthParams
    flags = STREAM_FLAGS | ABOVE_THEORETICAL_FLAGS
    highlights = (
        Highlight("bandwidth", "All Reads", {"traffic": "all-reads"}),
        Highlight("bandwidth", "Highest bandwidth (useful bytes)", {"traffic": None}),
        Highlight("bus_bandwidth", "Highest bus bandwidth (including assumed reads for ownership)", {"traffic": None}),
    )
    quantities = (PEAK_BANDWIDTH,)
    metrics = (
        *bandwidth_metrics(_TRAFFIC),
        Metric("share_of_theoretical", "%", "higher", "Bus bandwidth relative to the theoretical peak", _TRAFFIC),
        Metric(
            "variant_bandwidth",
            "B/s",
            "higher",
            "Bandwidth of each loop variant (useful bytes)",
            {**_TRAFFIC, "variant": None},
        ),
        THEORETICAL,
        THREADS,
        Metric.info("data_size", "B", "Working set of each thread"),
        *CIRCUMSTANCES,
    )

    def demand(self, params: PeakBandwidthParams, facts: HostFacts | None) -> tuple[int, float]:
        """Return the memory that all threads need, in bytes, and the total time limit for all access patterns, in
        seconds, including the trials of their variants."""
        demanded = demanded_bytes(facts, params.data_size)
        seconds = len(params.traffic) * (value_seconds(params.duration, params.iterations) + TRIALS_S)
        return demanded, mapping_seconds(demanded) + seconds

    def needs(self, params: PeakBandwidthParams, facts: HostFacts | None) -> Needs:
        """Return the resources required, including root access for reading the theoretical peak if that peak is not
        set."""
        found = super().needs(params, facts)
        firmware = () if params.theoretical_bandwidth else (Privilege("reads DIMM data (SMBIOS)"),)
        return replace(found, privileges=(*found.privileges, *firmware))

    def processes(self, params: PeakBandwidthParams, context: Context) -> Sequence[Step]:
        """Return the single process that measures all access patterns. Raises LookupError if no size is set and none
        was found."""
        cpus = usable_cpus(context.facts)
        size = params.data_size or level_size(context.facts, cpus, MEMORY_LEVEL, optimum_size(context))
        nodes = local_nodes(context.facts, cpus)
        sets = (WorkingSet(size, params.width),)
        call = StreamCall(cpus, sets, params.traffic, params.duration, nodes, params.iterations)
        return (call.step("stream", params),)

    def values(
        self, params: PeakBandwidthParams, runs: Mapping[str, KernelRun], facts: HostFacts
    ) -> Sequence[Measurement]:
        """Return, for each access pattern, the bandwidth and its share of the peak, as well as the bandwidth of each
        variant, the core clock and the page size."""
        run = next(iter(runs.values()))
        results = stream_results(run)
        best = best_results(results)
        missing = set(params.traffic) - {result.traffic for result in best}
        if missing:
            raise ValueError(f"the `stream` kernel reports no best variant for {', '.join(sorted(missing))}")
        flags = working_set_flags(facts, usable_cpus(facts), best[0].size)
        theoretical = params.theoretical_bandwidth or facts.memory.theoretical_bandwidth
        found = [item for result in best for item in _of_traffic(result, theoretical, flags)]
        found += [_of_variant(result) for result in results]
        if theoretical is not None:
            found.append(Measurement("theoretical_bandwidth", theoretical))
        found.append(Measurement("threads", float(best[0].threads)))
        found.append(Measurement("data_size", float(best[0].size)))
        return above_theoretical(found + circumstances(best, run.meta), theoretical)

    def tables(self, records: Sequence[Record]) -> Sequence[Table]:
        """Return a table of medians over the repeats, with one row per access pattern and point."""
        return (_table(records, self.style(records)),) if records else ()

    def figures(self, records: Sequence[Record]) -> Sequence[Figure]:
        """Return a bar chart of the useful bytes and the bytes on the bus, grouped by access pattern."""
        series = [
            traffic_series(mine, metric, name)
            for mine in by_point(records)
            for metric, name in (("bandwidth", "Useful"), ("bus_bandwidth", "On the memory bus"))
            if at(mine, metric)
        ]
        caption = (
            "All CPUs at once, each using memory on its own node. Bars are medians with 95 % intervals. A dashed line "
            "marks the theoretical peak of the memory, if it is known."
        )
        charts = traffic_bars("peak", "Peak memory bandwidth", caption, series)
        return tuple(replace(chart, rated=_theoretical(records)) for chart in charts)


def _theoretical(records: Sequence[Record]) -> tuple[Rated, ...]:
    peak = middle(at(records, "theoretical_bandwidth"))
    return () if peak is None else (Rated(peak, f"theoretical peak {format_quantity(peak, 'B/s')}"),)


def _of_traffic(result: StreamResult, theoretical: float | None, flags: tuple[str, ...]) -> list[Measurement]:
    coords = {"traffic": result.traffic}
    found = bandwidths(result, coords, flags)
    if theoretical is not None:
        share = 100.0 * result.bus.median / theoretical
        found.append(Measurement("share_of_theoretical", share, dict(coords), flags=(*result.flags, *flags)))
    return found


def _of_variant(result: StreamResult) -> Measurement:
    """Return the bandwidth of a variant as a detail, because only the best one is measured for longer than a few short
    trial windows."""
    coords = {"traffic": result.traffic, "variant": result.variant}
    flags = (_BEST, *result.flags) if result.best else ()
    return Measurement("variant_bandwidth", result.useful.median, dict(coords), result.useful, flags, detail=True)


def _table(records: Sequence[Record], style: BandwidthStyle) -> Table:
    unit, scale = style.unit, style.scale
    columns = (
        Column("traffic", "Traffic type", format="text"),
        Column(
            "bandwidth",
            f"Useful BW [{unit}]",
            scale,
            help="Median, counting the bytes that the program loads and stores",
        ),
        Column("bus_bandwidth", f"Peak BW [{unit}]", scale, help="Median, counting the bytes on the memory bus"),
        Column("share", "% of Peak Theoretical", digits=1, help="Bytes on the memory bus"),
        Column("variant", "Variant", format="text", help="The fastest loop variant"),
        Column(
            "interval",
            f"95 % interval [{unit}]",
            format="text",
            help="Interval for Useful BW; if there are several repeats, the range of their values",
        ),
        Column("max", f"Max [{unit}]", scale, help="Bytes that the program loads and stores in the best window"),
        FLAGS_COLUMN,
    )

    def rows(mine: Sequence[Record]) -> list[Row]:
        return [_row(mine, traffic, style) for traffic in traffic_kinds(mine)]

    all_columns, found = point_rows(records, columns, rows, OWN_COLUMNS)
    flags = flags_of(record for record in records if record.metric in ("bus_bandwidth", "share_of_theoretical"))
    return Table("peak", "Peak memory bandwidth", all_columns, found, (COUNTING,) if found else (), flags)


def _row(mine: Sequence[Record], traffic: str, style: BandwidthStyle) -> Row:
    bus = at(mine, f"bus_bandwidth{style.suffix}", traffic=traffic)
    useful = at(mine, f"bandwidth{style.suffix}", traffic=traffic)
    share = at(mine, "share_of_theoretical", traffic=traffic)
    variants = [r.coords["variant"] for r in at(mine, "variant_bandwidth", traffic=traffic) if _BEST in r.flags]
    return {
        "traffic": TITLES[traffic],
        "bandwidth": middle(useful),
        "bus_bandwidth": middle(bus),
        "share": middle(share),
        "variant": ", ".join(map(str, dict.fromkeys(variants))),
        **spread_cells(useful, style.scale),
        **flag_cell([*bus, *share]),
    }


BENCHMARK = PeakBandwidth()
