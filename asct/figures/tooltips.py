"""The tooltips of a figure in a form that takes up little space, although there is one for each mark and cell.

Tooltips share most of their words. `forms` contains the parts of each text around its numbers, once for all texts that
share them. Each of the `traces` contains the numbers of its texts' forms, followed by the first number in each text,
the second one, and so on, each separated by spaces. A matrix contains this for each row. The page puts the texts
together again (`templates/figures.js`).
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from itertools import zip_longest
from typing import Any, Final

_NUMBER: Final = re.compile(r"(\d[\d,.]*)")
_Forms = dict[tuple[str, ...], int]


def with_compact_tooltips(figure: dict[str, Any]) -> dict[str, Any]:
    """Return a figure whose traces have no `customdata`; its `tooltips` contain the same texts."""
    forms: _Forms = {}
    traces = [_compact(trace.get("customdata"), forms) for trace in figure["data"]]
    data = [{key: value for key, value in trace.items() if key != "customdata"} for trace in figure["data"]]
    return {**figure, "data": data, "tooltips": {"forms": [*map(list, forms)], "traces": traces}}


def _compact(texts: Sequence[Any] | None, forms: _Forms) -> list[Any] | None:
    """Return the texts of a trace in terms of `forms`, to which new forms are added, or None if it has no texts."""
    if not texts:
        return None
    if not isinstance(texts[0], str):
        return [_compact(row, forms) for row in texts]
    parts = [_NUMBER.split(text) for text in texts]
    kinds = [str(forms.setdefault(tuple(one[::2]), len(forms))) for one in parts]
    return list(map(" ".join, [kinds, *zip_longest(*(one[1::2] for one in parts), fillvalue="")]))
