"""Small multiples: at most eight series per panel, no series is lost, and the words that all series of a panel share
are in the panel's title."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from asct.figures.panels import MOST_SERIES, columns_of, legend_names, panels
from asct.sdk.figure import Axis, Bars, Line, Series


def chart(*names: str, hosts: tuple[str, ...] = ()) -> Line:
    owners = hosts or ("",) * len(names)
    series = tuple(Series(name, (1, 2), (1.0, 2.0), host=host) for name, host in zip(names, owners, strict=True))
    return Line("c", "t", "c", Axis("Depth"), Axis("Rate", "ops/s"), series)


def grid(*sets: list[str]) -> list[str]:
    names = [""]
    for values in sets:
        names = [f"{name}, {value}" if name else value for name in names for value in values]
    return names


def test_up_to_eight_series_are_one_panel() -> None:
    [only] = panels(chart(*(f"depth {number}" for number in range(8))))
    assert (only.title, len(only.series)) == ("", 8)
    assert panels(chart())[0].series == ()


def test_the_fewest_panels_that_share_words_are_chosen() -> None:
    hosts, depths = ["a", "b", "c"], [f"depth {2**power}" for power in range(8)]
    names = grid(hosts, depths)
    owners = tuple(name.split(", ")[0] for name in names)
    found = panels(chart(*names, hosts=owners))
    assert [panel.title for panel in found] == hosts
    assert [series.name for series in found[0].series] == depths
    assert legend_names(found) == tuple(depths)


def test_two_words_can_name_a_panel() -> None:
    names = grid(["read", "write", "mixed"], ["4 KiB", "64 KiB", "1 MiB"], [f"depth {n}" for n in range(7)])
    found = panels(chart(*names))
    assert [panel.title for panel in found][:2] == ["read, 4 KiB", "read, 64 KiB"]
    assert len(found) == 9


def test_names_without_common_words_are_divided_in_order_and_evenly() -> None:
    found = panels(chart(*(f"n{number:03}" for number in range(100))))
    assert {len(panel.series) for panel in found} == {7, 8}
    assert len(found) == 13
    assert legend_names(found) == ()
    assert {panel.title for panel in found} == {""}


def test_parts_of_a_stack_remain_together() -> None:
    series = tuple(Series(f"part {number}", (1,), (1.0,)) for number in range(12))
    bars = Bars("b", "t", "c", Axis("Depth", scale="category"), Axis("Share", "%"), series, stacked=True)
    assert len(panels(bars)) == 1


def test_stacks_of_several_hosts_have_a_panel_each() -> None:
    """However few parts they have: the parts of two hosts never form one stack."""
    hosts = ("a", "b")
    series = tuple(Series(f"{host}, {part}", (1,), (1.0,), host=host) for host in hosts for part in ("usr", "sys"))
    bars = Bars("b", "t", "c", Axis("Depth", scale="category"), Axis("Share", "%"), series, stacked=True)
    found = panels(bars)
    assert [(panel.title, [item.name for item in panel.series]) for panel in found] == [
        ("a", ["usr", "sys"]), ("b", ["usr", "sys"]),
    ]  # fmt: skip
    assert legend_names(found) == ("usr", "sys")


def test_a_host_with_a_comma_is_one_word() -> None:
    names = grid(["rack 1, node 2", "rack 1, node 3"], [f"d{number}" for number in range(6)])
    owners = tuple(name.rsplit(", ", 1)[0] for name in names)
    assert [panel.title for panel in panels(chart(*names, hosts=owners))] == ["rack 1, node 2", "rack 1, node 3"]


words = st.text("abc, ", max_size=6)


@given(st.lists(words, max_size=40))
def test_no_series_is_lost_or_doubled(names: list[str]) -> None:
    figure = chart(*names)
    found = panels(figure)
    assert all(len(panel.series) <= MOST_SERIES for panel in found)
    assert sum(len(panel.series) for panel in found) == len(names)
    assert len(legend_names(found)) <= MOST_SERIES


@given(st.integers(1, 120), st.integers(200, 2000))
def test_columns_fill_their_rows(count: int, width: int) -> None:
    columns = columns_of(count, width)
    rows = -(-count // columns)
    assert 1 <= columns <= 4
    assert columns * (rows - 1) < count <= columns * rows
