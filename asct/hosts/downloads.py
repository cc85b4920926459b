"""Files and lines that arrive from a host. Failing to write them on this machine raises StoreError, not HostError."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from pathlib import Path

from asct.errors import StoreError
from asct.hosts import errors


def make_folder(folder: Path) -> None:
    """Make a folder for results; raises StoreError."""
    if not folder.is_dir():
        try:
            folder.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise _refused(folder, error) from error


def save(target: Path, blocks: Iterable[bytes]) -> None:
    """Write `blocks` to `target`. Raises StoreError when that fails, and passes on any exception of `blocks`."""
    try:
        out = target.open("wb", buffering=0)
    except OSError as error:
        raise _refused(target, error) from error
    with out:
        for block in blocks:
            view = memoryview(block)
            while view:
                try:
                    view = view[out.write(view) :]
                except OSError as error:
                    raise _refused(target, error) from error


def _refused(path: Path, error: OSError) -> StoreError:
    return StoreError(errors.cannot_write_here(str(path), error.strerror or str(error)))


class LineSplitter:
    """Passes each complete line to `on_line`; `finish` passes a last one without a line feed."""

    def __init__(self, on_line: Callable[[str], None]) -> None:
        self._on_line = on_line
        self._rest = b""
        self.offset = 0
        """Bytes of the file processed so far."""

    def take(self, data: bytes) -> None:
        """Process the next bytes."""
        self.offset += len(data)
        *lines, self._rest = (self._rest + data).split(b"\n")
        for line in lines:
            self._on_line(line.decode("utf-8", "replace"))

    def finish(self, whole: bytes) -> None:
        """Process the rest of the complete file `whole`."""
        self.take(whole[self.offset :])
        if self._rest:
            self._on_line(self._rest.decode("utf-8", "replace"))
            self._rest = b""
