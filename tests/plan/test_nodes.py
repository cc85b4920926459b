from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from asct.diagnostics.model import Diagnostic
from asct.plan.findings import MOST, Findings
from asct.plan.model import REJECTED
from asct.plan.nodes import MAX_BYTES, MAX_NODES, decode, parse_yaml


def read(text: str) -> tuple[Any, list[Diagnostic]]:
    findings = Findings()
    node = parse_yaml(text, "f", findings)
    return (None if node is None else node.plain()), list(findings.all())


def only(text: str) -> Diagnostic:
    (finding,) = read(text)[1]
    return finding


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("no", "no"),
        ("on", "on"),
        ("Off", "Off"),
        ("yes", "yes"),
        ("y", "y"),
        ("true", True),
        ("False", False),
        ("TRUE", True),
        ("tRue", "tRue"),
        ("~", None),
        ("null", None),
        ("Null", None),
        ("nULL", "nULL"),
        ("", None),
        ("3:1", "3:1"),
        ("1:30", "1:30"),
        ("10:20:30:40", "10:20:30:40"),
        ("1e3", 1000.0),
        ("5e-1", 0.5),
        ("-.5", -0.5),
        ("+1", 1),
        ("0o17", 15),
        ("0x1F", 31),
        ("0b11", "0b11"),
        ("1_000", "1_000"),
        ("2026-11-21", "2026-11-21"),
        ("1.", 1.0),
        (".", "."),
        ("-", None),
        ("1.2.3", "1.2.3"),
        ("4K", "4K"),
        ("=", "="),
        ("'12'", "12"),
        ('"no"', "no"),
        ("0o8", "0o8"),
        ("1e", "1e"),
        ("- 1", [1]),
        ("-1", -1),
        ("0", 0),
        ("0.0", 0.0),
        ("٣", "٣"),
        ("1.10", 1.1),
    ],
)
def test_yaml_1_2_scalars(text: str, expected: object) -> None:
    found, findings = read(f"a: {text}" if text not in ("-", "- 1") else f"a:\n  {text}")
    if text == "-":
        assert found == {"a": [None]}
        return
    assert not findings
    assert found == {"a": expected}
    assert type(found["a"]) is type(expected)


def test_block_scalars_and_escapes() -> None:
    assert read('a: |\n  one\n  two\nb: >-\n  one\n  two\nc: "x\\ty"')[0] == {
        "a": "one\ntwo\n",
        "b": "one two",
        "c": "x\ty",
    }


def test_a_leading_zero_is_read_as_decimal_with_a_warning() -> None:
    found, (finding,) = read("a: 017")
    assert found == {"a": 17}
    assert (finding.code, finding.severity, finding.span and finding.span.column) == ("E130", "warning", 4)


@pytest.mark.parametrize("text", [".inf", "-.INF", ".nan", "1e999", "9" * 41])
def test_numbers_that_are_none(text: str) -> None:
    assert only(f"a: {text}").code == "E112"


@pytest.mark.parametrize(
    ("text", "code", "place", "message", "hint"),
    [
        ("a: 1\nb: 2\n a: 3", "E103", (3, 3), "mapping values are not allowed", "indentation"),
        ("a: 1\nb: 2\na: 3", "E105", (3, 1), "duplicate key `a`", "remove one"),
        ("{a: 1, a: 2}", "E105", (1, 8), "duplicate key `a`", "remove one"),
        ("<<: {a: 1}", "E108", (1, 1), "merge keys", "use `extends`"),
        ("a: &x 1\nb: *x", "E108", (2, 4), "aliases are not supported: `*x`", "`extends` or `vars`"),
        ("*x : 1", "E108", (1, 1), "aliases are not supported: `*x`", "`extends` or `vars`"),
        ("a: !!python/object:os.system x", "E108", (1, 4), "tags are not supported", "remove the tag"),
        ("a: !b", "E108", (1, 4), "tags are not supported: `!b`", "quote text that begins with `!`"),
        ("a: 1\n---\nb: 2", "E108", (2, 1), "more than one document", "remove the `---`"),
        ("1: x", "E106", (1, 1), "key `1` is not text", '`"1":`'),
        ("true: x", "E106", (1, 1), "key `true` is not text", '`"true":`'),
        ("? [a]\n: x", "E106", (1, 3), "a key is a list or a map", "keys must be text"),
        ("v: {{ x }}", "E106", (1, 5), "a key is a list or a map", "write templates as `${...}`"),
        ("a: {b: ${vars.x}}", "E103", (1, 9), "not valid YAML", '"${vars.x}"'),
        ("a: [ ${x} ]", "E103", (1, 7), "not valid YAML", '"${x}"'),
        ("a: [n[01:04].lab]", "E103", (1, 6), "not valid YAML", 'quote host ranges: "node[01:16]"'),
        ('a: "\\d+"', "E103", (1, 5), "unknown escape", "single quotes"),
        ("a:\n\t- b", "E103", (2, 1), "cannot start any token", "indent with spaces"),
        ("a: @b", "E103", (1, 4), "cannot start any token", "quote text"),
        ('a: "x', "E103", (1, 6), "end of stream", "close the open"),
        ("a: [1, 2", "E103", (1, 8), "did not find expected ','", "close the open"),
        ("g: *", "E103", (1, 5), "alias", 'quote a pattern that begins with `*`: "*"'),
        ("a: 1\x00", "E102", (1, 5), "the file contains the control character U+0000", "remove it"),
        ("a: 1\nb: \x1b[2J", "E102", (2, 4), "the file contains the control character U+001B", "remove it"),
        ("a: \ud800", "E102", (1, 4), "the file contains the control character U+D800", "remove it"),
    ],
)
def test_what_is_refused(text: str, code: str, place: tuple[int, int], message: str, hint: str) -> None:
    finding = only(text)
    assert finding.code == code
    assert finding.span is not None
    assert (finding.span.line, finding.span.column) == place
    assert message in finding.message
    assert hint in finding.hint


