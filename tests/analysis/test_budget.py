"""Documents whose size is limited."""

from __future__ import annotations

from collections.abc import Sequence

from hypothesis import given
from hypothesis import strategies as st

from asct.analysis.budget import Part, fit

TEXT = st.text("aä😀", min_size=1, max_size=30)
PARTS = st.lists(st.tuples(st.integers(1, 3), st.lists(TEXT, min_size=1, max_size=3)), max_size=6)


def note(names: Sequence[str]) -> str:
    return f"left out: {', '.join(names)}"


@given(PARTS, st.integers(150, 300))
def test_the_size_is_that_of_the_bytes_and_what_is_missing_is_named(
    given_parts: list[tuple[int, list[str]]], most: int
) -> None:
    parts = [Part("head", 0, ("HEAD",))]
    parts += [Part(f"part {n};", rank, tuple(texts)) for n, (rank, texts) in enumerate(given_parts)]
    body = fit(parts, most, note)
    assert len(body.encode()) <= most
    assert body.startswith("HEAD")
    lines = body.split("\n")
    for part in parts:
        assert part.texts[0] in lines or part.name in lines[-1]
    if sum(len(part.texts[0].encode()) + 1 for part in parts) <= most:
        assert "left out" not in body


def test_the_highest_rank_is_shortened_first_and_the_last_of_its_parts() -> None:
    parts = [Part("a", 1, ("A" * 40,)), Part("b", 2, ("B" * 40, "b")), Part("c", 2, ("C" * 40, "c"))]
    assert fit(parts, 125, note) == "\n".join(part.texts[0] for part in parts)
    assert fit(parts, 110, note) == "\n".join(["A" * 40, "B" * 40, "c", "left out: c"])
    assert fit(parts, 70, note) == "\n".join(["A" * 40, "b", "c", "left out: b, c"])
    assert fit(parts, 20, note) == "b\nleft out: a, b, c"


def test_the_note_may_become_longer() -> None:
    parts = [Part("x" * 30, 1, ("A" * 60,)), *(Part("y", 2, ("B" * 10,)) for _ in range(4))]
    body = fit(parts, 60, lambda names: names[0])
    assert len(body) <= 60 and body.endswith("x" * 30)


def test_a_part_without_room_does_not_displace_others() -> None:
    parts = [Part("a", 1, ("A" * 90, "A" * 20)), Part("b", 2, ("B" * 40,)), Part("c", 3, ("C" * 40,))]
    assert fit(parts, 85, note) == "\n".join(["A" * 20, "B" * 40, "left out: a, c"])


def test_an_empty_part_is_not_missed() -> None:
    assert fit([Part("a", 0, ("A",)), Part("b", 1, ("",)), Part("c", 2, ("C" * 50,))], 30, note) == "A\nleft out: c"
