"""Evaluate settings that read results of other jobs."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from asct.errors import NotMeasured, PlanError
from asct.plan.model import PendingValue
from asct.plan.templates import evaluate_pending
from asct.sdk.record import Scalar


def is_bound(value: Any) -> bool:
    """Return whether a value contains no PendingValue."""
    if isinstance(value, list):
        return all(is_bound(item) for item in value)
    return not isinstance(value, PendingValue)


def bind(settings: Mapping[str, Any], needs_values: Mapping[str, Scalar]) -> dict[str, Any]:
    """Return the settings with every PendingValue evaluated. `needs_values` maps `alias.path` to values measured on
    this host.

    The benchmark's model validates the result like any other value. Raises NotMeasured (E226) if a result is missing or
    the value cannot be computed.
    """
    return {name: _bound(name, value, needs_values) for name, value in settings.items()}


def _bound(name: str, value: Any, known: Mapping[str, Scalar]) -> Any:
    if isinstance(value, list):
        return [_bound(name, item, known) for item in value]
    if not isinstance(value, PendingValue):
        return value
    try:
        return evaluate_pending(value.text, known, value.values)
    except PlanError as error:
        hint = f"set `{name}` in the plan; that value replaces the result"
        message = f"`{name}` cannot be computed from `{value.text}`"
        found = [(item, f"{message}: {item.message}") for item in error.diagnostics]
        raise NotMeasured(
            *(replace(item, code="E226", message=text, span=value.span, hint=hint) for item, text in found)
        ) from None
