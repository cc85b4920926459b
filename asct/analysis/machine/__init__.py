"""Sections of rows that show the facts about a host, for reports and `asct system-info`, and a list of unknown facts
with the reasons."""

from __future__ import annotations

from collections.abc import Iterator

from asct.analysis.grid import plain
from asct.analysis.machine import hardware, system
from asct.analysis.machine.rows import MachineSection, TextRow, listed, phrase, size
from asct.sdk.facts import HostFacts
from asct.store.model import HostEntry
from asct.values.grouping import grouped, shortened

_MOST_FIELDS = 8


def sections(facts: HostFacts) -> list[MachineSection]:
    """Return all known facts, grouped by subject, omitting subjects without facts."""
    return [one for one in _sections(facts) if one.rows or one.details]


def _sections(facts: HostFacts) -> Iterator[MachineSection]:
    yield from system.whole(facts)
    yield from hardware.sections(facts)
    yield from system.rest(facts)


def network_sections(facts: HostFacts) -> list[MachineSection]:
    """Return only the facts about the network."""
    found = hardware.network(facts)
    return [found] if found.rows or found.details else []


def unknown(facts: HostFacts, below: str = "") -> list[TextRow]:
    """Return each reason why facts are unknown, with the names of these facts. Facts that only root can read come
    first.

    `below` limits the result to one part of the facts, such as `network`.
    """
    names = (name for name in sorted(facts.unknown) if not below or f"{name}.".startswith(f"{below}."))
    reasons = grouped(names, lambda name: plain(facts.unknown[name]))
    ordered = sorted(reasons.items(), key=lambda item: ("root" not in item[0], -len(item[1])))
    return [(reason, plain(", ".join(names))) for reason, names in ordered]


def host_rows(entry: HostEntry, facts: HostFacts | None) -> list[TextRow]:
    """Return rows that describe the connection to the host and the facts that affect measurements."""
    rows = [("Connection", plain(f"{entry.transport} {entry.address}".strip()))]
    if facts is not None:
        rows += [row for one in _sections(facts) for row in one.rows]
    return rows


def unknown_lines(facts: HostFacts) -> list[str]:
    """Return a host's unknown facts, one line per reason; each line lists only the first few facts."""
    return [f"{shortened(names.split(', '), _MOST_FIELDS)}: {reason}" for reason, names in unknown(facts)]


def one_line(entry: HostEntry, facts: HostFacts | None) -> str:
    """Return the host's description from the run or, if there is none, one derived from the facts: model, CPUs, memory,
    Linux kernel."""
    if entry.description or facts is None:
        return plain(entry.description)
    parts = [
        hardware.processor(facts.cpu),
        phrase("{} CPUs", facts.cpu.cpus or None),
        size(facts.memory.total_bytes),
        phrase("Linux {}", facts.system.kernel),
        system.virtualization(facts),
    ]
    return plain(listed(*parts))
