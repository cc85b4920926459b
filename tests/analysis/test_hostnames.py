"""Short forms of host names: the common parts of all names are omitted, and each name remains recognizable."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from asct.analysis.grid import ColumnHead, TableCell, TextTable
from asct.analysis.hostnames import short_forms, shortening, with_short_hosts, with_short_series
from tests.figures.heat import cores
from tests.figures.made import sweep


@pytest.mark.parametrize(
    ("names", "short"),
    [
        (("rack07-node-01.lab.example.com", "rack07-node-02.lab.example.com"), ("…node-01", "…node-02")),
        (("gpu-a100-cluster-01", "gpu-a100-cluster-02"), ("…cluster-01", "…cluster-02")),
        (("rack07-node-01-mem.lab.example.com", "rack07-node-02-mem.lab.example.com"), ("…node-01…", "…node-02…")),
        (("alpha-production-eu", "beta-production-eu"), ("alpha…", "beta…")),
        (("database.example.com", "web.lab.example.com"), ("database", "web.lab")),
        (("192.168.100.101", "192.168.101.101"), ("192.168.100.101", "192.168.101.101")),
        (("192.168.100.101-old", "192.168.100.101-new"), ("…old", "…new")),
        (("rack-1-a", "rack-1-b"), ("rack-1-a", "rack-1-b")),
        (("node-01.lab.example.com",), ("node-01.lab.example.com",)),
        ((".", "1111111111111111."), (".", "1111111111111111.")),
    ],
)  # fmt: skip
def test_shared_domains_and_beginnings_are_left_out(names: tuple[str, ...], short: tuple[str, ...]) -> None:
    assert short_forms(names) == dict(zip(names, short, strict=True))


@pytest.mark.parametrize(
    ("names", "told"),
    [
        (("rack07-node-01-mem.lab.example.com", "rack07-node-02-mem.lab.example.com"),
         "without `rack07-` and `-mem.lab.example.com`"),
        (("gpu-a100-cluster-01", "gpu-a100-cluster-02"), "without `gpu-a100-`"),
        (("database.example.com", "web.lab.example.com"), "without `.example.com`"),
        (("rack-1-a", "rack-1-b"), ""),
        (("node-01.lab.example.com",), ""),
    ],
)  # fmt: skip
def test_what_short_forms_leave_out_can_be_told(names: tuple[str, ...], told: str) -> None:
    assert shortening(names) == told


@given(st.lists(st.text("ab1-.", min_size=1, max_size=30), min_size=1, max_size=5, unique=True))
def test_short_forms_are_unique_and_not_empty(names: list[str]) -> None:
    forms = short_forms(names)
    assert len(set(forms.values())) == len(names)
    assert all(forms.values())
    assert bool(shortening(names)) == any(name != short for name, short in forms.items())


def test_only_the_column_of_hosts_is_changed() -> None:
    heads = (ColumnHead("Level"), ColumnHead("Host"))
    grid = TextTable("g", "Grid", heads, ((TableCell("one.x"), TableCell("one.x", "one.x")),))
    [[level, host]] = with_short_hosts(grid, {"one.x": "one"}).rows
    assert (level, host) == (TableCell("one.x"), TableCell("one", "one.x", note="one.x"))


def test_series_begin_with_short_forms() -> None:
    forms = {"one.x": "one", "two.x": "two"}
    figure = sweep(("read",), ("one.x", "two.x"))
    assert [(one.name, one.host) for one in with_short_series(figure, forms).series] == [
        ("one, read", "one"), ("two, read", "two")
    ]  # fmt: skip
    median = replace(figure.series[0], name="one.xyz, median of hosts")
    assert with_short_series(replace(figure, series=(median,)), forms).series[0].name == median.name
    assert with_short_series(cores(4), forms) == cores(4)
