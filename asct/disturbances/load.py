"""Rules for competing load (other tasks, stolen time, pressure) and for limits on the account (quotas, CPU masks)."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from asct.disturbances.build import Evaluation, Evaluations, RuleInput, rule
from asct.disturbances.sample import ActivitySample
from asct.sdk.disturbance import CERTAINTIES, Certainty, Setting
from asct.values.cpulist import format_cpulist
from asct.values.size import format_size
from asct.values.text import counted, printable

BUSY_PRESSURE: Final = 10.0
"""Limit for the percentage of the last ten seconds during which at least one task waited for a CPU
(Documentation/accounting/psi.rst)."""
_BUSY_CPU: Final = 0.2
"""Limit for the share of a second that a CPU spends on other processes. On an idle machine, daemons use less than
this."""
_NAMED: Final = 0.05
"""A process is listed only if it uses at least this share of one CPU. The resolution of the readings is 0.01."""
_MOST_NAMED: Final = 3
_STEAL: Final = 0.01
"""Limit for the share of stolen time. Above this limit, stolen time changes results by more than their spread on a
quiet machine."""
_SHORTAGE: Final = {"memory": 1.0, "io": 10.0}
"""Limit for the percentage of time during which tasks waited. On an idle machine, tasks never wait for memory, and wait
only occasionally for drives."""


def _competing(host: RuleInput) -> Iterator[tuple[Certainty, str]]:
    """Yield evidence of other processes: CPU pressure and busy CPUs.

    If the Linux kernel does not record pressure, use the load average, which reacts more slowly.
    """
    load, cpu = host.facts.load, host.facts.cpu
    cpus = len(cpu.online) or cpu.cpus
    if load.cpu_pressure_avg10 is not None:
        if load.cpu_pressure_avg10 >= BUSY_PRESSURE:
            yield "certain", f"tasks waited for a CPU for {load.cpu_pressure_avg10:.0f} % of the last ten seconds"
    elif load.load1 is not None and cpus is not None and load.load1 >= cpus:
        yield "likely", f"load average {load.load1:g} on {cpus} CPUs"
    hot = {cpu: share for cpu, share in host.sample.busy.items() if share >= _BUSY_CPU}
    if hot:
        most = f"for up to {max(hot.values()) * 100:.0f} % of a one-second sample"
        yield "certain", f"CPU {format_cpulist(hot)} was busy with other processes, {most}"


@rule("busy")
def _busy(host: RuleInput) -> Evaluations:
    load = host.facts.load
    if load.cpu_pressure_avg10 is None and load.load1 is None:
        yield from host.unseen("other processes", "load.load1", "load.cpu_pressure_avg10")
    signs = list(_competing(host))
    if not signs:
        return
    sure = min((sure for sure, _ in signs), key=CERTAINTIES.index)
    running = host.sample.running
    more = f"; {counted(running, 'other task was', 'other tasks were')} runnable" if running else ""
    values = {"signs": "; ".join(sign for _, sign in signs), "more": more, "named": _named(host.sample), "sure": sure}
    yield Evaluation(values, case="certain" if sure == "certain" else "")


def _named(sample: ActivitySample) -> str:
    """List the busiest processes with their shares of one CPU. If a CPU was busy but no process is visible, report that
    instead: processes in another container, or those of another account with hidepid (proc(5)), are hidden."""
    busy = [one for one in sample.processes if one.share >= _NAMED]
    if busy:
        names = (f"{printable(one.name)} (pid {one.pid}, {one.share * 100:.0f} %)" for one in busy[:_MOST_NAMED])
        others = len(busy) - _MOST_NAMED
        return "; busiest: " + ", ".join(names) + (f" and {others} more" if others > 0 else "")
    hidden = max(sample.busy.values(), default=0.0) >= _BUSY_CPU
    return "; this account cannot see the processes (another container, or hidepid)" if hidden else ""


@rule("steal")
def _steal(host: RuleInput) -> Evaluations:
    share = host.sample.steal_share
    if share is None or share < _STEAL:
        return
    yield Evaluation({"share": share * 100})


@rule("smt-siblings")
def _siblings(host: RuleInput) -> Evaluations:
    """Report idle CPUs that share a core with a busy CPU, because the busy CPU slows down measurements on the idle
    ones."""
    cpu = host.facts.cpu
    busy = {number for number, share in host.sample.busy.items() if share >= _BUSY_CPU}
    cores = {one.core for one in cpu.logical if one.core is not None and one.cpu in busy}
    shared = [one.cpu for one in cpu.logical if one.core in cores and one.cpu not in busy]
    if not shared:
        return
    off = [Setting(path="/sys/devices/system/cpu/smt/control", value="off", was="on")] if cpu.smt == "on" else []
    yield Evaluation({"cpus": format_cpulist(shared)}, off, "" if off else "always on")


@rule("memory-pressure")
def _memory(host: RuleInput) -> Evaluations:
    yield from _short(host, "memory", host.facts.load.memory_pressure_avg10)


@rule("io-pressure")
def _io(host: RuleInput) -> Evaluations:
    yield from _short(host, "io", host.facts.load.io_pressure_avg10)


def _short(host: RuleInput, what: str, waited: float | None) -> Evaluations:
    """Report a shortage if tasks waited too long. `waited` is the percentage of time that the Linux kernel reports."""
    if waited is None:
        yield from host.unseen(f"pressure on {what}", f"load.{what}_pressure_avg10")
    share = max(waited or 0.0, host.sample.pressure.get(what, 0.0) * 100)
    if share >= _SHORTAGE[what]:
        yield Evaluation({"share": share})


@rule("cpu-quota")
def _quota(host: RuleInput) -> Evaluations:
    cpu = host.facts.cpu
    usable = len(cpu.allowed or cpu.online) or cpu.cpus
    quota = host.known(cpu.quota, "the CPU time quota", "cpu.quota")
    if usable is not None and quota >= usable:
        return
    yield Evaluation({"quota": quota, "usable": usable})


@rule("cpu-mask")
def _mask(host: RuleInput) -> Evaluations:
    cpu = host.facts.cpu
    allowed = host.known(cpu.allowed or None, "the CPUs available to the account", "cpu.allowed")
    left = sorted(set(cpu.online) - set(allowed) - set(cpu.isolated))
    if not left:
        return
    yield Evaluation({"number": counted(len(left), "CPU"), "cpus": format_cpulist(left)})


@rule("memory-limit")
def _memory_limit(host: RuleInput) -> Evaluations:
    total = host.facts.memory.total_bytes
    limit = host.known(host.facts.memory.limit_bytes, "the memory limit", "memory.limit_bytes")
    if total is None or limit >= total:
        return
    yield Evaluation({"limit": format_size(limit), "total": format_size(total)})
