"""Settings of memory-profile."""

from __future__ import annotations

from typing import Annotated, Final

from asct.instruments.memory.settings import LISTED, AutoSize
from asct.instruments.memory.stream import StreamParams
from asct.instruments.memory.traffic import Traffic, Width
from asct.sdk.params import Duration, Size, setting

PROFILE: Final = ("all-reads", "3:1", "2:1", "1:1", "triad")


class MemoryProfileParams(StreamParams):
    """Which traffic, with which widths of accesses, over how much memory."""

    traffic: Annotated[tuple[Traffic, ...], LISTED] = setting(
        PROFILE, "Kinds of traffic, a row each", min_length=1, max_length=13
    )
    widths: Annotated[tuple[Width, ...], LISTED] = setting(
        (),
        "Bytes of one load or store, a column each; left out, all that the CPU has",
        max_length=5,
        pitfalls="A width that the CPU lacks is refused; on aarch64 16 is NEON and 32 and 64 want SVE of that length.",
    )
    data_size: AutoSize = setting(
        None,
        "Memory that each CPU walks; auto: a part of the DRAM size of latency-sweep, at least four times the caches",
        ge=4096,
        pitfalls="Less than four times the caches of a CPU leaves a part of the traffic in them.",
    )
    cache_sizes: Annotated[tuple[Size, ...], LISTED] = setting(
        (),
        "Sizes of each CPU within the caches; left out, those of latency-sweep, or with data_size half of each cache",
        max_length=8,
    )
    duration: Duration = setting(
        0.1,
        "Longest time for one value when the interval is not reached",
        aliases=("time_cap",),
        ge=1e-3,
        le=600,
    )
