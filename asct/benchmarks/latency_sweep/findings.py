"""What speaks against a value, and what is noted beside the levels: words, each with its meaning."""

from __future__ import annotations

from typing import Final

from asct.instruments.memory.noise import NOISE_FLAGS
from asct.instruments.memory.pages import PAGE_FLAGS

FLAGS: Final = {
    **NOISE_FLAGS,
    "noisy": (
        "the 95 % interval did not reach target_interval within time_cap; of a level: its sizes scatter by more than "
        "5 %, or most of them have intervals wider than 5 %"
    ),
    "few-lines": "8 lines or fewer: a core may forward or predict such loads; no level is made of them",
    "outlier": "more than 15 % off the sizes around it; left out of the levels",
    "disturbed": "slower than larger working sets, which memory never is: something else ran; left out of the levels",
    "switched": "more than a quarter of the batches were dropped since the thread lost its CPU",
    "few-sizes": "fewer than 6 sizes lie in the level, too few for an interval",
    "coarse-bound": "the next size measured is more than 2.5 % beyond this bound",
    **PAGE_FLAGS,
}
"""Flags of values."""

NO_LEVELS: Final = "no-levels"

NOTES: Final = {
    "flat-curve": "the latency is the same at all sizes (an emulator, or a range within one cache)",
    "steady-rise": "the latency grows without steps (an emulator does so); raw values are in the figure",
    "one-plateau": "only one stretch of sizes has a steady latency; a wider range may show more",
    "too-many-plateaus": "there are more steps than a memory hierarchy has: disturbed, or TLB steps with 4K pages",
    "few-sizes": "too few sizes were measured to tell levels",
    "disturbed": "more than a quarter of the sizes were disturbed: repeat on an idle machine",
    "scattered": "latencies scatter too much from size to size: repeat on an idle machine",
    "shoulder": "between levels the latency pauses without a plateau; that is not counted as a level",
    "open-end": "the latency still rises at the largest size: raise max_size to reach the next level",
    "ends-in-cache": "the largest size still fits into a cache that the host reports: raise max_size to reach DRAM",
    "smaller-memory": "too little memory is free for working sets up to 1 GiB: the largest is what fits",
    "cache-without-plateau": "a cache that the host reports shows no plateau of its own: shared with others, or hidden",
}
"""Causes and notes on the search for levels."""

WAY_OUT: Final = (
    "No levels were found, so none is handed to other benchmarks: "
    "set their `data_size`, and they no longer need latency-sweep."
)
