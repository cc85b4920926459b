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
        yield "certain", f"within one second, CPU {format_cpulist(hot)} had other work{most}"


@finding(
    "busy",
    effect="other processes compete for CPUs, caches and memory: bandwidth and IOPS are lower, latency is "
    "higher, especially its upper percentiles, and intervals are wider",
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
    more = f"; {running} other task{'' if running == 1 else 's'} could run" if running else ""
    yield Evaluation(
        title="other work on the CPUs",
        seen="; ".join(sign for _, sign in signs) + more,
        sure=sure,
        why="other tasks used the CPUs immediately before" if sure == "certain" else "the load average lags behind",
        advice="stop the other processes, or measure when the machine is idle",
    )


@finding(
    "steal",
    effect="virtual CPUs stop during stolen time: latency is higher, especially its upper percentiles, and "
    "bandwidth and IOPS are lower, by about the stolen share and by more if threads wait for each other",
    touches=["*"],
    source="proc_stat(5) (steal)",
)
def _steal(seen: RuleInput) -> Evaluations:
    share = seen.sample.steal_share if seen.sample else None
    if share is None or share < _STEAL:
        return
    yield Evaluation(
        title=f"{share * 100:.0f} % of the CPU time stolen",
        seen=f"within one second, the hypervisor gave {share * 100:.1f} % of the time to other guests",
        sure="certain",
        why="the hypervisor reports this time",
        advice="use a guest with dedicated CPUs, or measure when other guests are idle",
    )


@finding(
    "smt-siblings",
    effect="the two SMT threads share the caches and execution units of the core, so a measurement gets about "
    "half a core: cache latency is higher and the bandwidth of a core is lower",
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
        title="SMT siblings busy",
        seen=f"idle, but an SMT sibling on the same core is busy: CPU {format_cpulist(shared)}",
        sure="likely",
        why="benchmarks choose idle CPUs, and these appear idle",
        advice="" if off else "stop the other processes",
        settings=off,
    )


@finding(
    "memory-pressure",
    effect="the kernel reclaims memory during the measurement: latency is higher and its spread is wider",
    touches=["*"],
    source=_PSI,
)
def _memory(seen: RuleInput) -> Evaluations:
    waited = seen.facts.load.memory_pressure_avg10
    yield from _short(seen, "memory", waited, "short of memory", "memory", "stop processes that use much memory")


@finding(
    "io-pressure",
    effect="other processes read from and write to the drives: IOPS and bandwidth are lower, latency is higher",
    touches=["storage"],
    source=_PSI,
)
def _io(seen: RuleInput) -> Evaluations:
    waited, advice = (
        seen.facts.load.io_pressure_avg10,
        ("stop the processes that read and write, or wait until they finish"),
    )
    yield from _short(seen, "io", waited, "drives in use by other processes", "reads and writes", advice)


def _short(seen: RuleInput, what: str, waited: float | None, title: str, on: str, advice: str) -> Evaluations:
    """Shortages in which tasks waited too long; `waited` is the kernel's percentage."""
    if waited is None:
        yield from seen.unseen(f"pressure on {what}", f"load.{what}_pressure_avg10")
    share = max(waited or 0.0, (seen.sample.pressure.get(what, 0.0) if seen.sample else 0.0) * 100)
    if share >= _SHORTAGE[what]:
        yield Evaluation(
            title=title,
            seen=f"tasks waited for {on} {share:.0f} % of the time",
            sure="likely",
            why="this was the state immediately before the measurement",
            advice=advice,
        )


_CGROUP = "Linux, Documentation/admin-guide/cgroup-v2.rst"


@finding(
    "cpu-quota",
    effect="when the quota of a period (usually 100 ms) is used up, all threads stop until the next period: "
    "latency has outliers of tens of milliseconds, and bandwidth and IOPS with many threads are too low",
    touches=["*"],
    source=f"{_CGROUP} (cpu.max); Documentation/scheduler/sched-bwc.rst",
)
def _quota(seen: RuleInput) -> Evaluations:
    cpu = seen.facts.cpu
    usable = len(cpu.allowed or cpu.online) or cpu.cpus
    quota = seen.known(cpu.quota, "the CPU time quota", "cpu.quota")
    if usable is not None and quota >= usable:
        return
    yield Evaluation(
        title=f"CPU time limited to {quota:g} CPUs",
        seen=f"the control group of the account allows {quota:g} of {usable} CPUs",
        sure="certain",
        why="the kernel enforces it",
        advice="measure outside the container, or raise its limit (cpu.max) temporarily",
    )


@finding(
    "cpu-mask",
    effect="benchmarks of all CPUs use only the permitted ones: bandwidth and IOPS of the whole machine are too "
    "low, and nodes without a permitted CPU are skipped",
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
        title=f"{len(left)} CPU{'s' if len(left) > 1 else ''} excluded",
        seen=f"the account is not permitted to use CPU {format_cpulist(left)}",
        sure="certain",
        why="the kernel enforces the mask; it is intended if the machine is shared",
        advice="measure with an account, container or service without a CPU mask (taskset, cpuset, CPUAffinity=)",
    )


@finding(
    "memory-limit",
    effect="the page cache counts too: near the limit, the kernel reclaims memory during the measurement, and "
    "benchmarks that need more memory are not run",
    touches=["memory", "storage"],
    source=f"{_CGROUP} (memory.max)",
)
def _memory_limit(seen: RuleInput) -> Evaluations:
    total = seen.facts.memory.total_bytes
    limit = seen.known(seen.facts.memory.limit_bytes, "the memory limit", "memory.limit_bytes")
    if total is None or limit >= total:
        return
    yield Evaluation(
        title=f"memory limited to {format_size(limit)}",
        seen=f"the control group of the account allows {format_size(limit)} of {format_size(total)}",
        sure="possible",
        why="only near the limit",
        advice="measure outside the container, or raise its limit (memory.max) temporarily",
    )
