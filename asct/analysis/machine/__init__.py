"""A host's facts as sections of rows, for reports and `asct system-info`. Unknown facts are marked."""

from __future__ import annotations

from collections.abc import Iterable

from asct.analysis.grid import plain
from asct.analysis.machine import devices, memory, processor, system
from asct.analysis.machine.rows import MachineSection, Row, listed, size
from asct.sdk.facts import HostFacts
from asct.store.model import HostEntry

__all__ = ["MachineSection", "Row", "host_rows", "network_sections", "one_line", "sections", "unknown", "unknown_lines"]

_MOST_FIELDS = 8


def sections(facts: HostFacts) -> list[MachineSection]:
    """All known facts by subject; subjects without facts are omitted."""
    found = [
        *system.whole(facts),
        *processor.sections(facts),
        *memory.sections(facts),
        *devices.sections(facts),
        system.security(facts),
        system.observability(facts),
        system.state(facts),
        system.tools(facts),
    ]
    return _clean(found)


def network_sections(facts: HostFacts) -> list[MachineSection]:
    """The network alone."""
    return _clean([devices.network(facts)])


def _clean(found: Iterable[MachineSection]) -> list[MachineSection]:
    cleaned = (
        MachineSection(
            one.title, *(tuple((plain(label), plain(text)) for label, text in part) for part in (one.rows, one.details))
        )
        for one in found
    )
    return [one for one in cleaned if one.rows or one.details]


def unknown(facts: HostFacts, below: str = "") -> list[Row]:
    """Reasons with the fields that are unknown for them, those for which root would do first. Only fields below one
    (`network`) when it is named."""
    reasons: dict[str, list[str]] = {}
    for name, reason in sorted(facts.unknown.items()):
        if not below or name == below or name.startswith(f"{below}."):
            reasons.setdefault(plain(reason), []).append(plain(name))
    ordered = sorted(reasons.items(), key=lambda item: ("root" not in item[0], -len(item[1])))
    return [(reason, ", ".join(names)) for reason, names in ordered]


def host_rows(entry: HostEntry, facts: HostFacts | None) -> list[Row]:
    """The connection to the host, then the facts that matter for measurements."""
    rows = [("Connection", plain(f"{entry.transport} {entry.address}".strip()))]
    if facts is not None:
        rows += [row for one in sections(facts) for row in one.rows]
    return rows


def unknown_lines(facts: HostFacts) -> list[str]:
    """The unknown facts of a host for a report: each reason with a few of its fields."""
    return [f"{_few(names.split(', '))}: {reason}" for reason, names in unknown(facts)]


def _few(names: list[str]) -> str:
    left = len(names) - _MOST_FIELDS
    return ", ".join(names) if left < 2 else f"{', '.join(names[:_MOST_FIELDS])} and {left} more"


def one_line(entry: HostEntry, facts: HostFacts | None) -> str:
    """The description that the run kept, or one built from the facts: model, CPUs, memory, kernel."""
    if entry.description or facts is None:
        return plain(entry.description)
    parts = [
        processor.processor(facts.cpu),
        f"{facts.cpu.cpus} CPUs" if facts.cpu.cpus else "",
        size(facts.memory.total_bytes),
        f"Linux {facts.system.kernel}" if facts.system.kernel else "",
        system.virtualization(facts),
    ]
    return plain(listed(*parts))
