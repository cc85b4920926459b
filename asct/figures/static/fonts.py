"""Draw characters that DejaVu Sans lacks, such as Chinese characters and emojis, in another installed font. If there is
none, replace them with their codes."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from functools import cache
from typing import Any, Final

from matplotlib.font_manager import findfont, fontManager
from matplotlib.ft2font import FT2Font

DEJAVU: Final = "DejaVu Sans"
_LAST_RESORT: Final = "Last Resort"
"""Name prefix of fonts that contain only placeholders."""

_USUAL: Final = (400, "normal", "regular", "book")
"""The font weights that are suitable for running text."""


def lacking(texts: Iterable[str]) -> frozenset[str]:
    """Return the visible characters in these strings that DejaVu Sans lacks."""
    found: set[str] = set()
    found.update(*texts)
    dejavu = _contained(findfont(DEJAVU))
    return frozenset(one for one in found if one.isprintable() and ord(one) not in dejavu)


def fonts_for(characters: frozenset[str]) -> tuple[tuple[str, ...], frozenset[str]]:
    """Return the names of installed fonts that contain these characters, and the characters that no installed font
    contains. A font is included only if it contains characters that the fonts before it lack."""
    names: list[str] = []
    left = set(characters)
    for path, name in _installed() if left else ():
        found = {character for character in left if ord(character) in _contained(path)}
        if found:
            names.append(name)
            left -= found
        if not left:
            break
    return tuple(names), frozenset(left)


def with_codes(value: Any, characters: Collection[str]) -> Any:
    """Replace these characters with codes such as U+4E2D, in a string or in all strings in lists and dictionaries."""
    if isinstance(value, str):
        return value.translate({ord(one): f"U+{ord(one):04X}" for one in characters}) if characters else value
    if isinstance(value, list | tuple):
        return [with_codes(item, characters) for item in value]
    if isinstance(value, dict):
        return {key: with_codes(item, characters) for key, item in value.items()}
    return value


def texts_of(value: Any) -> Iterable[str]:
    """Yield all strings in lists and dictionaries, at any depth."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict | list | tuple):
        for item in value.values() if isinstance(value, dict) else value:
            yield from texts_of(item)


@cache
def _installed() -> tuple[tuple[str, str], ...]:
    """Return the files and names of the upright fonts, in a fixed order."""
    upright = (font for font in fontManager.ttflist if font.style == "normal" and font.weight in _USUAL)
    found = {font.name: font.fname for font in sorted(upright, key=lambda font: font.fname, reverse=True)}
    return tuple((path, name) for name, path in sorted(found.items()) if not name.startswith(_LAST_RESORT))


@cache
def _contained(path: str) -> frozenset[int]:
    """Return the code points of a font, or an empty set if its file cannot be read."""
    try:
        return frozenset(FT2Font(path).get_charmap())
    except (OSError, RuntimeError):
        return frozenset()
