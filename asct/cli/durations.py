"""Durations as options take them."""

from __future__ import annotations

from contextlib import suppress
from typing import Any

import click


class Duration(click.ParamType):  # type: ignore[type-arg]  # is generic for type checkers only
    """`30s`, `2h`, `7d`: seconds. A number needs its unit."""

    name = "duration"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> float:
        """Seconds from text; fails with the way out."""
        from asct.values.duration import parse_duration, require_unit

        try:
            require_unit(_number(value))
            return parse_duration(value)
        except ValueError as problem:
            self.fail(str(problem), param, ctx)


def _number(text: Any) -> Any:
    """The text, or the number that it is, so that a bare number is told from a duration with its unit."""
    for kind in (int, float):
        with suppress(ValueError, TypeError):
            return kind(text)
    return text
