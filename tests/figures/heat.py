"""Matrices to draw: core-to-core values of a machine with two nodes, node-to-node values, and unusual cases."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from asct.sdk.figure import Heatmap, Series
from tests.figures.made import detail


def cores(count: int, **changes: Any) -> Heatmap:
    """Return a matrix for `count` CPUs in two nodes: 24 to 34 ns within a node, about 150 ns between nodes, and no
    value on the diagonal."""
    half, names = count // 2, tuple(str(cpu) for cpu in range(count))

    def value(a: int, b: int) -> float | None:
        if a == b:
            return None
        across = a // half != b // half
        return ((150.0 if across else 24.0) + (a * 7 + b * 13) % 101 / 10) * 1e-9

    body: dict[str, Any] = {
        "slug": f"cores-{count}", "title": f"Core to core, {count} CPUs", "caption": "One way.", "x_title": "CPU B",
        "y_title": "CPU A", "columns": names, "rows": names, "unit": "s", "groups": (half,), "better": "lower",
        "values": tuple(tuple(value(a, b) for b in range(count)) for a in range(count)),
    }  # fmt: skip
    return Heatmap(**{**body, **changes})


def nodes(**changes: Any) -> Heatmap:
    """Return a matrix for two nodes with CPUs and a third node that has only memory. One pair was not measured."""
    body: dict[str, Any] = {
        "slug": "nodes", "title": "Bandwidth between nodes", "caption": "c", "x_title": "Memory node",
        "y_title": "Run node", "columns": ("Node 0", "Node 1", "Node 4"), "rows": ("Node 0", "Node 1"), "unit": "B/s",
        "values": ((459.1e9, 78.3e9, None), (78.8e9, 459.2e9, 21.5e9)),
    }  # fmt: skip
    return Heatmap(**{**body, **changes})


def detailed(matrix: Heatmap) -> Heatmap:
    """Return the matrix with an interval, eight visits, a flag and a setting for each value."""

    def row(name: str, values: tuple[float | None, ...]) -> Series:
        details = (detail(value, flags=("noisy-host",), setting="data_size 1G") if value else None for value in values)
        low, high = (tuple(value and factor * value for value in values) for factor in (0.99, 1.01))
        return Series(name, matrix.columns, values, low, high, details=tuple(details))

    return replace(matrix, series=tuple(map(row, matrix.rows, matrix.values)))
