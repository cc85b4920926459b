"""The places of labels beside marks."""

from __future__ import annotations

from asct.figures.axes import AxisView
from asct.figures.labels import placed
from asct.sdk.figure import Series


def labels_of(marks: int) -> list[str]:
    xs = tuple(float(x) for x in range(1, marks + 1))
    series = Series("s", xs, xs, labels=tuple(str(number) for number in range(marks)))
    axis = AxisView("x", "linear", (), (), 0.0, marks + 1.0)
    [found] = placed([series], axis, axis, (100_000.0, 100_000.0))
    return [item.text for item in found if item.text]


def test_among_many_marks_only_the_ends_are_labelled() -> None:
    assert labels_of(200) == [str(number) for number in range(200)]
    assert labels_of(201) == ["0", "200"]
