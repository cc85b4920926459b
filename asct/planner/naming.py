"""Many points that differ in few settings: made and named at the cost of what differs."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from typing import Any

from asct.planner.canonical import POINT_DIGITS, canonical_json
from asct.planner.settings import Settings, copied, plain_settings
from asct.sdk.params import Params


class Pattern:
    """Points that share `fixed` and vary in the settings `names` (none: a single point).

    `identity` is `point_id` of the whole, made faster: the canonical text of what is fixed is put together once, that
    of a varying value once per value.
    """

    def __init__(self, benchmark: str, version: str, fixed: Mapping[str, Any], names: frozenset[str]) -> None:
        self.fixed = {name: value for name, value in fixed.items() if name not in names}
        self._names = sorted(names)
        self._texts: dict[tuple[str, type, Any], str] = {}
        self._gaps = self._between(canonical_json([benchmark, version])[:-1] + ",{")

    def _between(self, start: str) -> list[str]:
        """The fixed text before each varying value, and that behind the last."""
        gaps, text = [], start
        for number, name in enumerate(sorted({*self.fixed, *self._names})):
            text += ("," if number else "") + canonical_json(name) + ":"
            if name in self.fixed:
                text += canonical_json(self.fixed[name])
            else:
                gaps.append(text)
                text = ""
        return [*gaps, text + "}]"]

    def settings(self, varying: Mapping[str, Any]) -> dict[str, Any]:
        """All settings of one point."""
        return {**self.fixed, **varying} if self._names else dict(self.fixed)

    def identity(self, varying: Mapping[str, Any]) -> str:
        """12 hex digits; the same as `point_id(benchmark, version, self.settings(varying))`."""
        parts = [gap + self._text(name, varying[name]) for gap, name in zip(self._gaps, self._names, strict=False)]
        text = "".join(parts) + self._gaps[-1]
        return hashlib.sha256(text.encode()).hexdigest()[:POINT_DIGITS]

    def _text(self, name: str, value: Any) -> str:
        if not isinstance(value, int | str):  # a float may be equal to another that is written otherwise (0.0, -0.0)
            return canonical_json(value)
        key = (name, type(value), value)
        known = self._texts.get(key)
        if known is None:
            known = self._texts[key] = canonical_json(value)
        return known


class PointMaker:
    """Makes the points of a job from the values that they share and those that vary.

    Where the model looks at each setting by itself, the first point is read as a whole and the others are copies with
    other values: the same, in a third of the time.
    """

    def __init__(self, settings: Settings, shared: Mapping[str, Any], waiting: Mapping[str, Any]) -> None:
        self._settings = settings
        self._shared = shared
        self._waiting = waiting
        self._first: dict[frozenset[str], tuple[Params, Pattern]] = {}

    def make(self, varying: Mapping[str, Any]) -> tuple[Params, Pattern]:
        """The benchmark's own object, and what names the point. Raises InvalidSettings."""
        names = frozenset(varying)
        first = self._first.get(names)
        if first is not None:
            copy = copied(first[0], varying)
            return copy if copy is not None else self._settings.whole({**self._shared, **varying}), first[1]
        params = self._settings.whole({**self._shared, **varying})
        if not self._settings.separate:
            return params, self._pattern(params, frozenset(), names)
        self._first[names] = params, self._pattern(params, names, names)
        return self._first[names]

    def _pattern(self, params: Params, varying: frozenset[str], given: frozenset[str]) -> Pattern:
        values = plain_settings(params)
        for name in self._settings.steps:
            del values[name]
        values.update({name: value for name, value in self._waiting.items() if name not in given})
        benchmark = self._settings.benchmark
        return Pattern(benchmark.name, benchmark.version, values, varying)
