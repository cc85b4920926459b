"""What the account may not use: a quota of its control group, CPUs outside of its mask, memory beyond a limit."""

from __future__ import annotations

from asct.disturbances.build import Found, Look, Seen, finding
from asct.values.cpulist import format_cpulist
from asct.values.size import format_size

_CGROUP = "Linux, Documentation/admin-guide/cgroup-v2.rst"


@finding(
    "cpu-quota",
    effect="once the share of a period (usually 100 ms) is used up, every thread stops until the next one: "
    "latency has outliers of tens of milliseconds, and bandwidth and IOPS with many threads are too low",
    touches=["*"],
    source=f"{_CGROUP} (cpu.max); Documentation/scheduler/sched-bwc.rst",
)
def _quota(seen: Look) -> Found:
    cpu = seen.facts.cpu
    usable = len(cpu.allowed or cpu.online) or cpu.cpus
    quota = seen.known(cpu.quota, "the quota of CPU time", "cpu.quota")
    if usable is not None and quota >= usable:
        return
    yield Seen(
        title=f"CPU time limited to {quota:g} CPUs",
        seen=f"the control group of the account allows {quota:g} of {usable} CPUs",
        sure="certain",
        why="the kernel enforces it",
        advice="measure outside of the container, or raise its limit (cpu.max) for the time",
    )


@finding(
    "cpu-mask",
    effect="what uses all CPUs uses only those that are allowed: bandwidth and IOPS of the whole machine come out "
    "too low, and nodes without an allowed CPU are left out",
    touches=["memory", "storage"],
    source="sched_setaffinity(2); cpuset(7)",
)
def _mask(seen: Look) -> Found:
    cpu = seen.facts.cpu
    allowed = seen.known(cpu.allowed or None, "the CPUs of the account", "cpu.allowed")
    left = sorted(set(cpu.online) - set(allowed) - set(cpu.isolated))
    if not left:
        return
    yield Seen(
        title=f"{len(left)} CPU{'s' if len(left) > 1 else ''} left out",
        seen=f"the account may not use CPU {format_cpulist(left)}",
        sure="certain",
        why="the kernel enforces the mask; it is right where the machine is shared on purpose",
        advice="measure from an account, container or service without a CPU mask (taskset, cpuset, CPUAffinity=)",
    )


@finding(
    "memory-limit",
    effect="the file cache counts as well: benchmarks near the limit have the kernel take memory back meanwhile, "
    "and large ones are not measured at all",
    touches=["memory", "storage"],
    source=f"{_CGROUP} (memory.max)",
)
def _memory(seen: Look) -> Found:
    total = seen.facts.memory.total_bytes
    limit = seen.known(seen.facts.memory.limit_bytes, "the limit of memory", "memory.limit_bytes")
    if total is None or limit >= total:
        return
    yield Seen(
        title=f"memory limited to {format_size(limit)}",
        seen=f"the control group of the account allows {format_size(limit)} of {format_size(total)}",
        sure="possible",
        why="only near the limit",
        advice="measure outside of the container, or raise its limit (memory.max) for the time",
    )
