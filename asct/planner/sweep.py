"""Sweeps: the product of the axes and zips, filtered by `where`, minus the points in `exclude`, plus those in
`include`.

Each value is read as the type of its setting. Combinations are counted before they are expanded. Counting is cheap:
even for an axis with 10^12 values, `combinations` needs only one multiplication.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from asct.diagnostics.model import Span
from asct.plan.model import Entry, Node
from asct.planner.context import ANY, ResolveContext
from asct.planner.identity import frozen_key
from asct.planner.layers import SET_RANK, SWEEP_RANK, SettingValue, ValueReader, likely_setting, unknown_setting
from asct.planner.model import Origin
from asct.values.suggest import did_you_mean

SweepRow = tuple[Any, ...]
Where = Callable[[Mapping[str, Any]], bool]


class SweepAxis(NamedTuple):
    """Settings that change together: the members of a zip, or a single setting. Each row contains one value per
    name."""

    names: tuple[str, ...]
    rows: Sequence[SweepRow]


class ExcludeRule(NamedTuple):
    """An item in `exclude`. The item matches rows that contain all of its `values`. Each value has been converted to
    the type of its setting."""

    values: Mapping[str, Any]
    span: Span | None = None

    def positions(self, names: Sequence[str]) -> tuple[tuple[int, Any], ...]:
        """Return pairs of a column number and the value to compare with the values in that column."""
        return tuple((names.index(name), frozen_key(value)) for name, value in self.values.items())


class Expansion(NamedTuple):
    """The remaining rows, in order, and the effect of each rule. `matched[i]` is the number of rows that item i in
    `exclude` removed.

    `dropped_by_where` states, for each item in `exclude`, whether it matches a row that `where` removed.
    """

    rows: list[SweepRow]
    matched: list[int]
    dropped_by_where: list[bool]


def names_of(axes: Sequence[SweepAxis]) -> tuple[str, ...]:
    """Return all swept names in order."""
    return tuple(itertools.chain.from_iterable(axis.names for axis in axes))


def combinations(axes: Sequence[SweepAxis]) -> int:
    """Return the number of rows in the product, or 1 if there are no axes."""
    return math.prod(len(axis.rows) for axis in axes)


def product(axes: Sequence[SweepAxis]) -> Iterator[SweepRow]:
    """Yield the rows of the product; the last axis changes fastest."""
    for parts in itertools.product(*(axis.rows for axis in axes)):
        yield tuple(itertools.chain.from_iterable(parts))


def expand(axes: Sequence[SweepAxis], where: Where | None, excludes: Sequence[ExcludeRule]) -> Expansion:
    """Return the product filtered by `where`, without the rows that match `excludes`. Exceptions raised by `where` are
    propagated."""
    names = names_of(axes)
    rules = [rule.positions(names) for rule in excludes]
    matched, dropped = [0] * len(rules), [False] * len(rules)
    rows: list[SweepRow] = []
    for row in product(axes):
        hits = [index for index, rule in enumerate(rules) if all(frozen_key(row[at]) == value for at, value in rule)]
        if where is not None and not where(dict(zip(names, row, strict=True))):
            for index in hits:
                dropped[index] = True
            continue
        for index in hits:
            matched[index] += 1
        if not hits:
            rows.append(row)
    return Expansion(rows, matched, dropped)


@dataclass(slots=True)
class DeclaredAxes:
    """An axis or zip whose values have not yet been read, so that combinations can be counted first."""

    names: tuple[str, ...]
    columns: tuple[Sequence[Node], ...]
    places: tuple[Span, ...]
    """The locations of the keys."""


@dataclass(slots=True)
class Axes:
    """The axes with canonical values. `nodes` contains the node of each (setting, value) in the sweep, and `origins`
    contains the origin of each setting."""

    axes: list[SweepAxis] = field(default_factory=list)
    nodes: dict[tuple[str, Any], Node] = field(default_factory=dict)
    origins: dict[str, Origin] = field(default_factory=dict)


def declared_axes(reader: ValueReader, entry: Entry) -> list[DeclaredAxes]:
    """Return the axes and zips of an entry, keyed by main name.

    Report unknown, duplicate and empty axes, and zips of unequal length; the reader then rejects their settings.
    """
    swept: dict[str, Node] = {}
    found = [_group(reader, {key: node}, swept) for key, node in entry.sweep.axes.items()]
    found += [_group(reader, members, swept) for members in entry.sweep.zips]
    return [item for item in found if item is not None]


def _group(reader: ValueReader, members: Mapping[str, Node], swept: dict[str, Node]) -> DeclaredAxes | None:
    """Return an axis or the members of a zip. Return None after an error."""
    columns: dict[str, Sequence[Node]] = {}
    for key, node in members.items():
        name = _axis_name(reader, key, node)
        values = _values(reader, name, node)
        if name is None or values is None:
            reader.rejected.add(name or ANY)
            continue
        if name in swept:
            first = swept[name].location
            message = f"`{name}` is swept twice"
            place = node.location
            reader.context.findings.error("E211", message, place, "remove one of them", ("first defined here", first))
            continue
        swept[name] = node
        columns[name] = values
    if len(columns) < len(members) or not columns:
        reader.rejected.update(columns)
        return None
    lengths = {name: len(values) for name, values in columns.items()}
    if len(set(lengths.values())) > 1:
        counts = ", ".join(f"`{name}` has {length}" for name, length in lengths.items())
        node = next(iter(members.values()))
        message = f"the lists of a zip have different lengths: {counts}"
        reader.context.findings.error("E213", message, node.location, "list the same number of values for each")
        reader.rejected.update(columns)
        return None
    places = tuple(swept[name].location for name in columns)
    return DeclaredAxes(tuple(columns), tuple(columns.values()), places)


def _axis_name(reader: ValueReader, key: str, node: Node) -> str | None:
    """Return the main name of a swept setting. Errors are reported at the setting's key. For an unknown name, return
    the name that was probably meant, or None."""
    settings, findings = reader.settings, reader.context.findings
    name = settings.spellings.get(key)
    place = node.location
    if name is None:
        hint, name = likely_setting(settings, key)
        findings.error("E210", f"unknown axis `{key}`: `{settings.benchmark.name}` has no such setting", place, hint)
    elif name in settings.steps:
        single = settings.steps[name]
        findings.error("E210", f"`{key}` is itself a list of values for `{single}`", place, f"sweep `{single}`")
        name = single
    return name


def _values(reader: ValueReader, name: str | None, node: Node) -> Sequence[Node] | None:
    found = reader.evaluated(node)
    return None if name is None else reader.axis(name, found)


def read_axes(reader: ValueReader, declared: Sequence[DeclaredAxes], base: Mapping[str, SettingValue]) -> Axes:
    """Return all axes with their values: first the axes in the sweep, then the axes from lists of steps. `--set` takes
    precedence."""
    axes = Axes()
    for item in declared:
        axis = _read(reader, item, base, axes)
        if axis.rows:
            axes.axes.append(axis)
    swept = {name for item in declared for name in item.names}
    for steps, single in reader.settings.steps.items():
        _add_steps(reader, steps, single, single in swept, base, axes)
    return axes


def _read(reader: ValueReader, item: DeclaredAxes, base: Mapping[str, SettingValue], axes: Axes) -> SweepAxis:
    """Return the valid typed values of one axis or zip, and report duplicates."""
    columns = [
        [reader.swept(name, node) for node in column] for name, column in zip(item.names, item.columns, strict=True)
    ]
    whole = [cells for cells in zip(*columns, strict=True) if None not in cells]
    if len(whole) < len(columns[0]):
        reader.rejected.update(item.names)
    rows: list[SweepRow] = [tuple(cell[0] for cell in cells if cell is not None) for cells in whole]
    pinned = [name for name in item.names if name in base and base[name].rank == SET_RANK]
    rows = [
        tuple(base[name].value if name in pinned else value for name, value in zip(item.names, row, strict=True))
        for row in rows
    ]
    for name, place in zip(item.names, item.places, strict=True):
        axes.origins[name] = base[name].origin if name in pinned else Origin("sweep", place)
    return SweepAxis(item.names, _distinct(reader, item, rows, bool(pinned), axes))


def _distinct(
    reader: ValueReader, item: DeclaredAxes, rows: Sequence[SweepRow], pinned: bool, axes: Axes
) -> list[SweepRow]:
    seen: dict[Any, int] = {}
    distinct: list[SweepRow] = []
    for index, row in enumerate(rows):
        node = item.columns[0][index]
        first = seen.setdefault(frozen_key(row), index)
        if first == index:
            distinct.append(row)
        elif not pinned:
            text = ", ".join(f"{name} {value}" for name, value in zip(item.names, row, strict=True))
            place = ("first defined here", item.columns[0][first].span)
            reader.context.findings.error("E214", f"{text} is listed twice", node.span, "remove one of them", place)
        for name, column, value in zip(item.names, item.columns, row, strict=True):
            axes.nodes.setdefault((name, frozen_key(value)), column[index])
    return distinct


def _add_steps(
    reader: ValueReader, steps: str, single: str, swept: bool, base: Mapping[str, SettingValue], axes: Axes
) -> None:
    """Add a list of steps as an axis of its setting, unless a higher layer sets that setting."""
    listed, fixed = base.get(steps), base.get(single)
    if reader.hides(steps, single) or (swept and (listed is None or listed.rank < SWEEP_RANK)):
        reader.rejected.update([single] if reader.hides(steps) else [])
        return
    if fixed is not None and (listed is None or fixed.rank >= listed.rank):
        if listed is not None and fixed.rank == listed.rank:
            message = f"`{single}` and `{steps}` are both set; `{steps}` sweeps `{single}`"
            note = (f"`{steps}` is set here", listed.node.location)
            reader.context.findings.error("E211", message, fixed.node.location, "remove one of them", note)
        if not swept and not fixed.waits:
            _append(axes, single, [fixed.value], Origin(fixed.origin.layer, fixed.origin.span), [fixed.node])
        return
    if listed is not None and listed.waits:
        message = (
            f"`{steps}` lists points and cannot use results from `needs`, because points must be known before jobs run"
        )
        reader.context.findings.error("E219", message, listed.node.span, "list the values")
        reader.rejected.add(single)
        return
    if swept:
        axes.axes = [axis for axis in axes.axes if single not in axis.names]
    values = list(listed.value if listed is not None else reader.settings.defaults.get(steps) or [])
    nodes = listed.node.value if listed is not None and isinstance(listed.node.value, list) else []
    origin = listed.origin if listed is not None else Origin("default")
    _append(axes, single, _single_values(reader, single, values, nodes, listed), origin, nodes)


def _single_values(
    reader: ValueReader, single: str, values: Sequence[Any], nodes: Sequence[Node], listed: SettingValue | None
) -> list[Any]:
    """Return the steps as values of the setting that they belong to, and report duplicates."""
    found: dict[Any, Any] = {}
    for index, raw in enumerate(values):
        node = nodes[index] if index < len(nodes) else (listed.node if listed else None)
        cell = reader.canonical(single, raw, node, from_plan=False) if node is not None else (raw,)
        if cell is None:
            continue
        if frozen_key(cell[0]) in found and node is not None:
            reader.context.findings.error(
                "E214", f"{single} {cell[0]} is listed twice", node.span, "remove one of them"
            )
        found.setdefault(frozen_key(cell[0]), cell[0])
    return list(found.values())


def _append(axes: Axes, name: str, values: Sequence[Any], origin: Origin, nodes: Sequence[Node]) -> None:
    axes.axes.append(SweepAxis((name,), [(value,) for value in values]))
    axes.origins[name] = origin
    for value, node in zip(values, nodes, strict=False):
        axes.nodes.setdefault((name, frozen_key(value)), node)


def read_excludes(reader: ValueReader, entry: Entry, axes: Axes) -> list[ExcludeRule]:
    """Return the valid rules in `exclude`, and report settings that are not swept."""
    names = names_of(axes.axes)
    found = []
    for node in entry.sweep.exclude:
        values: dict[str, Any] = {}
        members = list(_members(reader.context, node, "exclude"))
        for key, item in members:
            name = reader.settings.spellings.get(key, "")
            if name not in names and not (name and reader.hides(name)):
                hint = did_you_mean(key, names, f"swept settings: {', '.join(names)}" if names else "nothing is swept")
                reader.context.findings.error("E215", f"`{key}` in `exclude` is not swept", item.location, hint)
            elif (cell := reader.swept(name, item)) and name in names:
                values[name] = cell[0]
        if values and len(values) == len(members):
            found.append(ExcludeRule(values, node.span))
        else:
            reader.rejected.add("exclude")
    return found


def _members(context: ResolveContext, node: Node, what: str) -> Iterable[tuple[str, Node]]:
    if isinstance(node.value, dict) and node.value:
        return list(node.value.items())
    context.findings.error(
        "E215", f"an item of `{what}` must be a map of settings", node.span, "write `{iodepth: 128}`"
    )
    return []


def included(reader: ValueReader, entry: Entry, axes: Axes) -> list[dict[str, Any] | None]:
    """Return the points in `include`, with None for each invalid point. If a point omits a setting, the setting has the
    same value as without the sweep: the value in `config`, otherwise the default. This function adds the nodes of
    the values to `axes`."""
    return [_included(reader, node, axes) for node in entry.sweep.include]


def _included(reader: ValueReader, node: Node, axes: Axes) -> dict[str, Any] | None:
    point: dict[str, Any] = {}
    members = list(_members(reader.context, node, "include"))
    for key, item in members:
        name = reader.settings.spellings.get(key)
        if name is None:
            unknown_setting(reader.context, key, item, reader.settings)
            continue
        if name in reader.settings.steps:
            hint = f"use `{reader.settings.steps[name]}`"
            message = f"`{key}` is a list of values, not one value"
            reader.context.findings.error("E216", message, item.location, hint)
            continue
        if name in point:
            message = f"`{name}` is set twice in one point"
            reader.context.findings.error("E204", message, item.location, "remove one of the spellings")
            continue
        cell = reader.swept(name, item)
        if cell:
            point[name] = cell[0]
            axes.nodes.setdefault((name, frozen_key(cell[0])), item)
    return point if point and len(point) == len(members) else None


def report_unmatched(
    context: ResolveContext,
    job_id: str,
    rules: Sequence[ExcludeRule],
    found: Expansion,
    unsure: Collection[str],
    axes: Mapping[str, Sequence[Any]],
) -> None:
    """Report rules in `exclude` that match no point. Two kinds of rules are exempt: rules that refer to a setting in
    `unsure` (ANY stands for all settings), and rules that would match a point without the profile and `--set` or with a
    different profile.

    The message names `job_id`, because an entry may inherit the rule.
    """
    for rule, matched, dropped in zip(rules, found.matched, found.dropped_by_where, strict=True):
        if matched or not rule.values.keys().isdisjoint(unsure) or ANY in unsure or _matches_elsewhere(context, rule):
            continue
        if dropped:
            message, hint = f"`exclude` of `{job_id}` matches only points that `where` already removes", "remove it"
        else:
            message, hint = f"`exclude` of `{job_id}` matches nothing", _nearest(rule, axes)
        context.findings.error("E215", message, rule.span, hint)


def _matches_elsewhere(context: ResolveContext, rule: ExcludeRule) -> bool:
    return any(
        not other.findings.errors
        and any(node.span == rule.span for entry in other.plan.benchmarks for node in entry.sweep.exclude)
        for other, _ in context.wider()
    )


def _nearest(rule: ExcludeRule, axes: Mapping[str, Sequence[Any]]) -> str:
    """Return a hint about a value in the rule that does not occur on its axis."""
    for name, value in rule.values.items():
        values = axes.get(name, ())
        if value not in values:
            return f"`{name}` is never {value}; valid values: {', '.join(str(item) for item in values[:12])}"
    return "no point has this combination of values"
