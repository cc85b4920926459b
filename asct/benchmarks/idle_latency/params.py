"""Settings of idle-latency."""

from __future__ import annotations

from typing import Annotated

from annotated_types import MultipleOf

from asct.instruments.memory.settings import (
    AutoSize,
    PageKind,
    Share,
    cycle_base_setting,
    duration_setting,
    pages_setting,
    seed_setting,
    stride_setting,
    target_interval_setting,
)
from asct.sdk.params import Duration, Params, Size, setting


class IdleLatencyParams(Params):
    """Working set, page size and accuracy."""

    data_size: AutoSize = setting(
        None,
        "Working set of each pair of nodes; auto: the optimum size of DRAM that latency-sweep finds",
        pitfalls="Below twice the last-level cache some loads hit it; the value is then flagged.",
    )
    duration: Duration = duration_setting(0.5, "one pair of nodes", max_s=60)
    target_interval: Share = target_interval_setting(0.03, "a pair")
    stride: Annotated[Size, MultipleOf(16)] | None = stride_setting(
        "128 prevents the prefetch of adjacent lines from helping."
    )
    pages: PageKind = pages_setting("With 4K pages, page walks are part of the latency.")
    seed: int = seed_setting("Seed of the random order of the lines")
    cycle_base: bool = cycle_base_setting()
