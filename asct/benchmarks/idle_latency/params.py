"""Settings of idle-latency."""

from __future__ import annotations

from typing import Annotated

from annotated_types import MultipleOf

from asct.instruments.memory.settings import AutoSize, PageKind, Share
from asct.sdk.params import Duration, Params, Size, setting


class IdleLatencyParams(Params):
    """What is walked, on which pages, how exactly."""

    data_size: AutoSize = setting(
        None,
        "Working set of each pair of nodes; auto is the optimum size of DRAM that latency-sweep finds",
        pitfalls="Below twice the last cache some loads hit it; the value is then flagged.",
    )
    duration: Duration = setting(
        0.5,
        "Longest time for one pair of nodes when target_interval is not reached",
        aliases=("time_cap",),
        ge=1e-3,
        le=60,
    )
    target_interval: Share = setting(
        0.03,
        "A pair is done when the 95 % interval of its median is no wider than this share of it (3 % = 0.03)",
        ge=0.001,
        le=0.2,
    )
    stride: Annotated[Size, MultipleOf(16)] | None = setting(
        None,
        "Distance of the lines that are read; unset, the line size of the machine",
        ge=16,
        le=1 << 20,
        pitfalls="128 keeps the prefetch of adjacent lines out.",
    )
    pages: PageKind = setting(
        "auto",
        "Pages of the memory: 4K (base pages), THP, 2M or 1G from the pools, or auto: the largest to be had",
        aliases=("page_size", "page_kind"),
        pitfalls="With 4K pages the time of page walks is part of the latency.",
    )
    seed: int = setting(1, "Seed of the random order of the lines", ge=0, le=2**31 - 1)
    cycle_base: bool = setting(False, "Show core cycles instead of nanoseconds in tables and figures")
