"""Settings for loaded-latency."""

from __future__ import annotations

import shlex
from typing import Annotated, Final, Literal

from pydantic import BeforeValidator, Field

from asct.instruments.memory.settings import (
    AUTO,
    INTEGERS,
    LISTED,
    AutoSize,
    Bandwidth,
    Cpus,
    PageKind,
    cycle_base_setting,
    memory_node_setting,
    pages_setting,
    theoretical_bandwidth_setting,
)
from asct.instruments.memory.stream import WIDTH_PITFALL
from asct.instruments.memory.traffic import Traffic, Width
from asct.instruments.memory.visits import VisitedParams
from asct.sdk.params import Duration, setting

DELAYS: Final = (3000, 900, 500, 180, 100, 80, 70, 50, 40, 30, 20, 10, 0)

_Delay = Annotated[int, Field(ge=0, le=100_000)]


def _bytes(value: object) -> object:
    """Read 64, `64` and `64B` as 64, because a Literal of numbers does not accept text."""
    text = value.strip().upper().removesuffix("B").strip() if isinstance(value, str) else ""
    return int(text) if text.isdecimal() else value


class LoadedLatencyParams(VisitedParams):
    """Settings for the load, its CPUs, and the measurement under load."""

    injected_nops: Annotated[tuple[_Delay, ...], INTEGERS] = setting(
        DELAYS,
        "Numbers of NOP instructions that a load thread executes after each step; each number is one load level",
        aliases=("delays",),
        max_length=1000,
        pitfalls="The same number of NOPs creates a different load on a different type of core: compare levels by "
        "their bandwidth.",
    )
    target_bandwidth: Annotated[tuple[Bandwidth, ...], LISTED] = setting(
        (),
        "Target bandwidths for all load threads together; asct searches for the matching number of NOPs",
        max_length=100,
    )
    traffic: Traffic = setting("all-reads", "Access pattern of the load threads", aliases=("rw_ratio",))
    width: Width = setting(
        "auto",
        "Width in bytes of the load threads' loads and stores: 16, 32, 64, `sve`, or `auto` (the widest that the "
        "CPU supports)",
        pitfalls=WIDTH_PITFALL,
        resembles=("access_size",),
    )
    touch: Annotated[Literal[64, 128, 256], BeforeValidator(_bytes)] = setting(
        64,
        "Bytes that a load thread accesses in one step, between NOPs",
        aliases=("bytes_per_step",),
        pitfalls="A step that is larger than `width` consists of several loads or stores of `width` bytes each.",
        resembles=("access_size",),
    )
    data_size: AutoSize = setting(
        None,
        "Working set whose latency is measured; `auto` means the optimum DRAM size that latency-sweep finds",
        ge=4096,
        pitfalls="Below twice the size of the last-level cache, some loads hit the cache, and the values are flagged.",
    )
    load_size: AutoSize = setting(
        None,
        "Working set of each load thread; `auto` means at least four times the thread's share of the caches",
        ge=65_536,
    )
    duration: Duration = setting(
        0.15,
        "Time limit per level and visit; normally reached only on a busy host",
        aliases=("time_cap",),
        ge=0.01,
        le=600,
    )
    phase: Literal["both", "loading", "bandwidth"] = setting(
        "both",
        "`loading` measures the latency under load, `bandwidth` measures the bandwidth of the load threads "
        "without the chain, and `both` measures latency and bandwidth at the same time",
    )
    workload_cmd: str | None = setting(
        None,
        "Command that runs, without a shell, at each load level instead of the chain; asct measures its run time",
        max_length=4096,
    )
    latency_cpu_id: int | None = setting(
        None,
        "CPU that measures latency; if unset, the last usable CPU of the memory node or, if `memory_node` is also "
        "unset, of the first node",
        aliases=("latency_cpu", "cpu"),
        ge=0,
        le=65_535,
    )
    memory_node: int | None = memory_node_setting(
        "NUMA node whose memory the chain and the load use; if unset, each CPU uses memory on its own node"
    )
    load_cpus: Cpus = setting(
        (),
        "CPUs that generate the load, one thread each; if unset, all usable CPUs except the one that measures latency",
        max_length=8192,
    )
    bw_cpu_blocklist: Cpus = setting(
        (), "CPUs that must not generate load, in addition to the CPU that measures latency", max_length=8192
    )
    pages: PageKind = pages_setting()
    theoretical_bandwidth: Annotated[Bandwidth | None, AUTO] = theoretical_bandwidth_setting()
    cycle_base: bool = cycle_base_setting("core cycles and bytes per cycle")

    def workload(self) -> list[str]:
        """Return the words of the command. Raises ValueError if a quote is not closed."""
        return shlex.split(self.workload_cmd or "")
