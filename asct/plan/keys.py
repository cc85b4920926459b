"""The keys of the plan language with their descriptions, for `asct explain`. They are derived from the plan schema.

The registry's index contains the keys that do not depend on transports and report formats, so that `asct explain` and
completion rarely need to build the schema.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple


class PlanKey(NamedTuple):
    """A key of the plan language. `place` is the map that contains the key, such as `benchmarks[].sweep`, or an empty
    string for the plan itself. `inner` contains the keys that the value may contain if it is a map."""

    name: str
    place: str
    description: str
    inner: list[str]
    choices: list[str]

    @property
    def path(self) -> str:
        """The key with the map that contains it, such as `benchmarks[].sweep.zip`."""
        return f"{self.place}.{self.name}" if self.place else self.name


def plan_keys() -> list[PlanKey]:
    """Return every key, in the order of the schema. A key that occurs in several maps is listed once for each of
    them."""
    from asct.plan.schema import plan_schema  # imported here because it loads every transport

    schema = plan_schema(())
    return list(_walk(schema, "", schema["$defs"], ()))


def common_keys() -> list[PlanKey]:
    """Return every key except those that a transport adds. Choices exclude the names of transports and report
    formats."""
    from asct.transports import sources, transport

    own = {key for name in sources() for key in transport(name).options}
    return [
        key._replace(
            inner=[name for name in key.inner if name not in own],
            choices=[] if key.name in ("transport", "formats") else key.choices,
        )
        for key in plan_keys()
        if key.name not in own
    ]


def _walk(schema: Mapping[str, Any], place: str, defs: Mapping[str, Any], seen: tuple[str, ...]) -> Iterator[PlanKey]:
    for name, item in schema.get("properties", {}).items():
        reference = str(item.get("$ref", "")).rpartition("/")[2]
        value = defs.get(reference, item)
        description = item.get("description") or value.get("description") or ""
        maps = [] if reference in seen else list(_maps(value, "", defs))
        inner = dict.fromkeys(key for _, found in maps for key in found.get("properties", {}))
        yield PlanKey(name, place, description, list(inner), _choices(value, defs))
        path = f"{place}.{name}" if place else name
        for suffix, found in maps:
            yield from _walk(found, path + suffix, defs, (*seen, reference) if reference else seen)


def _maps(value: Mapping[str, Any], suffix: str, defs: Mapping[str, Any]) -> Iterator[tuple[str, Mapping[str, Any]]]:
    """Yield the value if it is a map, and the maps that are its items (`[]`) or its named members (`.NAME`)."""
    value = defs.get(str(value.get("$ref", "")).rpartition("/")[2], value)
    if "properties" in value:
        yield suffix, value
    for option in value.get("anyOf", ()):
        yield from _maps(option, suffix, defs)
    for key, more in (("items", "[]"), ("additionalProperties", ".NAME")):
        inner = value.get(key)
        if isinstance(inner, Mapping) and not suffix:
            yield from _maps(inner, suffix + more, defs)


def _choices(value: Mapping[str, Any], defs: Mapping[str, Any]) -> list[str]:
    options = [value, *value.get("anyOf", ()), value.get("items", {})]
    found = (defs.get(str(one.get("$ref", "")).rpartition("/")[2], one) for one in options)
    return list(dict.fromkeys(str(word) for one in found for word in one.get("enum", ())))
