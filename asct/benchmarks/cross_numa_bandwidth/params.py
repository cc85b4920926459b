"""Settings of cross-numa-bandwidth."""

from __future__ import annotations

from asct.instruments.memory.settings import AutoSize
from asct.instruments.memory.stream import OneWidthParams
from asct.instruments.memory.traffic import Traffic
from asct.sdk.params import Count, Duration, setting


class CrossNumaBandwidthParams(OneWidthParams):
    """Which traffic, over how much memory, for how long."""

    traffic: Traffic = setting("all-reads", "Kind of traffic between the CPUs of one node and the memory of another")
    data_size: AutoSize = setting(
        None,
        "Memory that each CPU walks; auto: a part of the DRAM size of latency-sweep, at least four times the caches",
        ge=4096,
        pitfalls="Less than four times the caches of a CPU leaves a part of the traffic in them.",
    )
    iterations: Count = setting(
        100_000, "Most windows of 100 us to measure for one pair of nodes; `duration` ends it earlier", ge=1, le=10**9
    )
    duration: Duration = setting(
        0.4, "Longest time for one pair when the interval is not reached", aliases=("time_cap",), ge=1e-3, le=600
    )
