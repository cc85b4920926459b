"""The content of an xz file in bounded memory: its header may ask for a dictionary of any size."""

from __future__ import annotations

import io
import lzma
from typing import IO, Final

MOST_MEMORY: Final = 256 << 20
"""Bytes for unpacking. `xz -9` needs 65 MiB (xz(1), "Compression preset level"); a header may ask for 4 GiB."""
_CHUNK: Final = 1 << 16


class XzStream(io.RawIOBase):
    """Unpacks what `packed` has from its start on, several streams behind one another like xz(1); seeking backwards
    begins again. Raises lzma.LZMAError for what is torn, is no xz, or would take too much memory, and EOFError for what
    ends too early."""

    def __init__(self, packed: IO[bytes]) -> None:
        self._packed = packed
        self._begin()

    def _begin(self) -> None:
        self._packed.seek(0)
        self._at = 0
        self._ahead = b""
        self._stream: lzma.LZMADecompressor | None = self._next()

    def _next(self) -> lzma.LZMADecompressor | None:
        """For the next stream; zero bytes between streams are padding (xz file format 1.2.1, 2.2). None at the end."""
        while not (rest := self._ahead.lstrip(b"\0")):
            self._ahead = self._packed.read(_CHUNK)
            if not self._ahead:
                return None
        self._ahead = rest
        return lzma.LZMADecompressor(format=lzma.FORMAT_XZ, memlimit=MOST_MEMORY)

    def readable(self) -> bool:
        return True

    def seekable(self) -> bool:
        return True

    def tell(self) -> int:
        return self._at

    def seek(self, offset: int, whence: int = 0) -> int:
        if offset < self._at:
            self._begin()
        while self._at < offset and self._some(offset - self._at):
            pass
        return self._at

    def read(self, size: int = -1) -> bytes:
        parts: list[bytes] = []
        while size and (part := self._some(size)):
            parts.append(part)
            size -= len(part) if size > 0 else 0
        return b"".join(parts)

    def _some(self, most: int) -> bytes:
        """At most so many bytes, at least one; none at the end."""
        while self._stream is not None:
            if self._stream.eof:
                self._ahead = self._stream.unused_data
                self._stream = self._next()
                continue
            if self._stream.needs_input and not self._ahead:
                self._ahead = self._packed.read(_CHUNK)
                if not self._ahead:
                    raise EOFError("it ends too early")
            data = self._stream.decompress(self._ahead, min(most, _CHUNK) if most > 0 else _CHUNK)
            self._ahead = b""
            self._at += len(data)
            if data:
                return data
        return b""
