"""Colour, width and aligned columns."""

from __future__ import annotations

import io

import pytest

from asct.cli.console import wants_colour, width
from asct.cli.words import counted


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


@pytest.mark.parametrize(
    ("choice", "stream", "environ", "expected"),
    [
        ("auto", Terminal(), {}, True),
        ("auto", Terminal(), {"TERM": "dumb"}, False),
        ("auto", Terminal(), {"NO_COLOR": "0"}, False),
        ("auto", Terminal(), {"NO_COLOR": ""}, True),
        ("auto", io.StringIO(), {}, False),
        ("auto", io.StringIO(), {"FORCE_COLOR": "1"}, True),
        ("auto", io.StringIO(), {"FORCE_COLOR": "1", "NO_COLOR": "1"}, False),
        ("always", io.StringIO(), {"NO_COLOR": "1"}, True),
        ("never", Terminal(), {"FORCE_COLOR": "1"}, False),
    ],
)
def test_colour_follows_option_then_environment_then_terminal(choice, stream, environ, expected) -> None:
    assert wants_colour(choice, stream, environ) is expected


@pytest.mark.parametrize(("columns", "expected"), [("100", 100), ("", 80), ("none", 80), ("5", 80)])
def test_width_is_columns_or_80(columns: str, expected: int) -> None:
    assert width({"COLUMNS": columns}, io.StringIO()) == expected


def test_counted() -> None:
    assert [counted(number, "job") for number in (0, 1, 2, 12345)] == ["0 jobs", "1 job", "2 jobs", "12,345 jobs"]
