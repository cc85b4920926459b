"""Load a snapshot of another machine from a saved exchange, or from a folder or tar archive that contains the machine's
/proc and /sys files."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

from asct.diagnostics.model import Diagnostic
from asct.errors import UsageError
from asct.facts import archive
from asct.facts.emulated import emulated, text_of
from asct.facts.filetree import FileTree, FolderTree, Path_, SubTree, paths, resolve, texts
from asct.facts.groups import roots
from asct.facts.snapshot import KEPT, CommandOutput, Snapshot, stored_snapshot
from asct.facts.sources import DUMPED, FILES, FOLDERS, GROUPS, FolderSet
from asct.facts.unknown import real

_START = re.compile(r"^btime ([0-9]{1,10})$", re.MULTILINE)
_OLDEST_S = 1e9
_MOST_ROOTS = 4


def copied_at(tree: FileTree) -> datetime | None:
    """Return the time at which the files were copied: the boot time plus the uptime, or None if either is missing.

    The boot time is `btime` in /proc/stat, in seconds since 1970; the uptime is in /proc/uptime (proc(5)).
    """
    start, age = _START.search(text_of(tree, "/proc/stat")), real(text_of(tree, "/proc/uptime").partition(" ")[0])
    if start is None or age is None or age > _OLDEST_S:
        return None
    return datetime.fromtimestamp(int(start[1]) + int(age), UTC)


COMMANDS_FOLDER = "commands"
MOST_FOLDERS = 20_000
DEEPEST = 8
_TOPS = {"proc", "sys", COMMANDS_FOLDER}
_STATUS = re.compile(r"\n?\[status (\d{1,3})\]\Z")
_EXHAUSTED = (
    "only part of it was read: it contains too many names, its links form cycles, or many links lead to the same files"
)
_WAY_OUT = (
    "pass a run, its `snapshot.txt`, or a folder or tar archive (also gz, bz2 or xz) that contains a machine's /proc "
    "and /sys"
)


def load(place: Path) -> Snapshot:
    """Load the snapshot of the machine whose files are at `place`. Raises UsageError if there is none.

    The snapshot contains the files that asct would read from a host. In the dump, these files may be at any depth. The
    output of a command may be in `commands/<name>.txt`, with `[status N]` as the last line.
    """
    try:
        if place.is_dir():
            tree: FileTree = FolderTree(place)
            return _machine(place, tree, [])
        if not place.is_file():
            raise _refused(place, "it is neither a file nor a folder" if place.exists() else "it does not exist")
        with place.open("rb") as file:
            found = stored_snapshot(file.read(8 << 20).decode("utf-8", "replace"))
        return found or _machine(place, *archive.read(place))
    except OSError as error:
        raise _refused(place, error.strerror or str(error)) from error


def _refused(place: Path, why: str) -> UsageError:
    return UsageError(Diagnostic("E920", f"{place} is not a snapshot of a machine: {why}", hint=_WAY_OUT))


def _machine(place: Path, tree: FileTree, notes: list[str]) -> Snapshot:
    tops = _tops(tree)
    if not tops:
        raise _refused(place, "; ".join([*notes, "it contains neither proc/ nor sys/"]))
    if len(tops) > 1:
        names = ", ".join("/".join(top) or "." for top in tops[:5])
        raise _refused(place, f"it contains files from several machines: {names}")
    machine = SubTree(tree, tops[0])
    if KEPT in machine.names(()) and (found := stored_snapshot("".join(texts(machine, [(KEPT,)]).values()))):
        return replace(found, notes=tuple(notes))
    omitted: dict[str, int] = {}
    commands = emulated(machine, omitted) | _commands(machine)
    files = texts(machine, _needed_files(machine, omitted))
    if machine.exhausted:
        notes = [*notes, _EXHAUSTED]
    return Snapshot(files, commands, omitted, tuple(notes), copied_at(machine), dump=True)


def _needed_files(tree: FileTree, omitted: dict[str, int]) -> Iterator[Path_]:
    for pattern in FILES:
        yield from paths(tree, pattern)
    table = text_of(tree, "/proc/self/mounts") or text_of(tree, "/proc/mounts")
    tops = dict.fromkeys(["/sys/fs/cgroup", *sorted(roots(table).values())])
    outer = [top for top in tops if not any(top.startswith(f"{one}/") for one in tops)]
    below = tuple(f"{top}{pattern}" for top in outer[:_MOST_ROOTS] for pattern in GROUPS.patterns)
    for folders in (*FOLDERS, *DUMPED, replace(GROUPS, patterns=below)):
        yield from _of_folders(tree, folders, omitted)


def _tops(tree: FileTree) -> list[Path_]:
    """Return the folders that contain a machine's files. None of these folders is inside another."""
    found: list[Path_] = []
    ahead: list[Path_] = [()]
    for _ in range(MOST_FOLDERS):
        if not ahead:
            break
        folder = ahead.pop(0)
        names = tree.names(folder)
        inner = [name for name in names if (entry := tree.entry((*folder, name))) and entry.kind == "folder"]
        if KEPT in names or not _TOPS.isdisjoint(inner):
            found.append(folder)
        elif len(folder) < DEEPEST:
            ahead += [(*folder, name) for name in inner]
    return found


def _of_folders(tree: FileTree, folders: FolderSet, omitted: dict[str, int]) -> Iterator[Path_]:
    found = [path for pattern in folders.patterns for path in paths(tree, pattern)]
    if len(found) > folders.most:
        omitted[folders.field] = len(found) - folders.most
        found = sorted(found, key=lambda path: resolve(tree, (*path, "device")) is None)[: folders.most]
    for folder in found:
        for name in folders.files:
            yield from paths(tree, name, folder)


def _commands(tree: FileTree) -> dict[str, CommandOutput]:
    found = {}
    for path, text in texts(tree, paths(tree, f"/{COMMANDS_FOLDER}/*.txt")).items():
        status = _STATUS.search(text)
        name = path.rpartition("/")[2].removesuffix(".txt")
        found[name] = CommandOutput(int(status[1]) if status else 255, text[: status.start()] if status else text)
    return found
