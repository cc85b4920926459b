"""Facts field by field: flat, and where two machines, or a machine at two times, differ."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from asct.sdk.facts import HostFacts
from asct.values.cpulist import format_cpulist

_LISTS_OF_CPUS: Final = frozenset(
    {"cpus", "online", "offline", "allowed", "isolated", "nohz_full", "shared_cpus", "disabled_cpus",
     "irq_default_affinity"}
)  # fmt: skip
_NAMED_BY: Final = ("name", "target", "slot", "id", "cpu", "page_bytes")
"""The field that an entry of a list is known by, so that entries are compared although others come and go."""
_MOVING: Final = re.compile(
    r"collected_at|dated_by_file|host|notes|load\..*|.*\.celsius|work_free_bytes|system\.uptime_s|(.*\.)?(free_bytes|available_bytes|free)"
    r"|memory\.(swap_free_bytes|dirty_bytes)|.*\.current_hz"
    r"|.*\.nvme\.(read_bytes|written_bytes|power_on_hours|unsafe_shutdowns)|(unknown|not_applicable)\..*"
)


@dataclass(frozen=True, slots=True)
class Difference:
    """A field with different values; None where one side lacks it. `moves` marks fields that vary by themselves, such
    as free memory and temperatures, or that do not describe the machine, such as the time of reading."""

    field: str
    base: Any
    other: Any
    moves: bool


def flat(document: Mapping[str, Any], *, by_name: bool = False) -> dict[str, Any]:
    """Leaves by their dotted path (`cpu.cpus`), lists of plain values as one text.

    Entries of a list are numbered (`block_devices.0.size_bytes`), or `by_name` (`block_devices.sda.size_bytes`).
    """
    return dict(_leaves(document, "", by_name))


def _leaves(value: Any, path: str, by_name: bool) -> Iterator[tuple[str, Any]]:
    if isinstance(value, Mapping):
        for key, item in value.items():
            yield from _leaves(item, f"{path}.{key}" if path else str(key), by_name)
    elif isinstance(value, list) and any(isinstance(item, Mapping) for item in value):
        names = _names(value) if by_name else [str(number) for number in range(len(value))]
        for name, item in zip(names, value, strict=True):
            yield from _leaves(item, f"{path}.{name}", by_name)
    elif isinstance(value, list):
        ranges = by_name and path.rpartition(".")[2] in _LISTS_OF_CPUS
        yield path, format_cpulist(value) if ranges else " ".join(str(item) for item in value)
    else:
        yield path, value


def collections(document: Mapping[str, Any], above: str = "") -> dict[str, list[str]]:
    """The names of the entries of each list (`block_devices`, `cpu.logical`) and of parts by name (`tools`), by path.
    Lists inside entries are not included."""
    found: dict[str, list[str]] = {}
    for key, value in document.items():
        path = f"{above}.{key}" if above else str(key)
        if isinstance(value, list) and any(isinstance(item, Mapping) for item in value):
            found[path] = _names(value)
        elif isinstance(value, Mapping) and value and all(isinstance(item, Mapping) for item in value.values()):
            found[path] = [str(name) for name in value]
        elif isinstance(value, Mapping):
            found |= collections(value, path)
    return found


def _names(items: Sequence[Mapping[str, Any]]) -> list[str]:
    """Names of entries, or their number if they have none; repeated names get a counter."""
    taken: Counter[str] = Counter()
    names = []
    for number, item in enumerate(items):
        name = _name(item) or str(number)
        taken[name] += 1
        names.append(name if taken[name] == 1 else f"{name} ({taken[name]})")
    return names


def _name(item: Mapping[str, Any]) -> str:
    if "level" in item:
        return f"L{item['level']} {item['type']}"
    return next((str(item[key]) for key in _NAMED_BY if item.get(key) is not None), "")


def differences(base: HostFacts, other: HostFacts) -> list[Difference]:
    """The differences between two states, in field order. A field known on one side only counts as a difference."""
    first, second = (flat(facts.model_dump(mode="json", by_alias=True), by_name=True) for facts in (base, other))
    found = []
    for field in dict.fromkeys((*first, *second)):
        before, after = (None if side.get(field) == "" else side.get(field) for side in (first, second))
        if before != after:
            found.append(Difference(field, before, after, _MOVING.fullmatch(field) is not None))
    return found
