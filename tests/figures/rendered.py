"""Render a single figure as plotly JSON or as a table, as if it were the only one in its report."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from asct.analysis.combined import figure_grid
from asct.analysis.grid import TextTable
from asct.figures.axes import Neighbors, axis_text
from asct.figures.render import render_sections
from asct.sdk.figure import Figure


def render_figure(figure: Figure, hosts: Sequence[str] = ()) -> dict[str, Any]:
    """Return `{"data": [...], "layout": {...}}`."""
    return dict(render_sections([Neighbors([figure])], hosts)[figure.slug])


def table_of(figure: Figure) -> TextTable | None:
    return figure_grid(figure, axis_text(Neighbors([figure])))
