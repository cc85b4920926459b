"""What differs between runs apart from their values: machine, software, plan, versions and settings."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass

from asct.analysis.diff.source import ASCT, DiffSource
from asct.analysis.grid import plain, setting_text
from asct.analysis.outcomes import short_names
from asct.analysis.view import sizes_of
from asct.sdk.benchmark import Catalog
from asct.values.grouping import grouped

_Key = tuple[str, str]
"""A label and a host; the host is empty if the label applies to a whole run."""


@dataclass(frozen=True, slots=True)
class Differing:
    """A fact, version or setting that differs. `texts` contains one text per run, starting with the base; a text is
    empty if the run does not contain the item. `hosts` lists the hosts of the base, and is empty if the item applies to
    a whole run."""

    label: str
    hosts: tuple[str, ...]
    texts: tuple[str, ...]

    @property
    def title(self) -> str:
        """The label, followed by the hosts if there are any."""
        return f"{self.label} on {short_names(self.hosts)}" if self.hosts else self.label


def differing(sources: Sequence[DiffSource], hosts: Sequence[Mapping[str, str]], catalog: Catalog) -> list[Differing]:
    """Return what differs between runs, the first of which is the base. `hosts` maps the hosts of each run to the hosts
    of the base.

    An item that only one run contains is not treated as a difference. Hosts with the same difference are merged.
    """
    entries = dict.fromkeys((record.id, record.benchmark) for source in sources for record in source.records)
    sizes = {entry: sizes_of(catalog.get(benchmark)) for entry, benchmark in entries}
    properties = [dict(_properties(source, names, sizes)) for source, names in zip(sources, hosts, strict=True)]
    found: list[tuple[str, str, tuple[str, ...]]] = []
    for key in dict.fromkeys(key for one in properties for key in one):
        texts = tuple(one.get(key, "") for one in properties)
        if len({text for text in texts if text}) > 1:
            found.append((*key, texts))
    same = grouped(found, lambda item: (item[0], item[2]))
    several = len({host for one in properties for _, host in one if host}) > 1
    return [
        Differing(label, tuple(host for _, host, _ in items if host and several), texts)
        for (label, texts), items in same.items()
    ]


def _properties(
    source: DiffSource, hosts: Mapping[str, str], sizes: Mapping[str, Collection[str]]
) -> Iterator[tuple[_Key, str]]:
    for host, facts in source.machines.items():
        for label, text in facts.items():
            yield (label, hosts.get(host, host)), text
    yield ("Measured with", ""), f"{source.tool} {source.version}".strip()
    yield ("Plan", ""), source.plan
    versions = grouped(source.records, lambda record: record.benchmark) if source.tool == ASCT else {}
    for benchmark, records in versions.items():
        known = sorted({record.version for record in records})
        yield (f"Version of {plain(benchmark)}", ""), plain(", ".join(known))
    for (host, job), settings in source.settings.items():
        for name, value in settings.items():
            yield (
                (f"{plain(job)}: {plain(name)}", hosts.get(host, host)),
                setting_text(value, name in sizes.get(job, ())),
            )


def unknown_machines(sources: Sequence[DiffSource]) -> list[str]:
    """Return a sentence for each run that does not describe its machines."""
    return [f"{source.name} does not describe its machine" for source in sources if not source.machines]
