"""Details that a figure shows about a value."""

from __future__ import annotations

from asct.sdk.record import Record, Stats, ValueState
from asct.sdk.rows import detail_of, series_of
from tests import records


def record(value: float, stats: Stats | None = None, flags: tuple[str, ...] = ()) -> Record:
    return records.record(value, point={"threads": 4}, stats=stats, flags=list(flags))


def test_one_repeat_shows_its_visits_and_states() -> None:
    states = (ValueState(value=1.0, share=0.5), ValueState(value=3.0, share=0.5))
    stats = Stats(n=4, median=2.0, mad=1.0, min=1.0, max=3.0, visit_values=(1.0, 1.0, 3.0, 3.0), states=states)
    found = detail_of([record(2.0, stats, ("two-states",))])
    assert found is not None
    assert (found.kind, found.values, found.states) == ("visit", (1.0, 1.0, 3.0, 3.0), (1.0, 3.0))
    assert (found.flags, found.setting) == (("two-states",), "threads 4")


def test_several_repeats_show_one_value_each() -> None:
    stats = Stats(n=2, median=2.0, mad=1.0, min=1.0, max=3.0, visit_values=(1.0, 3.0))
    found = detail_of([record(2.0, stats), record(4.0, stats)])
    assert found is not None
    assert (found.kind, found.values) == ("repeat", (2.0, 4.0))


def test_a_series_has_one_detail_for_each_value() -> None:
    series = series_of("load", [1, 2], [[record(1.0)], []])
    assert [None if one is None else one.values for one in series.details] == [(1.0,), None]
