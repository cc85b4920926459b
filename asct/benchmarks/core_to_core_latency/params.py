"""Settings of core-to-core-latency."""

from __future__ import annotations

from typing import Annotated, Final, Literal

from pydantic import BeforeValidator, Field

from asct.instruments.memory.settings import INTEGERS, LISTED, PageKind, Share, integers
from asct.sdk.params import Duration, Params, Size, setting
from asct.values.cpulist import MAX_CPU
from asct.values.duration import parse_duration

Method = Literal["token", "cas", "chain"]
METHODS: Final[tuple[Method, ...]] = ("token", "cas", "chain")
NODE_WORDS: Final = ("local", "all")


def _nanoseconds(value: object) -> object:
    """Nanoseconds of a number (which is that already) or of a duration with its unit."""
    text = value.strip() if isinstance(value, str) else None
    if text is None or text.replace(".", "", 1).isdecimal():
        return value
    return parse_duration(text) * 1e9


def _nodes(value: object) -> object:
    """`local` or `all` in any case; else a list of node numbers."""
    word = value.strip().lower() if isinstance(value, str) else None
    return word if word in NODE_WORDS else integers(value)


Nanoseconds = Annotated[float, BeforeValidator(_nanoseconds), Field(gt=0, json_schema_extra={"unit": "ns"})]
NodeChoice = Annotated[
    Literal["local", "all"] | tuple[Annotated[int, Field(ge=0, le=1023)], ...], BeforeValidator(_nodes)
]


class CoreToCoreLatencyParams(Params):
    """Which CPUs, by which methods, how exactly, and how it is drawn."""

    all_cpus: bool = setting(
        False,
        "Measure all CPUs that may be used, every one with every other; otherwise the last two of each node",
        pitfalls="The number of pairs grows with the square of the CPUs; `asct plan` shows the time.",
    )
    cpus: Annotated[tuple[Annotated[int, Field(ge=0, le=MAX_CPU)], ...], INTEGERS] = setting(
        (), "CPUs to measure, every one with every other, such as 0-3,96; unset, as all_cpus says", max_length=1024
    )
    methods: Annotated[tuple[Method, ...], LISTED] = setting(
        METHODS,
        "What to measure: token (store and poll), cas (compare-and-swap), chain (dependent loads of written lines)",
        min_length=1,
    )
    iterations: int = setting(
        4096,
        "Batches of a method between two CPUs at most; fewer do when target_interval is reached",
        aliases=("batches",),
        ge=8,
        le=65536,
    )
    turns: int = setting(100, "Round trips in a batch of token or cas", ge=1, le=1_000_000)
    addresses: int = setting(
        16,
        "Places in memory that token and cas use in turn",
        ge=1,
        le=64,
        pitfalls="On a mesh the slice that a line belongs to counts as much as the two cores: one place says little.",
    )
    chain_size: Size = setting(
        64 << 10,
        "Bytes of the lines that chain hands over, rounded down to a power of two",
        aliases=("data_size", "chain_bytes"),
        ge=4096,
        le=16 << 20,
        pitfalls="Above the second-level cache the lines come from the cache beyond it, not from the other core.",
    )
    memory_nodes: NodeChoice = setting(
        "local",
        "Nodes whose memory is used, one after the other: those of the CPUs (local), all, or their numbers",
        aliases=("memory", "membind"),
    )
    parallel: bool = setting(
        True, "Measure pairs that share no core at the same time; check_pairs watches whether they disturb one another"
    )
    check_pairs: int = setting(
        4, "Pairs to measure again alone after the others, to compare; 0 checks nothing", ge=0, le=65536
    )
    target_interval: Share = setting(
        0.05,
        "A method is done when the 95 % interval of its median is no wider than this share of it (5 % = 0.05)",
        ge=0.001,
        le=1.0,
    )
    time_cap: Duration = setting(0.04, "Longest time for a method between two CPUs", ge=1e-3, le=60)
    pages: PageKind = setting(
        "auto",
        "Pages of the memory: 4K (base pages), THP, 2M or 1G from the pools, or auto: the largest to be had",
        aliases=("page_size", "page_kind"),
    )
    hist_bins: int = setting(10, "Bars of the histogram", ge=1, le=200)
    heatmap_vmax: Nanoseconds = setting(
        200.0,
        "Where the colours of the heat map end, if values lie beyond; nanoseconds, or a duration with its unit",
    )
    cycle_base: bool = setting(False, "Show core cycles instead of nanoseconds in tables and figures")
    seed: int = setting(1, "Seed of the places in memory and of the order of lines", ge=0, le=2**31 - 1)
