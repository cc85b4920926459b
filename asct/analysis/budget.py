"""Documents of limited size, whose parts can be replaced with shorter versions. A note lists the shortened parts."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Final

MOST_BYTES: Final = 1 << 20
"""Size limit of a Markdown summary in bytes. GitHub discards larger job summaries."""


@dataclass(frozen=True, slots=True)
class Part:
    """A part of a document. `texts` contains its versions, from the longest to the shortest; an empty version means
    that the part is omitted.

    A part of rank 0 is never shortened; parts with a higher `rank` are shortened first.
    """

    name: str
    rank: int
    texts: tuple[str, ...]


def fit(parts: Sequence[Part], most: int, note: Callable[[Sequence[str]], str]) -> str:
    """Join the parts into a document of at most `most` bytes of UTF-8 (and therefore at most `most` characters).

    If the full document is too large, each part, in ascending order of rank, gets the longest version that still fits.
    The document then ends with the text that `note` returns for the names of the parts that were shortened or left out.
    Only parts of rank 0 are included regardless of their size.
    """
    texts = [part.texts[0] for part in parts]
    if len(_joined(texts).encode()) <= most:
        return _joined(texts)
    ranked = sorted((n for n, part in enumerate(parts) if part.rank and texts[n]), key=lambda n: (parts[n].rank, n))
    for number in ranked:
        texts[number] = ""
    room = most - len(_joined([*texts, note([parts[number].name for number in ranked])]).encode())
    for number in ranked:
        texts[number] = next((text for text in parts[number].texts if len(text.encode()) < room), "")
        room -= len(texts[number].encode()) + 1 if texts[number] else 0

    def document() -> str:
        names = [parts[number].name for number in sorted(ranked) if texts[number] != parts[number].texts[0]]
        return _joined([*texts, note(names)])

    for number in reversed(ranked):
        if len(document().encode()) <= most:
            break
        texts[number] = ""  # the note, which grows with each shortened part, may have made the document too large
    return document()


def _joined(texts: Sequence[str]) -> str:
    return "\n".join(filter(None, texts))
