"""Documents whose size is limited: parts that have briefer versions, and a note on what was shortened."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Part:
    """A part of a document. `texts` are its versions, from the full one to the briefest; an empty text is omitted.

    `rank` 0 is never shortened; parts with a higher rank are shortened first.
    """

    name: str
    rank: int
    texts: tuple[str, ...]


def fit(parts: Sequence[Part], most: int, note: Callable[[Sequence[str]], str]) -> str:
    """Return the document, one part after the other, with at most `most` bytes in UTF-8 (and therefore at most `most`
    characters).

    If the full document is too large, parts are replaced with briefer versions: the parts with the highest rank first,
    and the last of them first. `note` returns the end of the document, given the names of these parts. Only parts of
    rank 0 remain if nothing else is sufficient.
    """
    versions = [0] * len(parts)
    sizes = [len(part.texts[0].encode()) + 1 for part in parts]
    order = sorted(
        (n for n, part in enumerate(parts) if part.rank and part.texts[0]), key=lambda n: (-parts[n].rank, -n)
    )
    for number in (n for n in order for _ in parts[n].texts):
        end = _note(parts, versions, note)
        if sum(sizes) + len(end.encode()) <= most:
            break
        versions[number] += 1
        sizes[number] = len(_text(parts[number], versions[number]).encode()) + 1
    texts = [_text(part, version) for part, version in zip(parts, versions, strict=True)]
    return "\n".join(filter(None, [*texts, _note(parts, versions, note)]))


def _text(part: Part, version: int) -> str:
    """Return a version of a part; empty if there is none, so that the part is left out."""
    return part.texts[version] if version < len(part.texts) else ""


def _note(parts: Sequence[Part], versions: Sequence[int], note: Callable[[Sequence[str]], str]) -> str:
    names = [part.name for part, version in zip(parts, versions, strict=True) if version]
    return note(names) if names else ""
