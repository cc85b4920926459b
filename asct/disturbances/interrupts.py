"""Interrupts: who moves them, where they may go, which CPUs take many."""

from __future__ import annotations

from collections.abc import Collection
from typing import Final

from asct.disturbances.build import Evaluation, Evaluations, RuleInput, finding
from asct.sdk.disturbance import Setting
from asct.values.cpulist import format_cpulist

_MANY: Final = 1000.0
"""Interrupts of devices a second: at some microseconds each, a CPU loses a percent or so to its devices."""
_AFFINITY: Final = "Linux, Documentation/core-api/irq/irq-affinity.rst"


@finding(
    "irqbalance",
    effect="the interrupts of drives and network interfaces may move to other CPUs every ten seconds: latency "
    "and IOPS of storage change in steps, and CPUs that measure memory handle interrupts",
    touches=["storage", "memory.latency"],
    source=f"irqbalance(1); {_AFFINITY}",
)
def _balanced(seen: RuleInput) -> Evaluations:
    if not seen.known(seen.facts.system.irqbalance, "irqbalance", "system.irqbalance"):
        return
    yield Evaluation(
        title="irqbalance runs",
        seen="irqbalance, which moves interrupts between CPUs, is running",
        sure="possible",
        why="it acts only when the interrupt load changes, and cannot move the queue interrupts of NVMe drives",
        fix=["systemctl stop irqbalance"],
        undo=["systemctl start irqbalance"],
        scripted=True,
    )


@finding(
    "irq-affinity",
    effect="CPUs that were isolated for low noise handle interrupts: latency has outliers",
    touches=["memory.latency", "storage.latency"],
    source=_AFFINITY,
)
def _isolated(seen: RuleInput) -> Evaluations:
    """Interrupts that may go to CPUs which were set aside."""
    system, isolated = seen.facts.system, set(seen.facts.cpu.isolated)
    if isolated and not system.irq_default_affinity:
        yield from seen.unseen("the default interrupt affinity", "system.irq_default_affinity")
    hit, rest = isolated & set(system.irq_default_affinity), set(system.irq_default_affinity) - isolated
    if not hit or not rest:
        return
    yield Evaluation(
        title="interrupts on isolated CPUs",
        seen=f"interrupts can be routed to isolated CPU {format_cpulist(hit)}",
        sure="likely",
        why="this is the default for new interrupts; existing ones keep their own smp_affinity",
        settings=[
            Setting(path="/proc/irq/default_smp_affinity", value=mask(rest), was=mask(system.irq_default_affinity))
        ],
    )


def mask(cpus: Collection[int]) -> str:
    """CPUs as the kernel writes them in hexadecimal, in groups of 32 bits from the highest: `00000001,ffffffff`."""
    bits = sum(1 << cpu for cpu in set(cpus))
    groups = [f"{bits >> shift & 0xFFFFFFFF:08x}" for shift in range(0, max(1, bits.bit_length()), 32)]
    return ",".join(reversed(groups))


@finding(
    "interrupts",
    effect="each interrupt stops the program on its CPU for some microseconds and evicts cache lines: latency "
    "has outliers and a wider spread",
    touches=["memory", "storage"],
    source=f"proc_interrupts(5); {_AFFINITY}",
)
def _many(seen: RuleInput) -> Evaluations:
    rates = {cpu: rate for cpu, rate in (seen.sample.interrupts if seen.sample else {}).items() if rate >= _MANY}
    if not rates:
        return
    yield Evaluation(
        title=f"up to {max(rates.values()):,.0f} interrupts per second",
        seen=f"CPU {format_cpulist(rates)}: up to {max(rates.values()):,.0f} device interrupts per second",
        sure="likely",
        why="devices are in use although nothing is being measured",
        advice="stop the network and drive traffic, or move its interrupts (/proc/irq/N/smp_affinity_list)",
    )
