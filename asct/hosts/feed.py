"""Bytes of a growing file to whole lines."""

from __future__ import annotations

from collections.abc import Callable


class LineFeed:
    """Hands each line to `on_line` once it is complete; `finish` hands over a last one without a line feed."""

    def __init__(self, on_line: Callable[[str], None]) -> None:
        self._on_line = on_line
        self._rest = b""
        self.offset = 0
        """How many bytes of the file were taken."""

    def take(self, data: bytes) -> None:
        """The next bytes."""
        self.offset += len(data)
        *lines, self._rest = (self._rest + data).split(b"\n")
        for line in lines:
            self._on_line(line.decode("utf-8", "replace"))

    def finish(self, whole: bytes) -> None:
        """The end: `whole` is the complete file, of which a part may have been taken already."""
        self.take(whole[self.offset :])
        if self._rest:
            self._on_line(self._rest.decode("utf-8", "replace"))
            self._rest = b""
