"""Competition for the machine, and limits of the account: other tasks, stolen time, quotas, masks."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from asct.disturbances.build import Evaluation, Evaluations, RuleInput, finding
from asct.sdk.disturbance import CERTAINTIES, Certainty, Setting
from asct.values.cpulist import format_cpulist
from asct.values.size import format_size

BUSY_PRESSURE: Final = 10.0
"""Percent of the last ten seconds in which some task waited for a CPU (Documentation/accounting/psi.rst)."""
_BUSY_CPU: Final = 0.2
"""Share of a second that other work had on one CPU: beyond the daemons of a machine at rest."""
_STEAL: Final = 0.01
"""One percent of the time is more than the spread of a quiet machine."""
_SHORTAGE: Final = {"memory": 1.0, "io": 10.0}
"""Percent of time that tasks waited: a machine at rest never waits for memory, and for drives now and then."""
_PSI: Final = "Linux, Documentation/accounting/psi.rst"


def _competing(seen: RuleInput) -> Iterator[tuple[Certainty, str]]:
    """Signs of other work: pressure where the kernel accounts it, else the load average, which lags behind."""
    load, cpu = seen.facts.load, seen.facts.cpu
    cpus = len(cpu.online) or cpu.cpus
    if load.cpu_pressure_avg10 is not None:
        if load.cpu_pressure_avg10 >= BUSY_PRESSURE:
            waited = f"{load.cpu_pressure_avg10:.0f} % of the last ten seconds"
            yield "certain", f"tasks waited for a CPU in {waited}"
    elif load.load1 is not None and cpus is not None and load.load1 >= cpus:
        yield "likely", f"load {load.load1:g} on {cpus} CPUs"
    hot = {cpu: share for cpu, share in seen.sample.busy.items() if share >= _BUSY_CPU} if seen.sample else {}
    if hot:
        most = f", up to {max(hot.values()) * 100:.0f} %"
        yield "certain", f"within a second CPU {format_cpulist(hot)} had other work{most}"


@finding(
    "busy",
    effect="other work takes turns on the CPUs, fills caches and uses the memory: bandwidth and IOPS are lower, "
    "latency is higher, above all in its upper percentiles, and intervals are wider",
    touches=["*"],
    source=f"{_PSI}; proc_loadavg(5), proc_stat(5)",
)
def _busy(seen: RuleInput) -> Evaluations:
    load = seen.facts.load
    if load.cpu_pressure_avg10 is None and load.load1 is None:
        yield from seen.unseen("other work", "load.load1", "load.cpu_pressure_avg10")
    signs = list(_competing(seen))
    if not signs:
        return
    sure = min((sure for sure, _ in signs), key=CERTAINTIES.index)
    running = seen.sample.running if seen.sample else None
    more = f"; {running} task{'' if running == 1 else 's'} could run besides" if running else ""
    yield Evaluation(
        title="other work on the CPUs",
        seen="; ".join(sign for _, sign in signs) + more,
        sure=sure,
        why="other tasks had the CPUs right before" if sure == "certain" else "the load average lags behind",
        advice="end the other work, or measure when the machine is idle",
    )


@finding(
    "steal",
    effect="virtual CPUs stand still meanwhile: latency is higher, above all in its upper percentiles, bandwidth "
    "and IOPS are lower, by about the share that was stolen and more where threads wait for one another",
    touches=["*"],
    source="proc_stat(5) (steal)",
)
def _steal(seen: RuleInput) -> Evaluations:
    share = seen.sample.steal_share if seen.sample else None
    if share is None or share < _STEAL:
        return
    yield Evaluation(
        title=f"{share * 100:.0f} % of the CPU time stolen",
        seen=f"within a second the hypervisor gave {share * 100:.1f} % of the time to others",
        sure="certain",
        why="the hypervisor itself counts this time",
        advice="ask for a machine with CPUs of its own, or measure when its neighbours are quiet",
    )


@finding(
    "smt-siblings",
    effect="the two threads share the first caches and the units of the core: what is measured there has about "
    "half a core; latency of caches is higher, bandwidth of a core is lower",
    touches=["memory"],
    source="Linux, Documentation/ABI/testing/sysfs-devices-system-cpu (smt/control)",
)
def _siblings(seen: RuleInput) -> Evaluations:
    """Cores of which one thread works while the others are idle: what is measured there shares the core."""
    cpu = seen.facts.cpu
    cores: dict[int, list[int]] = {}
    for one in cpu.logical:
        if one.core is not None:
            cores.setdefault(one.core, []).append(one.cpu)
    busy = seen.sample.busy if seen.sample else {}
    shared = [
        thread
        for threads in cores.values()
        if any(busy.get(thread, 0.0) >= _BUSY_CPU for thread in threads)
        for thread in threads
        if busy.get(thread, 0.0) < _BUSY_CPU
    ]
    if not shared:
        return
    off = [Setting(path="/sys/devices/system/cpu/smt/control", value="off", was="on")] if cpu.smt == "on" else []
    yield Evaluation(
        title="threads of the same cores busy",
        seen=f"idle, but on a core with a CPU that has other work: CPU {format_cpulist(shared)}",
        sure="likely",
        why="benchmarks choose idle CPUs, and these look idle",
        advice="" if off else "end the other work",
        settings=off,
    )


@finding(
    "memory-pressure",
    effect="the kernel takes memory back while it is measured: latency is higher and its spread wider",
    touches=["*"],
    source=_PSI,
)
def _memory(seen: RuleInput) -> Evaluations:
    waited = seen.facts.load.memory_pressure_avg10
    yield from _short(seen, "memory", waited, "short of memory", "memory", "end what uses the memory")


@finding(
    "io-pressure",
    effect="other reads and writes share the drives: IOPS and bandwidth are lower, latency is higher",
    touches=["storage"],
    source=_PSI,
)
def _io(seen: RuleInput) -> Evaluations:
    waited, advice = seen.facts.load.io_pressure_avg10, "end what reads and writes, or wait until it is done"
    yield from _short(seen, "io", waited, "drives in use by others", "reads and writes", advice)


def _short(seen: RuleInput, what: str, waited: float | None, title: str, on: str, advice: str) -> Evaluations:
    """Where tasks waited too much of the time; `waited` is the percent of it that the kernel tells."""
    if waited is None:
        yield from seen.unseen(f"pressure on {what}", f"load.{what}_pressure_avg10")
    share = max(waited or 0.0, (seen.sample.pressure.get(what, 0.0) if seen.sample else 0.0) * 100)
    if share >= _SHORTAGE[what]:
        yield Evaluation(
            title=title,
            seen=f"tasks waited for {on} in {share:.0f} % of the time",
            sure="likely",
            why="it was so right before the measurement",
            advice=advice,
        )


_CGROUP = "Linux, Documentation/admin-guide/cgroup-v2.rst"


@finding(
    "cpu-quota",
    effect="once the share of a period (usually 100 ms) is used up, every thread stops until the next one: "
    "latency has outliers of tens of milliseconds, and bandwidth and IOPS with many threads are too low",
    touches=["*"],
    source=f"{_CGROUP} (cpu.max); Documentation/scheduler/sched-bwc.rst",
)
def _quota(seen: RuleInput) -> Evaluations:
    cpu = seen.facts.cpu
    usable = len(cpu.allowed or cpu.online) or cpu.cpus
    quota = seen.known(cpu.quota, "the quota of CPU time", "cpu.quota")
    if usable is not None and quota >= usable:
        return
    yield Evaluation(
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
def _mask(seen: RuleInput) -> Evaluations:
    cpu = seen.facts.cpu
    allowed = seen.known(cpu.allowed or None, "the CPUs of the account", "cpu.allowed")
    left = sorted(set(cpu.online) - set(allowed) - set(cpu.isolated))
    if not left:
        return
    yield Evaluation(
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
def _memory_limit(seen: RuleInput) -> Evaluations:
    total = seen.facts.memory.total_bytes
    limit = seen.known(seen.facts.memory.limit_bytes, "the limit of memory", "memory.limit_bytes")
    if total is None or limit >= total:
        return
    yield Evaluation(
        title=f"memory limited to {format_size(limit)}",
        seen=f"the control group of the account allows {format_size(limit)} of {format_size(total)}",
        sure="possible",
        why="only near the limit",
        advice="measure outside of the container, or raise its limit (memory.max) for the time",
    )
