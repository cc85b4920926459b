"""Files that arrive from a host. A failure to write them here is this machine's, not the host's: StoreError."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from asct.errors import StoreError
from asct.hosts import problems


def make_folder(folder: Path) -> None:
    """Make a folder for what arrives; raises StoreError."""
    if not folder.is_dir():
        try:
            folder.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise _refused(folder, error) from error


def save(target: Path, blocks: Iterable[bytes]) -> None:
    """Write `blocks` to `target`; raises StoreError when that fails, and whatever `blocks` raises as it is."""
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
    return StoreError(problems.cannot_write_here(str(path), error.strerror or str(error)))
