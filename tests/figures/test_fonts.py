"""Characters that DejaVu Sans lacks are drawn with another font or as codes, but never as empty boxes."""

from __future__ import annotations

import pytest

from asct.figures.static import fonts, picture
from tests.figures.made import sweep
from tests.figures.rendered import render_figure

SPEC = render_figure(sweep(("reads", "writes")))
NOTE = "; codes such as U+4E2D stand for characters that no installed font contains"


def drawn(title: str, source: str, form: str = "png") -> bytes:
    return picture(SPEC, title, "c", source, form)


def test_only_visible_characters_are_lacking() -> None:
    assert fonts.lacking(["µs → 1", "\n\u202e\x1b", "中文"]) == {"中", "文"}
    assert list(fonts.texts_of({"a": ["b", ("c", 1)], "d": None, "e": "f"})) == ["b", "c", "f"]


def test_a_font_that_contains_a_character_is_used() -> None:
    """STIX is part of matplotlib, like DejaVu Sans."""
    found = next(path for path, name in fonts._installed() if name == "STIXGeneral")
    other = next(chr(one) for one in sorted(fonts._contained(found)) if fonts.lacking([chr(one)]))
    names, left = fonts.fonts_for(frozenset({other}))
    assert names and not left
    assert fonts.fonts_for(frozenset()) == ((), frozenset())
    assert drawn(other, "s") != drawn(f"U+{ord(other):04X}", f"s{NOTE}")


def test_without_a_font_the_code_is_shown_and_explained(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(fonts, "_installed", tuple)
    assert drawn("文", "中") == drawn("U+6587", f"U+4E2D{NOTE}")
    assert fonts.with_codes({"x": ["中", 1, ("b",)]}, {"中"}) == {"x": ["U+4E2D", 1, ["b"]]}


def test_a_vector_picture_contains_the_characters_themselves() -> None:
    assert "文 in 中".encode() in drawn("文 in 中", "s", "svg")
