"""Color, width and aligned columns."""

from __future__ import annotations

import io
import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from rich.text import Text

from asct.cli import streams
from asct.cli.console import Console, OutputStyle, harmless, wants_colour, width


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


HOSTILE = "\x1b[31mred\x1b]0;title\x07\u202eback\x9b2J"


def test_control_characters_are_replaced_and_lines_kept() -> None:
    assert harmless("a\tb\nc") == "a\tb\nc"
    assert harmless(HOSTILE) == "�[31mred�]0;title��back�2J"


def test_styled_text_keeps_its_style() -> None:
    text = Text("a\x1bb")
    text.stylize("bold", 0, 2)
    shown = harmless(text)
    assert isinstance(shown, Text)
    assert (shown.plain, shown.spans) == ("a�b", text.spans)


def test_words_of_others_command_no_workflow(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    words = "  ::add-mask::e\n::1 is an address\nx ##[group]y"
    assert harmless(words) == words
    monkeypatch.setenv("GITHUB_ACTIONS", "true")
    assert harmless(words) == "  �:add-mask::e\n::1 is an address\nx �#[group]y"
    Console(OutputStyle()).document({"words": words})
    shown = capsys.readouterr().out
    assert "##[" not in shown
    assert json.loads(shown) == {"words": words}


def test_characters_that_an_encoding_lacks_are_replaced_by_similar_ones() -> None:
    assert "98 µs ±1 – ▁▄█ 中".encode("ascii", streams.SIMILAR) == b"98 us ~1 - _-# ?"
    assert "µ▁".encode("latin-1", streams.SIMILAR) == b"\xb5_"
    with pytest.raises(UnicodeDecodeError):
        b"\xff".decode("ascii", streams.SIMILAR)


def test_a_terminal_without_unicode_shows_text_in_ascii(tmp_path: Path) -> None:
    (tmp_path / "x.yaml").write_text("plan: 1\nnam: x\n", encoding="utf-8")
    call = [sys.executable, "-m", "asct", "check", "x.yaml"]
    environment = {**os.environ, "PYTHONIOENCODING": "ascii", "COLUMNS": "80"}
    ended = subprocess.run(call, capture_output=True, cwd=tmp_path, env=environment, check=False)
    assert ended.returncode == 2
    assert b", x.yaml:2:1" in ended.stderr and b"\\u" not in ended.stderr
