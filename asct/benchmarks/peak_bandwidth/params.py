"""Settings of peak-bandwidth."""

from __future__ import annotations

from typing import Annotated, Final

from asct.instruments.memory.settings import AUTO, LISTED, AutoSize, Bandwidth
from asct.instruments.memory.stream import OneWidthParams
from asct.instruments.memory.traffic import Traffic
from asct.sdk.params import Count, Duration, setting

PEAK: Final = ("all-reads", "3:1", "2:1", "1:1", "2:1-nt", "copy", "triad", "write", "nt-write", "nt-copy")


class PeakBandwidthParams(OneWidthParams):
    """Which traffic, over how much memory, for how long."""

    traffic: Annotated[tuple[Traffic, ...], LISTED] = setting(
        PEAK, "Kinds of traffic, each by itself", min_length=1, max_length=13
    )
    data_size: AutoSize = setting(
        None,
        "Memory that each CPU walks; auto: a part of the DRAM size of latency-sweep, at least four times the caches",
        ge=4096,
        pitfalls="Less than four times the caches of a CPU leaves a part of the traffic in them.",
    )
    iterations: Count = setting(
        100_000, "Most windows of 100 us to measure for one variant; `duration` ends it earlier", ge=1, le=10**9
    )
    duration: Duration = setting(
        0.2,
        "Longest time for one kind of traffic when the interval is not reached",
        aliases=("time_cap",),
        ge=1e-3,
        le=600,
    )
    theoretical_bandwidth: Annotated[Bandwidth | None, AUTO] = setting(
        None, "Peak of all memory channels together; auto: from the modules that the firmware describes (needs root)"
    )
