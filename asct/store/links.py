"""Raw files of one run in the folder of another, without taking their space twice."""

from __future__ import annotations

import os
import shutil
from collections.abc import Collection, Iterator
from contextlib import contextmanager
from pathlib import Path

from asct.store.documents import store_error


def link_files(source: Path, target: Path, leave_out: Collection[str] = ()) -> None:
    """Put the regular files below `source` into the folder `target`: as hard links, or as copies where those fail.

    Symbolic links and devices are left out, and the files of `source` itself that are named in `leave_out`. Raises
    OSError for `target`, and StoreError (E515) for what cannot be read in `source`.
    """
    with _reading(source), os.scandir(source) as found:
        entries = [entry for entry in found if entry.name not in leave_out]
    for entry in entries:
        place = target / entry.name
        if entry.is_dir(follow_symlinks=False):
            place.mkdir()
            link_files(Path(entry.path), place)
        elif entry.is_file(follow_symlinks=False):
            _link(Path(entry.path), place)


def _link(source: Path, target: Path) -> None:
    try:
        target.hardlink_to(source)
    except OSError:
        with _reading(source):
            stream = source.open("rb")
        with stream, target.open("xb") as copy:
            shutil.copyfileobj(stream, copy)


@contextmanager
def _reading(path: Path) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        reason = (error.strerror or str(error)).lower()
        raise store_error("E515", f"{path}: cannot be read: {reason}", "check the permissions") from error