def test_reading_goes_on_behind_what_is_refused() -> None:
    found, findings = read("a: 1\na: 2\nb: &x [1]\nc: *x\n<<: {d: 1}\n1: e\nf: [*x, 2]\n? {g: 1}\n: {h: 2}\ni: 3")
    assert [item.code for item in findings] == ["E105", "E108", "E108", "E106", "E108", "E106"]
    assert found == {"a": 1, "b": [1], "c": REJECTED, "1": REJECTED, "f": [REJECTED, 2], "i": 3}


def test_the_values_of_a_duplicate_key_are_both_read() -> None:
    assert read("a: {x: 1, y: 2}\na: {x: 3, z: 4}")[0] == {"a": {"x": 1, "y": 2, "z": 4}}
    assert read("a: [1, 2]\na: [2, 3]")[0] == {"a": [1, 2, 3]}


def test_a_duplicate_shows_both_places() -> None:
    ((text, span),) = only("a: 1\nb: 2\na: 3").notes
    assert text == "first defined here"
    assert span is not None
    assert (span.line, span.column) == (1, 1)


def test_spans_of_values_and_keys() -> None:
    node = parse_yaml("a:\n  bc: 'xyz'\n  d: [1, 22]", "f", Findings())
    assert node is not None
    inner = node.value["a"].value["bc"]
    assert (inner.span.line, inner.span.column, inner.span.length) == (2, 7, 5)
    assert (inner.key_span.line, inner.key_span.column, inner.key_span.length) == (2, 3, 2)
    second = node.value["a"].value["d"].value[1]
    assert (second.span.line, second.span.column, second.span.length, second.key_span) == (3, 10, 2, None)


@pytest.mark.parametrize("opening", ["[", "{a: ", "- ", "? ", "[{a: ", "- - "])
def test_a_hundred_thousand_brackets_end_in_one_message(opening: str) -> None:
    assert "E109" in {item.code for item in read(opening * 100_000)[1]}


def test_a_hundred_levels_are_read() -> None:
    assert not read("[" * 100 + "]" * 100)[1]
    assert only("[" * 101 + "]" * 101).code == "E109"


def test_an_alias_bomb_stays_small() -> None:
    bomb = "a: &a [x, x]\n" + "".join(
        f"{name}: &{name} [*{before}, *{before}]\n" for before, name in zip("abcdefgh", "bcdefghi", strict=True)
    )
    found, findings = read(bomb)
    assert {item.code for item in findings} == {"E108"}
    assert found["i"] == [REJECTED, REJECTED]


def test_size_and_number_of_values_are_bounded() -> None:
    assert only("a" * (MAX_BYTES + 1)).code == "E109"
    assert only("[" + "1," * (MAX_NODES + 1) + "]").code == "E109"


def test_many_findings_are_counted() -> None:
    findings = read("".join("a: 1\n" for _ in range(MOST + 100)))[1]
    assert len(findings) == MOST + 1
    assert "99 more findings" in findings[-1].message


def test_nothing_at_all() -> None:
    assert read("") == (None, [])
    assert read("# only a comment\n") == (None, [])


@pytest.mark.parametrize(
    ("data", "place", "message"),
    [
        (b"a: \xff", (1, 4), "not valid UTF-8: byte 0xff"),
        (b"a: 1\nb: caf\xe9", (2, 7), "not valid UTF-8: byte 0xe9"),
        (b"\xef\xbb\xbfa: \xff", (1, 4), "not valid UTF-8: byte 0xff"),
        (b"\xff\xfea\x00", None, "UTF-16"),
        (b"\xfe\xff\x00a", None, "UTF-16"),
    ],
)
def test_bytes_that_are_no_text(data: bytes, place: tuple[int, int] | None, message: str) -> None:
    findings = Findings()
    assert decode(data, "f", findings) is None
    (finding,) = findings.all()
    assert finding.code == "E102"
    assert message in finding.message
    assert place == (finding.span and (finding.span.line, finding.span.column))


def test_a_byte_order_mark_is_dropped() -> None:
    assert decode(b"\xef\xbb\xbfa: 1", "f", Findings()) == "a: 1"
    assert read("\ufeffa: 1") == ({"a": 1}, [])


YAML_LIKE = st.lists(
    st.sampled_from(
        [
            "a",
            "b: ",
            "- ",
            "\n",
            "  ",
            "[",
            "]",
            "{",
            "}",
            ", ",
            ": ",
            "'",
            '"',
            "&x ",
            "*x",
            "!t ",
            "<<: ",
            "---\n",
            "1",
            "0x",
            "~",
            "|\n",
            ">",
            "#",
            "%",
            "${",
            "?",
            "\t",
            "\x00",
            "é",
            "\u2028",
            "\\",
            "@",
        ]
    ),
    max_size=60,
).map("".join)


@given(st.one_of(YAML_LIKE, st.text(), st.binary().map(lambda data: data.decode("utf-8", "surrogateescape"))))
def test_hostile_text_ends_in_diagnostics(text: str) -> None:
    _, findings = read(text)
    lines = text.count("\n") + text.count("\r") + text.count("\u2028") + text.count("\u2029") + text.count("\x85") + 1
    for item in findings:
        assert item.hint
        assert item.message.isprintable()
        assert item.span is None or 1 <= item.span.line <= lines


@given(st.binary())
def test_hostile_bytes_end_in_diagnostics(data: bytes) -> None:
    findings = Findings()
    text = decode(data, "f", findings)
    assert (text is None) is findings.failed
    if text is not None:
        parse_yaml(text, "f", findings)
