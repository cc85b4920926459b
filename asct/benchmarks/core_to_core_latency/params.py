"""Settings for core-to-core-latency."""

from __future__ import annotations

from typing import Annotated, Final, Literal

from pydantic import BeforeValidator, Field

from asct.instruments.memory.settings import (
    LISTED,
    Cpus,
    PageKind,
    Share,
    cycle_base_setting,
    integers,
    pages_setting,
    target_interval_setting,
)
from asct.instruments.memory.visits import VisitedParams
from asct.sdk.params import Duration, Size, setting
from asct.values.duration import parse_duration

Method = Literal["token", "cas", "chain"]
METHODS: Final[tuple[Method, ...]] = ("token", "cas", "chain")
NODE_WORDS: Final = ("local", "all")


def _nanoseconds(value: object) -> object:
    """Convert a duration with its unit to nanoseconds; a number is already in nanoseconds."""
    text = value.strip() if isinstance(value, str) else None
    if text is None or text.replace(".", "", 1).isdecimal():
        return value
    return parse_duration(text) * 1e9


def _nodes(value: object) -> object:
    """Parse `local` or `all`, ignoring case, or a list of node numbers."""
    word = value.strip().lower() if isinstance(value, str) else None
    return word if word in NODE_WORDS else integers(value)


Nanoseconds = Annotated[float, BeforeValidator(_nanoseconds), Field(gt=0, json_schema_extra={"unit": "ns"})]
NodeChoice = Annotated[
    Literal["local", "all"] | tuple[Annotated[int, Field(ge=0, le=1023)], ...], BeforeValidator(_nodes)
]


class CoreToCoreLatencyParams(VisitedParams):
    """Settings for the CPUs, methods, accuracy and figures."""

    all_cpus: bool = setting(
        False,
        "Measure every pair of usable CPUs; if false, measure only the pairs among the last two CPUs of each node",
        pitfalls="The number of pairs grows with the square of the number of CPUs; `asct plan` shows the estimated "
        "time.",
    )
    cpus: Cpus = setting(
        (), "CPUs whose pairs are measured, for example `0-3,96`; if unset, `all_cpus` selects them", max_length=1024
    )
    methods: Annotated[tuple[Method, ...], LISTED] = setting(
        METHODS,
        "Methods: `token` (store and poll), `cas` (compare-and-swap), `chain` (dependent loads of lines that the "
        "other CPU wrote)",
        min_length=1,
    )
    iterations: int = setting(
        4096,
        "Maximum number of batches per method, CPU pair and visit",
        aliases=("batches",),
        ge=8,
        le=65536,
    )
    turns: int = setting(100, "Number of round trips per batch of `token` or `cas`", ge=1, le=1_000_000)
    addresses: int = setting(
        16,
        "Number of memory addresses that `token` and `cas` use in turn",
        ge=1,
        le=64,
        pitfalls="On a mesh, the cache slice of a line matters as much as the two cores, so a single address is not "
        "representative.",
    )
    chain_size: Size = setting(
        64 << 10,
        "Total size of the lines that `chain` transfers, rounded down to a power of two",
        aliases=("data_size", "chain_bytes"),
        ge=4096,
        le=16 << 20,
        pitfalls="If the size exceeds the L2 cache, the lines come from the next cache level, not from the other core.",
    )
    memory_nodes: NodeChoice = setting(
        "local",
        "Nodes whose memory is used, one after another: `local` (the nodes of the CPUs), `all`, or node numbers",
        aliases=("memory", "membind"),
    )
    parallel: bool = setting(
        True,
        "Measure several pairs at the same time if they share no core; `check_pairs` tests whether they disturb "
        "each other",
    )
    check_pairs: int = setting(
        4, "Number of pairs to measure again on their own, for comparison; 0 disables the check", ge=0, le=65536
    )
    target_interval: Share = target_interval_setting("a method", max_share=1.0)
    time_cap: Duration = setting(0.04, "Time limit per method, CPU pair and visit", ge=1e-3, le=60)
    pages: PageKind = pages_setting()
    hist_bins: int = setting(10, "Number of bars in the histogram", ge=1, le=200)
    heatmap_vmax: Nanoseconds = setting(
        200.0,
        "Upper limit of the heat map's color scale, in nanoseconds or as a duration with its unit",
    )
    cycle_base: bool = cycle_base_setting()
