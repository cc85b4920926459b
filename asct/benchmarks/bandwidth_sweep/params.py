"""Settings of bandwidth-sweep."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field

from asct.instruments.memory.settings import INTEGERS, LISTED
from asct.instruments.memory.stream import OneWidthParams
from asct.instruments.memory.traffic import Traffic
from asct.sdk.params import Duration, Size, setting

Cpu = Annotated[int, Field(ge=0, le=65535)]


class BandwidthSweepParams(OneWidthParams):
    """Which traffic, on which CPUs, over which sizes."""

    traffic: Annotated[tuple[Traffic, ...], LISTED] = setting(
        ("all-reads",), "Kinds of traffic, each a curve of its own", min_length=1, max_length=13
    )
    threads: Literal["one", "all"] = setting(
        "one",
        "One thread on the last usable CPU of the memory node, or one on each usable CPU",
        pitfalls="Sizes are those of each thread; of a cache that several share each takes its part.",
    )
    cpus: Annotated[tuple[Cpu, ...], INTEGERS] = setting(
        (), "CPUs to run on instead, a thread each: `0,2-5`", max_length=1024
    )
    memory_node: int | None = setting(
        None, "NUMA node of the memory; unset, that of each CPU", aliases=("node", "membind"), ge=0, le=1023
    )
    sizes: Annotated[tuple[Size, ...], LISTED] = setting(
        (),
        "Sizes of each thread to measure instead of the levels of latency-sweep and the curve",
        aliases=("data_size",),
        max_length=256,
    )
    min_size: Size = setting(
        2048,
        "Smallest size of the curve",
        aliases=("min_data_size",),
        ge=512,
        le=1 << 40,
        pitfalls="In a few lines a good part of the time goes into starting and ending the loop over them.",
    )
    max_size: Size = setting(
        1 << 28,
        "Largest size of the curve; the level of memory is measured at its own size beside it",
        aliases=("max_data_size",),
        ge=4096,
        le=1 << 40,
    )
    points_per_octave: int = setting(2, "Sizes of the curve per doubling", ge=1, le=16)
    duration: Duration = setting(
        0.2,
        "Longest time for a level, or a size that is given, and one kind of traffic; sizes of the curve have a fifth",
        aliases=("time_cap",),
        ge=1e-3,
        le=60,
    )
