"""Settings of loaded-latency."""

from __future__ import annotations

import shlex
from typing import Annotated, Final, Literal

from pydantic import BeforeValidator, Field

from asct.instruments.memory.settings import AUTO, INTEGERS, LISTED, AutoSize, Bandwidth, PageKind, Share
from asct.instruments.memory.traffic import Traffic, Width
from asct.sdk.params import Duration, Params, setting

DELAYS: Final = (3000, 900, 500, 180, 100, 80, 70, 50, 40, 30, 20, 10, 0)

_Delay = Annotated[int, Field(ge=0, le=100_000)]
_Cpu = Annotated[int, Field(ge=0, le=65_535)]


def _spelt(value: object) -> object:
    """64, `64`, `64B` as 64: a choice of numbers takes no text by itself."""
    text = value.strip().upper().removesuffix("B").strip() if isinstance(value, str) else ""
    return int(text) if text.isdecimal() else value


class LoadedLatencyParams(Params):
    """How much load of which kind, where it runs, and what is measured beside it."""

    injected_nops: Annotated[tuple[_Delay, ...], INTEGERS] = setting(
        DELAYS,
        "NOP instructions that a load thread executes after each step, one level of load for each number",
        aliases=("delays",),
        max_length=1000,
        pitfalls="The same number is another load on another core: compare levels by their bandwidth.",
    )
    target_bandwidth: Annotated[tuple[Bandwidth, ...], LISTED] = setting(
        (), "Bandwidths of all load threads together to search a number of NOPs for", max_length=100
    )
    traffic: Traffic = setting("all-reads", "What the load threads do", aliases=("rw_ratio",))
    width: Width = setting(
        "auto",
        "Bytes of one load or store of the load threads: 16, 32 or 64, sve, or auto: the widest that the CPU has",
        pitfalls="A width that the CPU lacks is refused; on aarch64 16 is NEON and 32 and 64 want SVE of that length.",
    )
    touch: Annotated[Literal[64, 128, 256], BeforeValidator(_spelt)] = setting(
        64, "Bytes that a load thread touches in one step, between NOPs", aliases=("bytes_per_step",)
    )
    data_size: AutoSize = setting(
        None,
        "Working set whose latency is measured; auto is the optimum size of DRAM that latency-sweep finds",
        ge=4096,
        pitfalls="Below twice the last cache some loads hit it; the values are then flagged.",
    )
    load_size: AutoSize = setting(
        None, "Memory that each load thread walks; auto: at least four times its share of the caches", ge=65_536
    )
    duration: Duration = setting(
        0.15, "Longest time for one level when target_interval is not reached", aliases=("time_cap",), ge=0.01, le=600
    )
    target_interval: Share = setting(
        0.03,
        "A level is done when the 95 % interval of its median latency is no wider than this share of it (3 % = 0.03)",
        ge=0.001,
        le=0.5,
    )
    phase: Literal["both", "loading", "bandwidth"] = setting(
        "both", "loading: latency under load; bandwidth: of the load threads alone, without the chain; or both at once"
    )
    workload_cmd: str | None = setting(
        None,
        "Command to run under each level of load instead of the chain; its time is measured. No shell reads it",
        max_length=4096,
    )
    latency_cpu_id: int | None = setting(
        None,
        "CPU that measures latency; unset, the last usable one of the memory node or of the first node",
        aliases=("latency_cpu", "cpu"),
        ge=0,
        le=65_535,
    )
    memory_node: int | None = setting(
        None,
        "NUMA node of all memory, of the chain and of the load; unset, each CPU uses that of its own node",
        aliases=("node", "membind"),
        ge=0,
        le=1023,
    )
    load_cpus: Annotated[tuple[_Cpu, ...], INTEGERS] = setting(
        (), "CPUs that make the load, one thread each; none: all usable ones but the one that measures", max_length=8192
    )
    bw_cpu_blocklist: Annotated[tuple[_Cpu, ...], INTEGERS] = setting(
        (), "CPUs that make no load; the one that measures never does", max_length=8192
    )
    pages: PageKind = setting(
        "auto",
        "Pages of the memory: 4K (base pages), THP, 2M or 1G from the pools, or auto: the largest to be had",
        aliases=("page_size", "page_kind"),
    )
    theoretical_bandwidth: Annotated[Bandwidth | None, AUTO] = setting(
        None, "Peak of all memory channels together; auto: from the modules that the firmware describes (needs root)"
    )
    seed: int = setting(1, "Seed of the random order of the chain", ge=0, le=2**31 - 1)
    cycle_base: bool = setting(False, "Show core cycles and bytes per cycle in tables and figures")

    def workload(self) -> list[str]:
        """The words of the command; raises ValueError for quotes that do not end."""
        return shlex.split(self.workload_cmd or "")
