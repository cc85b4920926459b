"""Write files and lines that arrive from a host.

If writing fails on this machine, the functions raise StoreError, not HostError.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path

from asct.errors import StoreError
from asct.hosts import errors


@contextmanager
def _writing(path: Path) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        raise StoreError(errors.problem("cannot_write_here", str(path), detail=error.strerror or str(error))) from error


def make_folder(folder: Path) -> None:
    """Create a folder for results. Raises StoreError."""
    with _writing(folder):
        folder.mkdir(parents=True, exist_ok=True)


def save(target: Path, blocks: Iterable[bytes]) -> None:
    """Write `blocks` to `target`. Raises StoreError if writing fails; propagates exceptions raised by `blocks`."""
    with _writing(target):
        out = target.open("wb", buffering=0)
    with out:
        for block in blocks:
            view = memoryview(block)
            while view:
                with _writing(target):
                    view = view[out.write(view) :]


def first_blocks(read: Callable[[int], bytes], size: int, limit: int) -> Iterator[bytes]:
    """Yield the first `size` bytes of an open file that may still be growing, in blocks of at most `limit` bytes."""
    while size > 0 and (block := read(min(limit, size))):
        size -= len(block)
        yield block


class LineSplitter:
    """Passes each complete line to `on_line`. `finish` also passes a last line without a line feed."""

    def __init__(self, on_line: Callable[[str], None]) -> None:
        self._on_line = on_line
        self._rest = b""
        self.offset = 0
        """Number of bytes of the file that have been processed."""

    def take(self, data: bytes) -> None:
        """Process the next bytes."""
        self.offset += len(data)
        *lines, self._rest = (self._rest + data).split(b"\n")
        for line in lines:
            self._on_line(line.decode("utf-8", "replace"))

    def finish(self, content: bytes) -> None:
        """Process the rest of the file. `content` is that of the whole file, including what has been processed."""
        self.take(content[self.offset :])
        if self._rest:
            self._on_line(self._rest.decode("utf-8", "replace"))
            self._rest = b""
