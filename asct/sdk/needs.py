"""The resources required by a point, as data for preview, preflight and estimate."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import PurePosixPath
from typing import Final, NamedTuple

SHORTEST_LIMIT_S: Final = 900.0
"""Time limit of a short point, in seconds, if the plan sets none."""
GUARD: Final = "guard"
"""The measurement kernel that opens devices and files for the programs that use them (asct.sdk.guard)."""
_IN_MEMORY: Final = "/dev/shm"  # noqa: S108 - plans may name it; asct creates nothing there


def is_device_path(path: str) -> bool:
    """Return whether a path is below /dev, in any spelling. /dev/shm is excluded, because it contains regular files."""
    plain = PurePosixPath("/", path.lstrip("/"))
    return plain.is_relative_to("/dev") and not plain.is_relative_to(_IN_MEMORY)


class Scratch(NamedTuple):
    """A file that `prepare` creates in the job's work folder. It is removed together with the folder."""

    name: str
    bytes: int


@dataclass(frozen=True, slots=True)
class Privilege:
    """An operation of a point that requires root. `why` describes it ("reserves 2 MiB pages") and what happens without
    root.

    `kernel` is the measurement kernel that performs it, through sudo if the plan allows it; "" means that root is
    required to read facts. `needed` means that the point cannot be measured without it.
    """

    why: str
    kernel: str = ""
    needed: bool = False


@dataclass(frozen=True, slots=True)
class Needs:
    """The resources required for one repeat of one point, and the costs of that repeat.

    `kernels` contains kernel names; `tools` pairs each tool with the lowest sufficient version ("" for any).
    `optional_tools` are used if present. `privileges` lists the operations that require root, except opening devices,
    which is implied. `seconds` is an estimate; `writes_bytes` is the number of bytes that a fast drive writes to each
    target path ("" is the temporary file).
    """

    kernels: tuple[str, ...] = ()
    tools: tuple[tuple[str, str], ...] = ()
    optional_tools: tuple[str, ...] = ()
    cpus: int = 1
    """Number of CPUs that the account must be able to use at the same time, one per thread."""
    memory_bytes: int = 0
    scratch: Scratch | None = None
    seconds: float = 0.0
    longest_s: float = 0.0
    """Maximum duration in seconds of a repeat without a fixed duration, such as one that runs rounds until the state is
    steady. If the plan sets no time limit, the limit is at least twice this value."""
    writes_bytes: tuple[tuple[str, int], ...] = ()
    likely_bytes: tuple[tuple[str, int], ...] | None = None
    """The number of bytes that an ordinary drive writes to each target path. None means that it is the same as
    `writes_bytes`."""
    targets: tuple[str, ...] = ()
    """Files and devices named in the plan that the point opens; `writes_bytes` lists those that it writes."""
    purges: tuple[str, ...] = ()
    """Targets that are wiped completely (format, discard, secure erase). They are treated as written."""
    may_overwrite: bool = False
    privileges: tuple[Privilege, ...] = ()

    @property
    def likely(self) -> tuple[tuple[str, int], ...]:
        """The likely number of bytes written to each target path, never more than `writes_bytes`."""
        most = dict(self.writes_bytes)
        likely = self.writes_bytes if self.likely_bytes is None else self.likely_bytes
        return tuple((path, min(number, most.get(path, 0))) for path, number in likely)

    @property
    def limit_s(self) -> float:
        """The time limit of a point in seconds if the plan sets none: twice its longest duration, but at least 15
        minutes."""
        return max(SHORTEST_LIMIT_S, 2 * self.longest_s, 2 * self.seconds + 60)

    @property
    def rights(self) -> tuple[Privilege, ...]:
        """All operations that require root: those in `privileges`, and the opening of devices among the targets."""
        written = {path for path, _ in self.writes_bytes} | set(self.purges)
        devices = [path for path in dict.fromkeys((*self.targets, *written)) if is_device_path(path)]
        return self.privileges + tuple(
            Privilege(f"{'writes' if path in written else 'reads'} the device {path}", GUARD, path in written)
            for path in devices
        )
