"""Mounted file systems, from /proc/self/mountinfo (proc(5)) and df."""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import lru_cache

from asct.facts.snapshot import Snapshot
from asct.facts.sources import SECRET_OPTION
from asct.facts.unknown import LATE, UnknownFacts, whole
from asct.resources import data
from asct.sdk.facts import Mount

_OF_THE_KERNEL = frozenset(data(__file__, "kernel.yaml")["file_systems"].split())
_UNSIZED = "not reported by df (network file systems are not queried, because they might not respond)"
_CUT = "the output of df was truncated, because there are too many file systems"
_ADDRESS = re.compile(r"(?:client|mount)?addr=.*")
_SERVER = re.compile(r"\d+(?:\.\d+){3}|\[[0-9a-fA-F:.%]+\]", re.ASCII)
_LOGIN = re.compile(r"//[^ ]*@")
_SECRET = re.compile(SECRET_OPTION)
_OCTAL = re.compile(r"\\([0-7]{3})")
_DF = re.compile(
    r"(?P<source>.*?)\s+(?P<size>\d{1,18})\s+\d{1,18}\s+(?P<free>\d{1,18})\s+(?:\d+%|-)\s(?P<target>/.*)",
    re.ASCII,
)


@dataclass(frozen=True, slots=True)
class MountLine:
    """A line of mountinfo; `device` is `major:minor`."""

    device: str
    target: str
    options: tuple[str, ...]
    type: str
    source: str


def lines(snapshot: Snapshot) -> tuple[MountLine, ...]:
    """Return all mounts in mount order, skipping malformed lines."""
    return _lines(snapshot.text("/proc/self/mountinfo") or "")


@lru_cache(maxsize=4)
def _lines(text: str) -> tuple[MountLine, ...]:
    """Parse mountinfo. Two facts of a host are derived from it."""
    return tuple(line for one in veiled(text).split("\n") if (line := _line(one)))


def veiled(text: str) -> str:
    """Mask credentials, and option values that may be secrets, in the same way as pack.awk does on the host."""
    return _SECRET.sub(r"\1=***", _LOGIN.sub("//***@", text))


def _line(text: str) -> MountLine | None:
    left, dash, right = text.partition(" - ")
    before, after = left.split(" "), right.split(" ")
    if not dash or len(before) < 6 or len(after) < 2:
        return None
    options = dict.fromkeys([*before[5].split(","), *(after[2].split(",") if len(after) > 2 else [])])
    return MountLine(
        device=before[2],
        target=_plain(before[4]),
        options=tuple(option for option in options if option),
        type=after[0],
        source=_plain(after[1]),
    )


def _plain(text: str) -> str:
    """Decode escape sequences, such as `\\040` for a space."""
    return _OCTAL.sub(lambda match: chr(int(match[1], 8)), text)


def mounts(snapshot: Snapshot, gaps: UnknownFacts) -> list[Mount]:
    """Return all mounts except those of pseudo file systems such as proc. If several mounts share a mount point, only
    the topmost is returned.

    The sizes of network file systems are not queried, because a query blocks if the server is down. Server addresses
    are masked, because they identify other machines.
    """
    if snapshot.text("/proc/self/mountinfo") is None:
        gaps.note("mounts", "/proc/self/mountinfo is missing")
    topmost = {line.target: line for line in lines(snapshot)}
    sizes, why = _sizes(snapshot)
    shared = {line.device: sizes[target] for target, line in topmost.items() if target in sizes}
    visible = []
    for line in topmost.values():
        if line.type in _OF_THE_KERNEL or line.target.startswith(("/proc/", "/sys/")):
            continue
        size, free = sizes.get(line.target) or shared.get(line.device, (None, None))
        if size is None:
            gaps.note(f"mounts.{line.target}.size_bytes", why)
        visible.append(
            Mount(
                source=_SERVER.sub("***", line.source) if re.search(":/|^//", line.source) else line.source,
                target=line.target,
                type=line.type,
                options=[option for option in line.options if not _ADDRESS.fullmatch(option)],
                size_bytes=size,
                free_bytes=free,
            )
        )
    return visible


def _sizes(snapshot: Snapshot) -> tuple[dict[str, tuple[int | None, int | None]], str]:
    """Return the size and the available bytes for each mount point (POSIX df -P), and the reason why they are unknown
    for other mounts.

    df lists each device once. If it fails for one file system, it still lists the others.
    """
    answer = snapshot.commands.get("space")
    rows = [row for line in (answer.text if answer else "").split("\n") if (row := _DF.fullmatch(line))]
    sizes = {row["target"]: (_bytes(row["size"]), _bytes(row["free"])) for row in rows}
    if snapshot.late("space"):
        return sizes, f"df {LATE}"
    return sizes, _CUT if "mounts.size_bytes" in snapshot.omitted else _UNSIZED


def _bytes(kib: str) -> int | None:
    value = whole(kib)
    return None if value is None else value * 1024
