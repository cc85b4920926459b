"""Names of access patterns and widths, in every notation, and the widths that a host supports."""

from __future__ import annotations

from typing import Annotated, Any, get_args

import pytest
from pydantic import ValidationError

from asct.instruments.memory.settings import LISTED
from asct.instruments.memory.traffic import ARRAYS, TITLES, WORDS, Traffic, Width, width_title, widths_of
from asct.sdk.facts import Cpu, HostFacts, System
from asct.sdk.params import Params, setting


class Some(Params):
    """One setting of each type."""

    traffic: Annotated[tuple[Traffic, ...], LISTED] = setting(("all-reads",), "Traffic")
    width: Width = setting("auto", "Width")


def test_words_and_titles_are_the_same_set() -> None:
    assert get_args(get_args(Traffic)[0]) == WORDS
    assert len(set(TITLES.values())) == len(WORDS)
    assert {word: ARRAYS[word] for word in ("write", "2:1", "3:1", "nt-copy", "nt-triad")} == {
        "write": 1, "2:1": 2, "3:1": 3, "nt-copy": 2, "nt-triad": 3,
    }  # fmt: skip


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ("3:1", ("3:1",)), ("All Reads", ("all-reads",)), ("READ, nt-COPY", ("all-reads", "nt-copy")),
        (["2:1  Rd-Wr (Non-Temporal)", "triad"], ("2:1-nt", "triad")), ("Writes", ("write",)),
    ],
)  # fmt: skip
def test_traffic(given: Any, words: tuple[str, ...]) -> None:
    assert Some(traffic=given).traffic == words


@pytest.mark.parametrize("word", WORDS)
def test_every_title_is_read_as_its_word(word: str) -> None:
    assert Some(traffic=[TITLES[word]]).traffic == (word,)


@pytest.mark.parametrize(
    ("given", "width"), [(16, "16"), ("32", "32"), ("64B", "64"), ("SVE", "sve"), ("auto", "auto")]
)
def test_width(given: Any, width: str) -> None:
    assert Some(width=given).width == width


@pytest.mark.parametrize(
    "wrong", [{"traffic": "4:1"}, {"traffic": [3]}, {"width": 24}, {"width": True}, {"width": 16.0}]
)
def test_what_is_none(wrong: dict[str, Any]) -> None:
    with pytest.raises(ValidationError):
        Some(**wrong)


@pytest.mark.parametrize(
    ("arch", "flags", "widths"),
    [
        ("x86_64", [], ("16",)),
        ("x86_64", ["sse2", "avx", "avx2"], ("16", "32")),
        ("x86_64", ["sse2", "avx2", "avx512f"], ("16", "32", "64")),
        ("aarch64", ["asimd"], ("16",)),
        ("aarch64", ["asimd", "sve", "sve2"], ("16", "sve")),
        (None, [], ("16",)),
    ],
)
def test_widths_of_a_host(arch: str | None, flags: list[str], widths: tuple[str, ...]) -> None:
    facts = HostFacts(host="h", collected_at="t", system=System(arch=arch), cpu=Cpu(flags=flags))
    assert widths_of(facts) == widths


def test_titles_of_widths() -> None:
    assert [width_title(width) for width in ("16", "64", "sve")] == ["16 byte (128 bit)", "64 byte (512 bit)", "SVE"]
