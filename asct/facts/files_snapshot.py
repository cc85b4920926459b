"""A snapshot of another machine, from a saved exchange or from files of /proc and /sys in a folder or tar archive.

On a live host, some facts come from commands: link targets, which no file contains, and the command line of the Linux
kernel, whose secrets are masked before it leaves the host. This module derives the same output from the files.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

from asct.diagnostics.model import Diagnostic
from asct.errors import UsageError
from asct.facts import archive
from asct.facts.filetree import FileTree, FolderTree, Path_, SubTree, paths, resolve, texts
from asct.facts.kernel import masked
from asct.facts.snapshot import KEPT, CommandOutput, Snapshot, kept
from asct.facts.sources import DUMPED, FILES, FOLDERS, FolderSet
from asct.facts.unknown import real

_PLACES = ("/sys/class/nvme/nvme*", "/sys/class/hwmon/hwmon*", "/sys/block/*", "/sys/class/net/*")
_OF_PCI = ("numa_node", "current_link_speed", "current_link_width", "max_link_speed", "max_link_width", "uevent")
_MOST = 2048
_START = re.compile(r"^btime ([0-9]{1,10})$", re.MULTILINE)
_OLDEST_S = 1e9
_VERSION = re.compile(r"Linux version (\S+) [^#]*(#.*)?", re.DOTALL)
_UNAME = (
    "/proc/sys/kernel/arch",
    "/proc/sys/kernel/hostname",
    "/proc/sys/kernel/osrelease",
    "/proc/sys/kernel/version",
    "/proc/version",
)


def emulated(tree: FileTree, left: dict[str, int]) -> dict[str, CommandOutput]:
    """Return the output of the commands that asct would run, as far as the files of a dump contain it. `left` counts
    omissions."""
    found = {
        "devices": "\n".join(_devices(tree, left)),
        "command-line": masked(_text(tree, "/proc/cmdline")),
        "uname": _uname(tree),
    }
    return {name: CommandOutput(0, text) for name, text in found.items() if text.strip()}


def _text(tree: FileTree, path: str) -> str:
    return next(iter(texts(tree, [tuple(path.strip("/").split("/"))]).values()), "")


def _uname(tree: FileTree) -> str:
    """Return the lines of `uname -m; uname -n; uname -r; uname -v`. The file that contains the first line exists since
    Linux 6.1."""
    arch, host, release, version, line = (_text(tree, path) for path in _UNAME)
    match = _VERSION.match(line)
    if match:
        release, version = release or match[1], version or (match[2] or "")
    return "\n".join((arch, host, release, version))


def taken(tree: FileTree) -> datetime | None:
    """Return the time at which the files were copied: boot time plus uptime. None if one of the two is missing.

    The boot time is `btime` in /proc/stat, in seconds since 1970; the uptime is in /proc/uptime (proc(5)).
    """
    start, age = _START.search(_text(tree, "/proc/stat")), real(_text(tree, "/proc/uptime").partition(" ")[0])
    if start is None or age is None or age > _OLDEST_S:
        return None
    return datetime.fromtimestamp(int(start[1]) + int(age), UTC)


def _devices(tree: FileTree, left: dict[str, int]) -> Iterator[str]:
    """Yield the lines that the command `devices` would print."""
    every = [path for pattern in _PLACES for path in paths(tree, pattern)]
    found = [path for path in every if resolve(tree, (*path, "device"))]
    if len(found) > _MOST:
        left["block_devices.node"] = len(found) - _MOST
    for at in found[:_MOST]:
        real = resolve(tree, at)
        if real is not None:
            yield "|".join([_absolute(at), _absolute(real), *_queues(tree, at), *_pci(tree, real)])


def _queues(tree: FileTree, at: Path_) -> tuple[str, str]:
    if at[:2] == ("sys", "block"):
        return str(len(list(paths(tree, "mq/*", at)))), ""
    if at[:3] == ("sys", "class", "net"):
        first, second = (str(len(list(paths(tree, f"queues/{way}-*", at)))) for way in ("rx", "tx"))
        return first, second
    return "", ""


def _pci(tree: FileTree, real: Path_) -> list[str]:
    """Return the properties of the nearest folder, going upward, that contains a configuration space."""
    while real and tree.entry((*real, "config")) is None:
        real = real[:-1]
    if not real:
        return []
    values = [next(iter(texts(tree, [(*real, name)]).values()), "") for name in _OF_PCI]
    return [value.partition("\n")[0] for value in values]


def _absolute(path: Path_) -> str:
    return "/" + "/".join(path)


COMMANDS_FOLDER = "commands"
MOST_FOLDERS = 20_000
DEEPEST = 8
_TOPS = {"proc", "sys", COMMANDS_FOLDER}
_STATUS = re.compile(r"\n?\[status (\d{1,3})\]\Z")
_EXHAUSTED = "only part of it was read: it contains too many names, or its links form cycles or lead to the same files"
_WAY_OUT = "pass a folder or a tar (gz, bz2, xz) with a machine's /proc and /sys, a run, or its `snapshot.txt`"


def load(place: Path) -> Snapshot:
    """Load the snapshot of the machine whose files are at `place`. Raises UsageError if there is none.

    The snapshot contains the files that asct would read from a host, at any depth in the dump. The output of commands
    may be in `commands/<name>.txt`, with `[status N]` as the last line.
    """
    try:
        if place.is_dir():
            tree: FileTree = FolderTree(place)
            return _machine(place, tree, [])
        if not place.is_file():
            raise _refused(place, "it is neither a file nor a folder" if place.exists() else "it does not exist")
        with place.open("rb") as file:
            found = kept(file.read(8 << 20).decode("utf-8", "replace"))
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
        named = ", ".join("/".join(top) or "." for top in tops[:5])
        raise _refused(place, f"it contains several machines: {named}")
    machine = SubTree(tree, tops[0])
    if KEPT in machine.names(()) and (found := kept("".join(texts(machine, [(KEPT,)]).values()))):
        return replace(found, notes=tuple(notes))
    left: dict[str, int] = {}
    commands = emulated(machine, left) | _commands(machine)
    files = texts(machine, _wanted(machine, left))
    if machine.exhausted:
        notes = [*notes, _EXHAUSTED]
    return Snapshot(files, commands, left, tuple(notes), taken(machine))


def _wanted(tree: FileTree, left: dict[str, int]) -> Iterator[Path_]:
    for pattern in FILES:
        yield from paths(tree, pattern)
    for folders in (*FOLDERS, *DUMPED):
        yield from _of_folders(tree, folders, left)


def _tops(tree: FileTree) -> list[Path_]:
    """Return the folders that contain the files of a machine. None of them contains another."""
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


def _of_folders(tree: FileTree, folders: FolderSet, left: dict[str, int]) -> Iterator[Path_]:
    found = [path for pattern in folders.patterns for path in paths(tree, pattern)]
    if len(found) > folders.most:
        left[folders.field] = len(found) - folders.most
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
