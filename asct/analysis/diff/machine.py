"""The facts of a machine and its software, keyed by label, as `asct diff` compares them."""

from __future__ import annotations

from collections.abc import Iterable

from asct.analysis.grid import plain, size_text
from asct.analysis.machine.hardware import processor
from asct.analysis.machine.rows import TextRow, clock, cpus, firmware_text, listed, phrase, size, yes
from asct.analysis.machine.system import virtualization
from asct.sdk.facts import Cpu, HostFacts, Memory

_TOOLS = ("cc", "gcc", "clang", "fio", "numactl")
"""Programs whose version can change results: compilers, and programs that measure or set the NUMA placement."""


def machine_facts(facts: HostFacts) -> dict[str, str]:
    """Return a mapping from labels to the facts that can change results, as text and in display order. Unknown facts
    and facts that change all the time, such as free memory, are left out."""
    rows = (*_machine(facts), *_cpu(facts.cpu), *_memory(facts), *_software(facts))
    return {label: plain(text) for label, text in rows if text}


def _machine(facts: HostFacts) -> Iterable[TextRow]:
    system, product = facts.system, facts.system.product
    firmware = system.firmware
    yield "Machine", listed(product.manufacturer, product.name, product.version, by=" ")
    yield "Virtualization", virtualization(facts)
    yield "Instance type", listed(system.cloud, system.instance_type)
    yield "CPU", processor(facts.cpu)
    yield "Firmware", firmware_text(firmware.vendor, firmware.version, firmware.release_date)
    yield "BMC", firmware.bmc_version or ""


def _cpu(cpu: Cpu) -> Iterable[TextRow]:
    yield "Microcode", cpu.microcode or ""
    yield "CPUs", phrase("{}", cpu.cpus)
    yield "Sockets", phrase("{}", cpu.sockets)
    yield "Cores", phrase("{}", cpu.cores)
    yield "CPUs offline", cpus(cpu.offline)
    yield "CPUs isolated", cpus(cpu.isolated)
    yield "CPU limit", phrase("{:g} CPUs (control group)", cpu.quota)
    yield "SMT", yes(cpu.smt_active, "active", "not active")
    yield "Highest clock", clock(cpu.frequency_hz)
    yield "Governor", cpu.governor or ""
    yield "Boost", yes(cpu.boost, "on", "off")
    yield "Idle states", ", ".join(state.name for state in cpu.idle_states)


def _memory(facts: HostFacts) -> Iterable[TextRow]:
    memory: Memory = facts.memory
    caches = (f"L{one.level} {size_text(one.size_bytes)}" for one in facts.data_caches())
    yield "Caches", ", ".join(dict.fromkeys(caches))
    yield "Memory", "" if memory.total_bytes is None else f"{memory.total_bytes / 2**30:.0f} GiB"
    yield "Memory modules", ", ".join(f"{one.slot} {one.part_number}" for one in memory.modules if one.part_number)
    yield "NUMA nodes", phrase("{}", len(facts.nodes) or None)
    yield "Page size", size(memory.page_bytes)
    yield "Huge pages", ", ".join(f"{one.total} x {size_text(one.page_bytes)}" for one in memory.huge_pages)
    yield "Transparent huge pages", memory.thp or ""
    yield "NUMA balancing", yes(memory.numa_balancing, "on", "off")


def _software(facts: HostFacts) -> Iterable[TextRow]:
    system = facts.system
    yield "System", system.os or ""
    yield "Linux kernel", listed(system.kernel, system.arch, by=" ")
    yield "Kernel command line", system.command_line or ""
    yield "Clock source", system.clock_source or ""
    for name, state in sorted(system.mitigations.items()):
        yield f"Mitigation {name}", state
    yield "io_uring", yes(facts.io_uring, "allowed", "not allowed")
    yield "C library", system.libc or ""
    for name in _TOOLS:
        tool = facts.tools.get(name)
        yield name, (tool.banner or tool.version or "installed") if tool else ""
    yield (
        "Drives",
        ", ".join(
            listed(one.name, one.model, phrase("firmware {}", one.firmware), one.scheduler, by=" ")
            for one in facts.block_devices
            if one.kind == "disk"
        ),
    )
