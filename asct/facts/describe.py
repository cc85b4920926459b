"""A one-line description of a host."""

from __future__ import annotations

from asct.sdk.facts import HostFacts
from asct.values.quantity import format_quantity
from asct.values.text import counted


def describe(facts: HostFacts) -> str:
    """Return a line such as `x86_64, Intel(R) Xeon(R) ..., 80 CPUs, 2 nodes, 251 GiB, Linux 6.1.0-56, Debian 12`."""
    cpu, memory, system = facts.cpu, facts.memory, facts.system
    parts = [
        system.arch,
        ", ".join(dict.fromkeys(kind.model for kind in cpu.kinds if kind.model)) or cpu.model,  # several on big.LITTLE
        counted(cpu.cpus, "CPU"),
        counted(len(facts.nodes) or None, "node"),
        format_quantity(memory.total_bytes, "B") if memory.total_bytes else None,
        f"Linux {system.kernel}" if system.kernel else None,
        system.os,
    ]
    return ", ".join(part for part in parts if part) or "nothing is known about this machine"
