"""The `at` of an expectation: which swept settings and coordinates it means, compared in their own types."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from asct.diagnostics.suggest import did_you_mean
from asct.plan.model import Expectation, Node
from asct.planner.canonical import frozen_key
from asct.planner.draft import Draft
from asct.planner.ground import Ground
from asct.planner.settings import InvalidSettings
from asct.sdk.metric import Metric
from asct.values.problem import BadValueError, shown
from asct.values.size import parse_size

Pair = tuple[Draft, Metric]


@dataclass(frozen=True, slots=True)
class _Place:
    """`swept` and `coords` of one job that `at` means; `problem` says why it cannot be there."""

    swept: dict[str, Any]
    coords: dict[str, Any]
    code: str = ""
    message: str = ""
    hint: str = ""
    node: Node | None = None


def read_place(ground: Ground, expectation: Expectation, pairs: Sequence[Pair]) -> dict[str, Any]:
    """Canonical `at`: main names of settings and values in their own type; coordinates as they are recorded.

    A pattern may take in jobs that lack the place; it is an error only when none has it.
    """
    if not expectation.at:
        return {}
    failed: list[_Place] = []
    for draft, metric in pairs:
        place = _in_job(ground, draft, metric, expectation.at)
        if not place.message:
            return {**place.swept, **place.coords}
        failed.append(place)
    worst = max(failed, key=lambda place: place.code)
    span = worst.node.key_span if worst.code == "E235" and worst.node and worst.node.key_span else None
    at = span or (worst.node.span if worst.node else expectation.span)
    if any(draft.made.pinned & _means(ground, draft, expectation.at) for draft, _ in pairs):
        ground.findings.warn("E236", f"{worst.message}, because `--set` fixes it", at, "this expectation stays unknown")
        return {key: node.plain() for key, node in expectation.at.items()}
    ground.findings.error(worst.code, worst.message, at, worst.hint)
    return {}


def _means(ground: Ground, draft: Draft, at: Mapping[str, Node]) -> set[str]:
    spellings = ground.settings(draft.benchmark).spellings
    return {spellings[key] for key in at if key in spellings}


def _in_job(ground: Ground, draft: Draft, metric: Metric, at: Mapping[str, Node]) -> _Place:
    """What `at` means in one job."""
    settings = ground.settings(draft.benchmark)
    place = _Place({}, {})
    for key, node in at.items():
        name = settings.spellings.get(key, "")
        if key in metric.coords and key not in draft.made.swept:
            value, message, hint = _coordinate(key, node, metric)
            if message:
                return _Place({}, {}, "E236", message, hint, node)
            place.coords[key] = value
        elif name in draft.made.swept:
            try:
                place.swept[name] = settings.read(name, node.plain(), written=True)
            except InvalidSettings as error:
                problem = error.problems[0]
                return _Place({}, {}, "E236", f"`{key}`: {problem.message}", problem.hint, node)
        else:
            return _unknown(draft, metric, key, name, node)
    return _matching(draft, place, at, settings.spellings)


def _unknown(draft: Draft, metric: Metric, key: str, name: str, node: Node) -> _Place:
    if name and draft.made.points:
        message = f"`{key}` is not swept in `{draft.id}`: it is the same in every point"
        return _Place({}, {}, "E235", message, f"leave `{key}` out, or sweep it", node)
    known = [*draft.made.swept, *metric.coords]
    message = f"`{key}` is neither swept in `{draft.id}` nor a coordinate of `{metric.name}`"
    return _Place({}, {}, "E235", message, did_you_mean(key, known, "leave `at` out" if not known else ""), node)


def _matching(draft: Draft, place: _Place, at: Mapping[str, Node], spellings: Mapping[str, str]) -> _Place:
    """Some point has all the swept values at once."""
    wanted = {name: frozen_key(value) for name, value in place.swept.items()}
    points = draft.made.points
    if any(all(frozen_key(point.swept.get(name)) == value for name, value in wanted.items()) for point in points):
        return place
    nodes = {spellings.get(key, key): node for key, node in at.items()}
    for name, value in place.swept.items():
        present = _values(point.swept.get(name) for point in points)
        if frozen_key(value) not in {frozen_key(item) for item in present}:
            message = f"`at` matches nothing: `{name}` is never {shown(nodes[name].plain())} in `{draft.id}`"
            return _Place({}, {}, "E236", message, "its values: " + _listed(present), nodes[name])
    message = f"`at` matches nothing: no point of `{draft.id}` has these values together"
    return _Place({}, {}, "E236", message, "`asct plan` lists the points", next(iter(nodes.values())))


def _values(items: Iterable[Any]) -> list[Any]:
    return list({frozen_key(item): item for item in items}.values())


def _listed(values: Sequence[Any], most: int = 12) -> str:
    return ", ".join(str(value) for value in values[:most]) + (" ..." if len(values) > most else "")


def _coordinate(key: str, node: Node, metric: Metric) -> tuple[Any, str, str]:
    """(value, message, hint): a value that a coordinate may take. Sizes are recorded in bytes."""
    value, known = node.plain(), metric.coords[key]
    if isinstance(value, list | dict) or value is None:
        return None, f"`{key}` needs one value", "write one expectation for each value"
    if known is not None:
        if str(value) in known:
            return value, "", ""
        message = f"`at` matches nothing: `{key}` of `{metric.name}` is never {shown(value)}"
        return None, message, did_you_mean(str(value), known, "its values: " + _listed(known))
    if isinstance(value, str) and (key == "size" or key.endswith("_size")):
        try:
            return parse_size(value), "", ""
        except BadValueError as error:
            return None, f"`{key}`: {error.message}", error.hint
    return value, "", ""
