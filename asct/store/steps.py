"""The finished steps of a repeat of hours, noted one by one, so that it can go on behind the last of them.

A line is written once the step's own files are on the disk, and holds their hashes. Of what a crash left, only what is
whole counts: the lines up to the first that is torn, or whose files are not the ones that were noted.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterable
from pathlib import Path

from asct.errors import StoreError
from asct.store.documents import current, inside, parse_object, read_text, validated
from asct.store.files import sync_folder
from asct.store.layout import RunLayout
from asct.store.model import StepNote


def finished_steps(layout: RunLayout, repeat: Path) -> list[StepNote]:
    """The steps noted for the repeat in the folder `repeat`, first to last; raises StoreError (E508, E510, E515)."""
    path = inside(layout.root, layout.relative(layout.steps(repeat)))
    if not path.exists():
        return []
    found = []
    for number, line in enumerate(read_text(path).split("\n")[:-1], start=1):
        try:
            place = f"{path}:{number}"
            note = validated(StepNote, current(parse_object(line, place), "step", place), place)
            whole = hashes(inside(layout.root, note.folder), note.files) == note.files
        except (StoreError, OSError):
            break
        if not whole:
            break
        found.append(note)
    return found


def hashes(folder: Path, names: Iterable[str]) -> dict[str, str]:
    """SHA-256 of each file; raises OSError, and StoreError (E510) for a name that leaves the folder."""
    return {name: hashlib.sha256(inside(folder, name).read_bytes()).hexdigest() for name in names}


def sync_files(root: Path, folder: Path, names: Iterable[str]) -> None:
    """Flush files of `folder`, and the folders from it up to `root`; raises OSError."""
    for name in names:
        descriptor = os.open(folder / name, os.O_RDONLY | os.O_NOFOLLOW)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)
    while folder != root:
        sync_folder(folder)
        folder = folder.parent
