"""The requirements of a point: data for the preview, the preflight and the estimate."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import PurePosixPath
from typing import Final

SHORTEST_LIMIT_S: Final = 900.0
"""The time limit of a short point whose plan gives none."""
GUARD: Final = "guard"
"""The kernel that opens devices and files for the programs that use them (asct.sdk.guard)."""
_IN_MEMORY: Final = "/dev/shm"  # noqa: S108 - plans may name it; asct creates nothing there


def is_device_path(path: str) -> bool:
    """Whether a path is below /dev, in any spelling; /dev/shm contains regular files."""
    plain = PurePosixPath("/", path.lstrip("/"))
    return plain.is_relative_to("/dev") and not plain.is_relative_to(_IN_MEMORY)


@dataclass(frozen=True, slots=True)
class Scratch:
    """A file that `prepare` creates in the work folder of the job, and that is removed with it. `bytes` is its size."""

    name: str
    bytes: int


@dataclass(frozen=True, slots=True)
class Privilege:
    """A step of a point that needs root. `why` describes it ("reserves 2 MiB pages") and what is lost without it.

    `kernel` is the program that does it, run through sudo if the plan allows that; "" is the reading of facts.
    `needed`: the point cannot be measured without it.
    """

    why: str
    kernel: str = ""
    needed: bool = False


@dataclass(frozen=True, slots=True)
class Needs:
    """Requirements and costs of one repeat of one point.

    `kernels` are names; `tools` pairs a tool with the lowest version that will do ("" for any). `optional_tools` are
    used when present. `privileges` lists what root adds; that devices are opened by root goes without saying.
    `seconds` is the estimated time, `writes_bytes` what is written, per target path ("" means the scratch file).
    """

    kernels: tuple[str, ...] = ()
    tools: tuple[tuple[str, str], ...] = ()
    optional_tools: tuple[str, ...] = ()
    cpus: int = 1
    """CPUs that the account may use at once; a thread has one of its own."""
    memory_bytes: int = 0
    scratch: Scratch | None = None
    seconds: float = 0.0
    longest_s: float = 0.0
    """The longest that a repeat may take by its own rules (rounds until a state is steady): a time limit that the plan
    does not give is at least twice this."""
    writes_bytes: tuple[tuple[str, int], ...] = ()
    targets: tuple[str, ...] = ()
    """Files or devices of the plan that the point opens; `writes_bytes` lists those that it writes."""
    purges: tuple[str, ...] = ()
    """Of the targets, those that are wiped whole (format, discard, secure erase): they count as written."""
    may_overwrite: bool = False
    privileges: tuple[Privilege, ...] = ()

    @property
    def limit_s(self) -> float:
        """Time limit of a point if the plan sets none: twice its longest duration, at least 15 minutes."""
        return max(SHORTEST_LIMIT_S, 2 * self.longest_s, 2 * self.seconds + 60)

    @property
    def rights(self) -> tuple[Privilege, ...]:
        """Everything that requires root: `privileges`, and the devices among the targets, which guard opens."""
        written = {path for path, _ in self.writes_bytes} | set(self.purges)
        devices = [path for path in dict.fromkeys((*self.targets, *written)) if is_device_path(path)]
        return self.privileges + tuple(
            Privilege(f"{'writes' if path in written else 'reads'} the device {path}", GUARD, path in written)
            for path in devices
        )
