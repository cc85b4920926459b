"""Suggest the nearest known name."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

ALIKE: Final = 0.75
"""Similarity (Ratcliff/Obershelp, 0 to 1) from which an unknown name is treated as a misspelling of a known name."""
_LONGEST = 64
_LISTED = 12


def nearest(word: str, known: Iterable[str], cutoff: float = 0.6) -> str | None:
    """Return the known name that is most similar to `word`, ignoring case and the difference between `_` and `-`, or
    None if no name is similar enough."""
    return next(iter(near_names(word, known, cutoff, limit=1)), None)


def near_names(word: str, known: Iterable[str], cutoff: float = 0.6, limit: int = 5) -> list[str]:
    """Return up to `limit` known names that are similar to `word`, the most similar one first."""
    if len(word) > _LONGEST:
        return []
    folded: dict[str, str] = {}
    for name in sorted(set(known)):
        folded.setdefault(_fold(name), name)
    from difflib import get_close_matches

    return [folded[close] for close in get_close_matches(_fold(word), list(folded), n=limit, cutoff=cutoff)]


def did_you_mean(word: str, known: Iterable[str], otherwise: str = "") -> str:
    """Return a hint that suggests the nearest name. If no name is near enough, return `otherwise`, or, if `otherwise`
    is empty and there are only a few names, a hint that lists all of them."""
    names = sorted(set(known))
    close = nearest(word, names)
    if close is not None:
        return f"did you mean `{close}`?"
    if otherwise:
        return otherwise
    return f"known: {', '.join(names)}" if 0 < len(names) <= _LISTED else ""


def _fold(name: str) -> str:
    return name.lower().replace("_", "-")
