from __future__ import annotations

import re

from hypothesis import given
from hypothesis import strategies as st

from asct.diagnostics.model import Diagnostic, Span
from asct.diagnostics.render import in_order, render
from asct.values.text import display_width

FILES = {"plans/lab.yaml": "plan: 1\nname: lab\nbenchmarks:\n    array: 64k\n    repeets: 3\n"}
SIZE = Diagnostic(
    "E112", "ambiguous size `64k`", Span("plans/lab.yaml", 4, 12, 3), "64 000 (SI) or 65 536 (fio)?",
    "write `64kB` or `64KiB`",
)  # fmt: skip


def test_place_line_caret_label_and_hint() -> None:
    assert render(SIZE, FILES) == (
        "error[E112]: ambiguous size `64k`\n"
        "  ┌ plans/lab.yaml:4:12\n"
        "4 │     array: 64k\n"
        "  │            ^^^ 64 000 (SI) or 65 536 (fio)?\n"
        "  └\n"
        "hint: write `64kB` or `64KiB`"
    )


def test_order_is_by_place() -> None:
    spans = [None, Span("a", 1, 2), Span("a", 2, 1), Span("b", 1, 1)]
    expected = [Diagnostic("E101", "x", span) for span in spans]
    assert in_order(reversed(expected)) == expected


def test_numbers_in_messages_are_ordered_by_value() -> None:
    findings = [Diagnostic("E209", f"line {number}: invalid") for number in (10, 9, 100)]
    assert [item.message.split()[1] for item in in_order(findings)] == ["9:", "10:", "100:"]


def test_notes_have_places_of_their_own() -> None:
    note = Diagnostic(
        "E105",
        "duplicate key",
        Span("plans/lab.yaml", 5, 5, 7),
        notes=(("first defined here", Span("plans/lab.yaml", 2, 1, 4)),),
    )
    assert "note: first defined here\n  ┌ plans/lab.yaml:2:1\n2 │ name: lab\n  │ ^^^^\n  └" in render(note, FILES)


def test_without_the_text_of_the_file_the_place_is_shown() -> None:
    assert render(SIZE, {}) == (
        "error[E112]: ambiguous size `64k`\n  ┌ plans/lab.yaml:4:12\n  │ 64 000 (SI) or 65 536 (fio)?\n  └\n"
        "hint: write `64kB` or `64KiB`"
    )
    assert "9:1" in render(Diagnostic("E101", "x", Span("plans/lab.yaml", 9, 1)), FILES)


def test_a_finding_without_a_place() -> None:
    assert (
        render(Diagnostic("E901", "interrupted by SIGINT", severity="warning"), {})
        == "warning[E901]: interrupted by SIGINT"
    )


def test_a_long_line_is_cut_around_the_caret() -> None:
    line = "a" * 500 + "HERE" + "b" * 500
    text = render(Diagnostic("E104", "x", Span("f", 1, 501, 4)), {"f": line})
    source, caret = text.split("\n")[2:4]
    assert len(source) <= 80
    assert source.startswith("1 │ …a")
    assert source.endswith("b…")
    assert source[caret.index("^") : caret.rindex("^") + 1] == "HERE"


def test_a_long_caret_and_a_long_label_keep_to_the_width() -> None:
    item = Diagnostic("E104", "x " * 100, Span("f", 1, 3, 5000), "some words " * 20, "more words " * 20)
    assert max(map(len, render(item, {"f": "y" * 6000}).split("\n"))) <= 80


def test_tabs_and_wide_characters_keep_the_caret_in_place() -> None:
    tabbed = render(Diagnostic("E104", "x", Span("f", 1, 2, 2)), {"f": "\tab"}).split("\n")
    assert tabbed[2:4] == ["1 │     ab", "  │     ^^"]
    wide = render(Diagnostic("E104", "x", Span("f", 1, 3, 1)), {"f": "名前x"}).split("\n")
    assert wide[2:4] == ["1 │ 名前x", "  │     ^"]
    combined = render(Diagnostic("E104", "x", Span("f", 1, 3, 1)), {"f": "e\u0301x"}).split("\n")
    assert combined[3] == "  │  ^"


def test_nothing_of_a_hostile_file_controls_the_terminal() -> None:
    evil = "\x1b[2J\x1b]0;title\x07\x9b31m\u202eabc\x7f\r\udc80"
    item = Diagnostic("E104", evil, Span(evil, 1, 3, 4), evil, evil, notes=((evil, Span(evil, 1, 1)),))
    text = render(item, {evil: evil})
    assert all(mark == "\n" or mark.isprintable() for mark in text)


def test_colour_changes_nothing_else() -> None:
    coloured = render(SIZE, FILES, colour=True)
    assert "\x1b[1;31merror[E112]\x1b[0m" in coloured
    assert re.sub(r"\x1b\[[0-9;]*m", "", coloured) == render(SIZE, FILES)


def test_lines_are_counted_as_libyaml_counts_them() -> None:
    files = {"f": "a\r\nb\rc\u2028d\n"}
    for number, letter in enumerate("abcd", 1):
        assert f"{number} │ {letter}" in render(Diagnostic("E104", "x", Span("f", number, 1)), files)


TEXT = st.text(st.characters(exclude_categories=["Cs"]), max_size=300)


@given(TEXT, st.integers(1, 12), st.integers(1, 400), st.integers(1, 500), TEXT, st.integers(1, 120))
def test_any_finding_renders(source: str, line: int, column: int, length: int, label: str, width: int) -> None:
    item = Diagnostic("E104", "x", Span("f", line, column, length), label, "hint")
    lines = render(item, {"f": source}, width=width).split("\n")
    assert all(mark.isprintable() for text in lines for mark in text)
    shown = [text for text in lines if re.match(r" *[0-9]+ │", text)]
    assert all(display_width(text) <= max(width, 40) + 2 for text in shown)


def test_a_line_to_copy_is_never_wrapped() -> None:
    line = "host ssh-ed25519 " + "A" * 100
    item = Diagnostic("E305", "unknown host key", hint="add the line", verbatim=line)
    assert render(item, {}).endswith("\nhint: add the line\n" + line)
    assert item.to_json()["hint"] == f"add the line: {line}"
