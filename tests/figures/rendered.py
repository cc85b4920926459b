"""Render a single figure as plotly JSON, as if it were the only one in its report."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from asct.figures.render import render_sections
from asct.sdk.figure import Figure


def render_figure(figure: Figure, hosts: Sequence[str] = ()) -> dict[str, Any]:
    """Return `{"data": [...], "layout": {...}}`."""
    return dict(render_sections([[figure]], hosts)[figure.slug])
