"""Render a single figure as plotly JSON or as a table, as if it were the only one in its report."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import zip_longest
from typing import Any

from asct.analysis.combined import figure_grid
from asct.analysis.grid import TextTable
from asct.figures.axes import Neighbors, axis_text
from asct.figures.render import render_sections
from asct.sdk.figure import Figure


def render_figure(figure: Figure, hosts: Sequence[str] = ()) -> dict[str, Any]:
    """Return `{"data": [...], "layout": {...}}`, with the tooltips as `customdata`."""
    return with_tooltips(render_sections([Neighbors([figure])], hosts)[figure.slug])


def with_tooltips(rendered: dict[str, Any]) -> dict[str, Any]:
    """Return a rendered figure with the tooltips of its traces, put together as on the page."""
    forms, traces = rendered["tooltips"]["forms"], rendered["tooltips"]["traces"]

    def text(form: int, numbers: Sequence[str]) -> str:
        return "".join(map("".join, zip_longest(forms[form], numbers[: len(forms[form]) - 1], fillvalue="")))

    def texts(lists: list[Any]) -> list[Any]:
        if not isinstance(lists[0], str):
            return list(map(texts, lists))
        columns = (one.split(" ") for one in lists)
        return [text(int(kind), numbers) for kind, *numbers in zip(*columns, strict=True)]

    pairs = zip(rendered["data"], traces, strict=True)
    data = [trace if lists is None else {**trace, "customdata": texts(lists)} for trace, lists in pairs]
    return {"data": data, "layout": rendered["layout"]}


def table_of(figure: Figure) -> TextTable | None:
    return figure_grid(figure, axis_text(Neighbors([figure])))
