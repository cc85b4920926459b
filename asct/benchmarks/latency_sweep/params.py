"""Settings of latency-sweep."""

from __future__ import annotations

from typing import Annotated, Final

from annotated_types import MultipleOf

from asct.instruments.memory.settings import (
    LISTED,
    AutoSize,
    PageKind,
    Share,
    cycle_base_setting,
    memory_node_setting,
    pages_setting,
    seed_setting,
    stride_setting,
    target_interval_setting,
)
from asct.sdk.params import Duration, Params, Size, setting

MAX_SIZE: Final = 1 << 40


class LatencySweepParams(Params):
    """Sizes, memory and accuracy."""

    min_size: AutoSize = setting(
        None, "Smallest working set; auto: two lines", aliases=("min_data_size",), ge=128, le=MAX_SIZE
    )
    max_size: AutoSize = setting(
        None,
        "Largest working set, for which memory is mapped; auto: 1 GiB, or less if that much memory is not free",
        aliases=("max_data_size",),
        ge=1024,
        le=MAX_SIZE,
        pitfalls="Less than four times the last-level cache leaves no room for a DRAM level.",
    )
    sizes: Annotated[tuple[Size, ...], LISTED] = setting(
        (),
        "Working sets to measure instead of the grid from min_size to max_size, without refinement",
        max_length=1000,
        pitfalls="Fewer than 8 sizes, or wide gaps between them, give no levels.",
    )
    points_per_octave: int = setting(4, "Sizes per doubling, before the bounds of levels are refined", ge=1, le=64)
    stride: Annotated[Size, MultipleOf(16)] | None = stride_setting(
        "Below the line size two loads share a line; 128 prevents the prefetch of adjacent lines from helping."
    )
    pages: PageKind = pages_setting(
        "With 4K pages, TLB misses and page walks are part of the latency above about 256 KiB."
    )
    cpu: int | None = setting(
        None,
        "CPU that measures; unset: the last usable CPU of the node",
        aliases=("latency_cpu_id",),
        ge=0,
        le=65535,
    )
    memory_node: int | None = memory_node_setting("NUMA node of the memory; unset: the node of the CPU")
    target_interval: Share = target_interval_setting(0.005, "a size")
    time_cap: Duration = setting(0.1, "Time limit for one size if target_interval is not reached", ge=1e-3, le=60)
    seed: int = seed_setting("Seed of the random order of the lines")
    cycle_base: bool = cycle_base_setting()
