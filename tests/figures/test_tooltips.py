"""Tooltips are stored in little space, and are put together as they were."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from asct.figures.tooltips import with_compact_tooltips
from tests.figures.rendered import with_tooltips

TEXTS = st.lists(st.text("a1.,<b> %|\n") | st.text(), max_size=6)


def compact(*customdata: Any) -> dict[str, Any]:
    return with_compact_tooltips({"data": [{"customdata": one} for one in customdata], "layout": {}})


@given(st.lists(TEXTS, max_size=4), TEXTS, st.integers(1, 4))
def test_texts_are_put_together_as_they_were(curves: list[list[str]], row: list[str], rows: int) -> None:
    customdata = [*curves, *([[row] * rows] if row else [])]
    found = with_tooltips(compact(*customdata))["data"]
    assert [trace.get("customdata", []) for trace in found] == customdata


def test_words_are_stored_once() -> None:
    texts = [f"iodepth {depth}: {depth / 7:.4g} ms<br>95 % interval {depth / 8:.4g} ms" for depth in range(1, 60)]
    found = compact(texts, None, [texts, texts])
    assert len(found["tooltips"]["forms"]) == 1
    assert [trace is None for trace in found["tooltips"]["traces"]] == [False, True, False]
    assert 2 * len(json.dumps(found["tooltips"])) < len(json.dumps([texts, texts, texts]))


@pytest.mark.parametrize("none", [None, []])
def test_a_trace_without_tooltips_has_none(none: Any) -> None:
    assert compact(none)["tooltips"] == {"forms": [], "traces": [None]}
