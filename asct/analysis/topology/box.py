"""A part of a machine in a drawing."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Literal

Kind = Literal[
    "machine", "socket", "node", "die", "cache", "cluster", "core", "bridge", "controller", "drive", "interface", "gpu"
]


@dataclass(slots=True)
class Box:
    """A part of the machine, and the parts inside it.

    `title` contains the number of the part (`socket 0`), and `detail` the properties that similar parts share (`L2 1M,
    2 threads`).
    """

    kind: Kind
    title: str
    detail: str = ""
    cpus: frozenset[int] = frozenset()
    parts: list[Box] = field(default_factory=list)

    @property
    def shape(self) -> tuple[object, ...]:
        """A key that is equal for boxes that differ only in their numbers."""
        return self.kind, self.detail, len(self.cpus), tuple(part.shape for part in self.parts)


def each(part: Box) -> Iterator[Box]:
    """Yield a part and all parts inside it."""
    yield part
    for inner in part.parts:
        yield from each(inner)
