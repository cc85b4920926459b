"""Steps that run under the `guard` kernel. guard checks and holds the targets of a program, runs the program, and
meanwhile records drive counters.

Every fio process runs under guard. guard reads a file that contains one line per target; asct.instruments.guard_output
parses guard's output. kernels/guard/README.md describes both formats.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Final, Literal

from asct.sdk.needs import GUARD, is_device_path
from asct.sdk.step import Kernel, Step

TARGETS_FILE: Final = "targets"
FIRST_HANDLE: Final = 100
"""The program inherits the target with index i as the file descriptor FIRST_HANDLE + i."""

_NO_SERIAL: Final = "-"
_TARGETS: Final = ("--targets", TARGETS_FILE)

Access = Literal["read", "write"]


@dataclass(frozen=True, slots=True)
class Consent:
    """The consent to overwrite one device on one host, with the values as written in the plan's `safety.destroys`."""

    device: str
    serial: str
    overwrite: bool = False
    """Whether content with a known signature (file system, partition table, RAID member) may be destroyed as well."""
    reason: str = ""


@dataclass(frozen=True, slots=True)
class Target:
    """A file or device that a program opens.

    For a device that is written to, `serial` and `overwrite` come from the consent. `dirty` means that this job has
    already written to the target, so that any content without a known signature comes from the job itself.
    """

    path: str
    access: Access
    serial: str = ""
    overwrite: bool = False
    dirty: bool = False

    def line(self) -> str:
        """Return the line for the targets file. Raises ValueError if the path or the serial number contains unprintable
        characters."""
        for text in (self.path, self.serial):
            if not text.isprintable():
                raise ValueError(f"{text!r} contains a character that is not permitted in a target name")
        fields = (self.access, str(int(self.overwrite)), str(int(self.dirty)), self.serial or _NO_SERIAL, self.path)
        return "\t".join(fields)


@dataclass(frozen=True, slots=True)
class StopRule:
    """The condition under which guard stops the program early by sending SIGINT.

    guard stops the program once the rate (requests per second according to the drive counters) has settled. This is the
    case if the 95 % interval for the batch means is within `interval` (a share) of their mean, and the rate has no
    trend. guard checks this only a few times: when at least `min_s` seconds have passed and at least `min_ios` requests
    have completed, and then whenever the program has run 1.5 times as long as at the last check.
    """

    interval: float
    min_s: float = 3.0
    min_ios: int = 0

    def orders(self) -> list[str]:
        """Return the options that tell guard to apply this rule."""
        return [
            *("--stop-ppm", str(round(self.interval * 1e6))),
            *("--stop-min-ms", str(round(self.min_s * 1000))),
            *("--stop-min-ios", str(self.min_ios)),
        ]


@dataclass(frozen=True, slots=True)
class RaidSet:
    """A RAID set that guard creates from the targets of a step and removes when the step ends. guard runs the program
    at the path `mdadm` to do so. `chunk` is in bytes; None selects mdadm's default."""

    level: int
    chunk: int | None
    mdadm: str

    def orders(self) -> list[str]:
        """Return the options that tell guard to create this RAID set."""
        chunk = [] if self.chunk is None else ["--raid-chunk", str(self.chunk)]
        return ["--raid-level", str(self.level), *chunk, "--mdadm", self.mdadm]


def handle_path(index: int) -> str:
    """Return a path that opens the target with this index exactly as guard checked it, even if the target's name now
    refers to a different file."""
    return f"/proc/self/fd/{FIRST_HANDLE + index}"


def guarded(
    step: Step,
    path: str,
    targets: Sequence[Target],
    *,
    stop: StopRule | None = None,
    whole_drive: bool = False,
    raid: RaidSet | None = None,
) -> Step:
    """Return a step that runs the tool of `step`, located at `path` on the host, under guard.

    `whole_drive` means that the program changes parts of a drive outside the target, for example with an NVMe format or
    sanitize; guard then refuses a drive that has other namespaces. If `raid` is set, the program has a single target:
    the RAID set created from the targets.
    """
    orders = ["--whole-drive", "1", *_TARGETS] if whole_drive else [*_TARGETS]
    orders += stop.orders() if stop is not None else []
    orders += raid.orders() if raid is not None else []
    return replace(
        step,
        program=Kernel(GUARD),
        arguments=(*orders, "--", path, *step.arguments),
        files=target_files(targets) | dict(step.files),
        as_root=_wants_root(targets),
    )


def inspection(targets: Sequence[Target], name: str = "inspect") -> Step:
    """Return a step that checks and describes the targets but runs no program."""
    return Step(name, Kernel(GUARD), _TARGETS, target_files(targets), as_root=_wants_root(targets))


def _wants_root(targets: Sequence[Target]) -> bool:
    """Return whether any target is a device. Usually, only root can open devices, whereas regular files belong to the
    account."""
    return any(is_device_path(target.path) for target in targets)


def targets_in(step: Step) -> list[Target]:
    """Return the targets of a step under guard, read from its targets file, or an empty list for any other step."""
    if step.program != Kernel(GUARD):
        return []
    return [_target(line) for line in step.files.get(TARGETS_FILE, "").splitlines()]


def _target(line: str) -> Target:
    access, overwrite, dirty, serial, path = line.split("\t", 4)
    serial = "" if serial == _NO_SERIAL else serial
    return Target(path, "write" if access == "write" else "read", serial, overwrite == "1", dirty == "1")


def target_files(targets: Sequence[Target]) -> dict[str, str]:
    """Return the targets file for a step, as a mapping from the file's name to its text."""
    return {TARGETS_FILE: "".join(target.line() + "\n" for target in targets)}
