"""The resources that a point requires. Previews, preflight and estimates use this data."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import PurePosixPath
from typing import Final, NamedTuple

from asct.values.version import version_key

SHORTEST_LIMIT_S: Final = 900.0
"""Minimum time limit for a point, in seconds, if the plan sets none."""
GUARD: Final = "guard"
"""The measurement kernel that opens devices and files for the programs that use them (asct.sdk.guard)."""
_IN_MEMORY: Final = "/dev/shm"  # noqa: S108 - plans may name it; asct creates nothing there


def is_device_path(path: str) -> bool:
    """Return whether a path is below /dev, however the path is spelled. Paths below /dev/shm do not count, because they
    are regular files."""
    plain = PurePosixPath("/", path.lstrip("/"))
    return plain.is_relative_to("/dev") and not plain.is_relative_to(_IN_MEMORY)


class Scratch(NamedTuple):
    """A file that `prepare` creates in the job's work folder. It is removed together with the folder."""

    name: str
    bytes: int


@dataclass(frozen=True, slots=True)
class Privilege:
    """An operation that a point performs as root. `why` describes the operation ("reserves 2 MiB pages") and what
    happens without root.

    `kernel` is the measurement kernel that performs it, through sudo if the plan allows it; "" means that root is
    required to read facts. `needed` means that the point cannot be measured without the operation.
    """

    why: str
    kernel: str = ""
    needed: bool = False


@dataclass(frozen=True, slots=True)
class Needs:
    """The resources that one repeat of a point requires, and its costs.

    `kernels` contains kernel names; `tools` pairs each tool with its minimum version ("" for any). `optional_tools` are
    used if present. `privileges` lists the operations that require root. Opening devices is implied and not listed.
    `seconds` is an estimate of the duration. `writes_bytes` is the number of bytes written to each target path ("" is
    the temporary file) if the drive is fast.
    """

    kernels: tuple[str, ...] = ()
    tools: tuple[tuple[str, str], ...] = ()
    optional_tools: tuple[str, ...] = ()
    cpus: int = 1
    """The number of CPUs that the account must be able to use at the same time, one for each thread."""
    memory_bytes: int = 0
    scratch: Scratch | None = None
    seconds: float = 0.0
    longest_s: float = 0.0
    """Maximum duration, in seconds, of a repeat whose duration is not fixed, such as one that runs rounds until the
    state is steady. If the plan sets no time limit, the limit is at least twice this value."""
    writes_bytes: tuple[tuple[str, int], ...] = ()
    likely_bytes: tuple[tuple[str, int], ...] | None = None
    """The number of bytes written to each target path on an ordinary drive, or None if it equals `writes_bytes`."""
    targets: tuple[str, ...] = ()
    """Files and devices named in the plan that the point opens; `writes_bytes` lists those that it writes."""
    purges: tuple[str, ...] = ()
    """Targets that are erased completely (format, discard, secure erase). They are treated as written."""
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
        """The time limit, in seconds, that applies to a point if the plan sets none: twice the point's longest
        duration, but at least 15 minutes."""
        return max(SHORTEST_LIMIT_S, 2 * self.longest_s, 2 * self.seconds + 60)

    @property
    def rights(self) -> tuple[Privilege, ...]:
        """All operations that require root: those in `privileges`, and opening each target that is a device."""
        writes = {path for path, _ in self.writes_bytes} | set(self.purges)
        devices = [path for path in dict.fromkeys((*self.targets, *writes)) if is_device_path(path)]
        return self.privileges + tuple(
            Privilege(f"{'writes to' if path in writes else 'reads'} the device {path}", GUARD, path in writes)
            for path in devices
        )


@dataclass(slots=True)
class JobNeeds:
    """The combined needs of all points in a job, over all repeats and warm-ups.

    `writes` is the estimated maximum number of bytes written to each target path ("" is the temporary file), and
    `likely_writes` is the likely number. The two numbers differ because a drive's speed is unknown before the
    measurement.
    """

    seconds: float = 0.0
    """The likely duration of the job, in seconds."""
    longest_s: float = 0.0
    """The longest possible duration of the job, in seconds. It differs from `seconds` only if the number of rounds
    depends on the drive."""
    memory_bytes: int = 0
    kernels: dict[str, None] = field(default_factory=dict)
    tools: dict[str, str] = field(default_factory=dict)
    """The highest required version of each tool."""
    optional_tools: dict[str, None] = field(default_factory=dict)
    scratch: dict[str, int] = field(default_factory=dict)
    targets: dict[str, bool] = field(default_factory=dict)
    """For each target, whether a point writes to it although `overwrite` is not set."""
    writes: dict[str, int] = field(default_factory=dict)
    likely_writes: dict[str, int] = field(default_factory=dict)
    purges: dict[str, None] = field(default_factory=dict)
    rights: dict[Privilege, None] = field(default_factory=dict)

    @property
    def written_paths(self) -> tuple[str, ...]:
        """The targets named in the plan that a point writes or purges."""
        return tuple(path for path in dict.fromkeys((*self.writes, *self.purges)) if path)

    @classmethod
    def of(cls, needs: Iterable[Needs], times: int = 1, timeout_s: float | None = None) -> JobNeeds:
        """Combine the needs of points.

        Each point is measured `times` times; `timeout_s` is the time limit that the plan sets, if any.
        """
        total = cls()
        for one in needs:
            total._add(one, times, timeout_s)
        return total

    def _add(self, one: Needs, times: int, timeout_s: float | None) -> None:
        self.seconds += one.seconds * times
        self.longest_s += max(one.seconds, min(one.longest_s, timeout_s or one.longest_s)) * times
        self.memory_bytes = max(self.memory_bytes, one.memory_bytes)
        for name, version in one.tools:
            if version_key(version) >= version_key(self.tools.get(name, "")):
                self.tools[name] = version
        self.kernels.update(dict.fromkeys(one.kernels))
        self.optional_tools.update(dict.fromkeys(one.optional_tools))
        self.rights.update(dict.fromkeys(one.rights))
        if one.scratch is not None:
            self.scratch[one.scratch.name] = max(self.scratch.get(one.scratch.name, 0), one.scratch.bytes)
        for total, found in ((self.writes, one.writes_bytes), (self.likely_writes, one.likely)):
            for path, number in found:
                total[path] = total.get(path, 0) + number * times
        self.purges.update(dict.fromkeys(one.purges))
        writes = {path for path, _ in one.writes_bytes if path} | set(one.purges)
        for path in (*one.targets, *sorted(writes)):
            careful = path in writes and not one.may_overwrite
            self.targets[path] = self.targets.get(path, False) or careful
