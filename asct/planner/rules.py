"""`exclude` and `include` of a sweep: read in the settings' own types, and held to account for matching something."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from asct.diagnostics.suggest import did_you_mean
from asct.plan.model import Entry, Node
from asct.planner.axes import Axes
from asct.planner.ground import Ground
from asct.planner.layers import unknown_setting
from asct.planner.reading import Reader
from asct.planner.sweep import Expansion, Rule, names_of


@dataclass(frozen=True, slots=True)
class Excluded:
    """An item of `exclude` and its place."""

    rule: Rule
    node: Node


@dataclass(frozen=True, slots=True)
class Cell:
    """A value of an included point and its place."""

    value: Any
    node: Node


def read_excludes(reader: Reader, entry: Entry, axes: Axes) -> list[Excluded]:
    """The rules; each names swept settings only."""
    names = names_of(axes.axes)
    found = []
    for node in entry.sweep.exclude if entry.sweep else ():
        values: dict[str, Any] = {}
        for key, item in _members(reader.ground, node, "exclude"):
            name = _swept_name(reader, key, item, names)
            cell = reader.swept(name, item) if name else None
            if name and cell:
                values[name] = cell[0]
        if values:
            found.append(Excluded(Rule(values), node))
    return found


def _swept_name(reader: Reader, key: str, node: Node, names: Sequence[str]) -> str | None:
    name = reader.settings.spellings.get(key)
    if name in names:
        return name
    hint = did_you_mean(key, names, f"swept are {', '.join(names)}" if names else "nothing is swept here")
    message = f"`{key}` in `exclude` is not swept"
    reader.ground.findings.error("E215", message, node.key_span or node.span, hint)
    return None


def _members(ground: Ground, node: Node, what: str) -> Iterable[tuple[str, Node]]:
    if isinstance(node.value, dict) and node.value:
        return list(node.value.items())
    ground.findings.error("E215", f"an item of `{what}` is a map of settings", node.span, "write `{iodepth: 128}`")
    return []


def included(reader: Reader, entry: Entry) -> list[dict[str, Cell]]:
    """Points to add. What one leaves out is as without the sweep (`config`, then the default); axes never merge in."""
    return [_included(reader, node) for node in (entry.sweep.include if entry.sweep else ())]


def _included(reader: Reader, node: Node) -> dict[str, Cell]:
    point: dict[str, Cell] = {}
    for key, item in _members(reader.ground, node, "include"):
        name = reader.settings.spellings.get(key)
        if name is None:
            unknown_setting(reader.ground, key, item, reader.settings)
            continue
        if name in reader.settings.steps:
            hint = f"give `{reader.settings.steps[name]}`"
            message = f"`{key}` stands for several points"
            reader.ground.findings.error("E216", message, item.key_span or item.span, hint)
            continue
        if name in point:
            message = f"`{name}` is given twice in one point"
            reader.ground.findings.error("E204", message, item.key_span or item.span, "keep one of the spellings")
            continue
        cell = reader.swept(name, item)
        if cell:
            point[name] = Cell(cell[0], item)
    return point


def report_unmatched(
    ground: Ground,
    job_id: str,
    rules: Sequence[Excluded],
    found: Expansion,
    pinned: Iterable[str],
    axes: Mapping[str, Sequence[Any]],
) -> None:
    """An `exclude` that takes nothing out is a mistake, unless --set has fixed what is swept. `job_id` says
    whose it is: an entry may have it from the one it extends."""
    if any(True for _ in pinned):
        return
    for rule, matched, dropped in zip(rules, found.matched, found.dropped_by_where, strict=True):
        if matched:
            continue
        if dropped:
            message, hint = f"`exclude` of `{job_id}` matches only what `where` drops anyway", "take it out"
        else:
            message, hint = f"`exclude` of `{job_id}` matches nothing", _nearest(rule.rule, axes)
        ground.findings.error("E215", message, rule.node.span, hint)


def _nearest(rule: Rule, axes: Mapping[str, Sequence[Any]]) -> str:
    """Which value of the rule is on no axis."""
    for name, value in rule.values.items():
        values = axes.get(name, ())
        if value not in values:
            return f"`{name}` is never {value}: {', '.join(str(item) for item in values[:12])}"
    return "no point has these values together"
