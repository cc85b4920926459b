"""Settings of latency-sweep."""

from __future__ import annotations

from typing import Annotated, Final

from annotated_types import MultipleOf

from asct.instruments.memory.settings import LISTED, AutoSize, PageKind, Share
from asct.sdk.params import Duration, Params, Size, setting

MAX_SIZE: Final = 1 << 40


class LatencySweepParams(Params):
    """What is swept, on which memory, how exactly."""

    min_size: AutoSize = setting(
        None, "Smallest working set; auto: two lines", aliases=("min_data_size",), ge=128, le=MAX_SIZE
    )
    max_size: AutoSize = setting(
        None,
        "Largest working set, for which memory is mapped; auto: 1 GiB, less where that is not free",
        aliases=("max_data_size",),
        ge=1024,
        le=MAX_SIZE,
        pitfalls="Less than four times the last cache leaves no room for a DRAM level.",
    )
    sizes: Annotated[tuple[Size, ...], LISTED] = setting(
        (),
        "Working sets to measure instead of the grid from min_size to max_size; nothing is refined then",
        max_length=1000,
        pitfalls="Fewer than 8 sizes, or wide gaps, give no levels.",
    )
    points_per_octave: int = setting(4, "Sizes per doubling, before the edges of levels are refined", ge=1, le=64)
    stride: Annotated[Size, MultipleOf(16)] | None = setting(
        None,
        "Distance of the lines that are read; unset, the line size of the machine",
        ge=16,
        le=1 << 20,
        pitfalls="Below the line size two loads share a line; 128 keeps the prefetch of adjacent lines out.",
    )
    pages: PageKind = setting(
        "auto",
        "Pages of the memory: 4K (base pages), THP, 2M or 1G from the pools, or auto: the largest to be had",
        aliases=("page_size", "page_kind"),
        pitfalls="With 4K pages TLB misses and page walks are part of the latency above about 256 KiB.",
    )
    cpu: int | None = setting(
        None, "CPU that measures; unset, the last allowed one of the node", aliases=("latency_cpu_id",), ge=0, le=65535
    )
    memory_node: int | None = setting(
        None, "NUMA node of the memory; unset, where the CPU is", aliases=("node", "membind"), ge=0, le=1023
    )
    target_interval: Share = setting(
        0.005,
        "A size is done when the 95 % interval of its median is no wider than this share of it (0.5 % = 0.005)",
        ge=0.001,
        le=0.2,
    )
    time_cap: Duration = setting(0.1, "Longest time for one size when the interval is not reached", ge=1e-3, le=60)
    seed: int = setting(1, "Seed of the random order of the lines", ge=0, le=2**31 - 1)
    cycle_base: bool = setting(False, "Show core cycles instead of nanoseconds in tables and figures")
