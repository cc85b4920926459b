"""What a point asks of a host: data for the preview, the preflight and the estimate."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from asct.sdk.guard import KERNEL, is_device_path

SHORTEST_LIMIT_S: Final = 900.0
"""The time limit of a short point whose plan gives none."""


@dataclass(frozen=True, slots=True)
class Scratch:
    """A file that `prepare` makes in the job's work folder and that goes with it. `bytes` is its size."""

    name: str
    bytes: int


@dataclass(frozen=True, slots=True)
class Privilege:
    """What only root can do for a point. `why` says it in words ("reserves 2 MiB pages"), with what is lost without.

    `kernel` is the program that does it, run through sudo where the plan says so; "" is the reading of the facts.
    `needed`: without it the point cannot be measured at all.
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
    """Files or devices named by the user that the point opens; `writes_bytes` says which of them it writes."""
    purges: tuple[str, ...] = ()
    """Of the targets, those that are wiped whole (format, discard, secure erase): they count as written."""
    may_overwrite: bool = False
    privileges: tuple[Privilege, ...] = ()

    @property
    def limit_s(self) -> float:
        """The time limit of a point whose plan gives none: twice what it may take, at least 15 minutes."""
        return max(SHORTEST_LIMIT_S, 2 * self.longest_s, 2 * self.seconds + 60)

    @property
    def rights(self) -> tuple[Privilege, ...]:
        """All that root is wanted for: `privileges`, and the devices among the targets, which guard opens."""
        written = {path for path, _ in self.writes_bytes} | set(self.purges)
        devices = [path for path in dict.fromkeys((*self.targets, *written)) if is_device_path(path)]
        return self.privileges + tuple(
            Privilege(f"{'writes' if path in written else 'reads'} the device {path}", KERNEL, path in written)
            for path in devices
        )
