"""What a host is, in rows of label and value. Nothing is guessed: what is not known says so."""

from __future__ import annotations

from collections.abc import Iterator

from asct.analysis.grid import plain, size_text
from asct.sdk.facts import HostFacts
from asct.store.model import HostEntry
from asct.values.cpulist import format_cpulist
from asct.values.quantity import format_quantity

Row = tuple[str, str]
_MOST_UNKNOWN = 12


def host_rows(entry: HostEntry, facts: HostFacts | None) -> list[Row]:
    """How the host was reached, then its facts, as far as they are known."""
    reached = f"{entry.transport} {entry.address}".strip()
    rows = [("Reached by", reached)]
    if facts is not None:
        for part in (_cpu, _memory, _system, _state, _tools, _unknown):
            rows.extend(part(facts))
    return [(label, plain(text)) for label, text in rows]


def one_line(entry: HostEntry, facts: HostFacts | None) -> str:
    """The description that the run kept, or one made of the facts: model, CPUs, memory, kernel."""
    if entry.description or facts is None:
        return plain(entry.description)
    parts = [
        facts.cpu.model or "",
        f"{facts.cpu.cpus} CPUs" if facts.cpu.cpus else "",
        _bytes(facts.memory.total_bytes),
        f"Linux {facts.system.kernel}" if facts.system.kernel else "",
        _virtualization(facts),
    ]
    return plain(", ".join(part for part in parts if part))


def _virtualization(facts: HostFacts) -> str:
    """`kvm`, `docker on kvm`, `docker`; `none` where nothing is below or around."""
    below, around = facts.system.virtualization, facts.system.container
    known = [name for name in (around, below) if name and name != "none"]
    return " on ".join(known) or below or ""


def _bytes(size: float | None) -> str:
    return "" if size is None else format_quantity(size, "B")


def _cpu(facts: HostFacts) -> Iterator[Row]:
    cpu = facts.cpu
    if cpu.model or cpu.vendor:
        yield "Processor", cpu.model or cpu.vendor or ""
    if cpu.cpus is not None:
        shape = [
            f"{count} {word if count == 1 else word + 's'}"
            for count, word in ((cpu.sockets, "socket"), (cpu.cores, "core"))
            if count is not None
        ]
        threads = f"{cpu.threads_per_core} per core" if cpu.threads_per_core else ""
        yield "CPUs", "; ".join([str(cpu.cpus), ", ".join(item for item in (*shape, threads) if item)]).rstrip("; ")
    if cpu.allowed and cpu.online and set(cpu.allowed) != set(cpu.online):
        yield "CPUs allowed", format_cpulist(cpu.allowed)
    caches = [f"L{c.level}{'d' if c.type == 'Data' else ''} {size_text(c.size_bytes)}" for c in facts.data_caches()]
    if caches:
        yield "Caches", ", ".join(dict.fromkeys(caches))
    if cpu.frequency_hz:
        yield "Clock", format_quantity(cpu.frequency_hz, "Hz")
    if cpu.microcode:
        yield "Microcode", cpu.microcode


def _memory(facts: HostFacts) -> Iterator[Row]:
    memory = facts.memory
    if memory.total_bytes is not None:
        free = f", {_bytes(memory.available_bytes)} available" if memory.available_bytes is not None else ""
        yield "Memory", _bytes(memory.total_bytes) + free
    if facts.nodes:
        sizes = ", ".join(f"{node.id}: {_bytes(node.memory_bytes) or 'size unknown'}" for node in facts.nodes)
        yield "NUMA nodes", f"{len(facts.nodes)} ({sizes})"
    pools = [f"{pool.free} of {pool.total} x {size_text(pool.page_bytes)} free" for pool in memory.huge_pages]
    if pools:
        yield "Huge pages", "; ".join(pools)
    if memory.thp:
        yield "Transparent huge pages", memory.thp


def _system(facts: HostFacts) -> Iterator[Row]:
    system = facts.system
    named = " ".join(part for part in (system.kernel, system.arch) if part)
    if named:
        yield "Kernel", named
    if system.os:
        yield "System", system.os
    if virtualization := _virtualization(facts):
        yield "Virtualization", virtualization
    if system.uid is not None:
        yield "Account", "root" if system.uid == 0 else f"uid {system.uid}, not root"


def _state(facts: HostFacts) -> Iterator[Row]:
    if facts.cpu.governor:
        yield "Governor", facts.cpu.governor
    loads = [value for value in (facts.load.load1, facts.load.load5, facts.load.load15) if value is not None]
    if loads:
        yield "Load before", " ".join(f"{value:.2f}" for value in loads)
    if facts.load.cpu_pressure_avg10 is not None:
        yield "CPU pressure before", f"{facts.load.cpu_pressure_avg10:g} %"
    if facts.work_free_bytes is not None or facts.work_filesystem:
        free = f"{_bytes(facts.work_free_bytes)} free" if facts.work_free_bytes is not None else ""
        yield "Work folder", ", ".join(part for part in (facts.work_filesystem or "", free) if part)
    if facts.io_uring is not None:
        yield "io_uring", "allowed" if facts.io_uring else "not allowed"


def _tools(facts: HostFacts) -> Iterator[Row]:
    tools = [f"{name} {tool.version}" if tool.version else name for name, tool in sorted(facts.tools.items())]
    if tools:
        yield "Tools", ", ".join(tools)


def _unknown(facts: HostFacts) -> Iterator[Row]:
    items = [f"{name} ({reason})" for name, reason in sorted(facts.unknown.items())]
    if len(items) > _MOST_UNKNOWN:
        items = [*items[:_MOST_UNKNOWN], f"and {len(items) - _MOST_UNKNOWN} more"]
    if items:
        yield "Not known", "; ".join(items)
