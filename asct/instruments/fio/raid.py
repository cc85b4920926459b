"""A RAID set as a fio target: its settings, their checks, and the number of bytes written to each member.

guard creates the set with mdadm right before fio starts, and removes it right after fio has ended
(kernels/guard/raid.c).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Final, Literal, NamedTuple

from asct.sdk.guard import RaidSet
from asct.sdk.needs import is_device_path
from asct.sdk.params import Params, Size, setting
from asct.values.size import format_size

if TYPE_CHECKING:
    from asct.instruments.guard_output import GuardOutput
    from asct.sdk.facts import HostFacts

MDADM: Final = "mdadm"
_SMALLEST_CHUNK: Final = 4096
ASSUMED_CLEAN: Final = "raid-assumed-clean"
RESYNCING: Final = "raid-resyncing"
FLAGS: Final = {
    ASSUMED_CLEAN: "the RAID set was created without the initial resync (mdadm --assume-clean), so no resync slowed "
    "the measurement; blocks that were never written have no valid parity or copies",
    RESYNCING: "the RAID set was resynchronizing or checking its members during the measurement",
}


class _Level(NamedTuple):
    least: int
    """The minimum number of members."""
    copies: int | None
    """The number of bytes that the set writes for each byte from fio, in the worst case and over all members. None
    means that every member receives all bytes."""


_LEVELS: Final = {0: _Level(2, 1), 1: _Level(2, None), 5: _Level(3, 2), 6: _Level(4, 3), 10: _Level(2, 2)}
"""The supported RAID levels. At levels with parity, a small write rewrites one block of data and each parity block
(drivers/md/raid5.c)."""


class RaidParams(Params):
    """The settings that combine the devices in `file_names` into a RAID set."""

    raid_level: Literal[0, 1, 5, 6, 10] | None = setting(
        None,
        "Combine the devices in `file_names` into a RAID set of this level (mdadm), measure the set, and remove it",
        pitfalls="The content of every member is lost, even if the pattern only reads; each member requires consent in "
        "`safety.destroys`.",
    )
    raid_chunk: Size | None = setting(
        None,
        "Chunk size of the RAID set (for all levels except 1); if unset, mdadm uses its default",
        aliases=("chunk_size",),
    )


def raid_problems(params: RaidParams, names: Sequence[str]) -> Iterator[tuple[str, str]]:
    """Yield each contradictory setting, with a message, for a RAID set that consists of the targets `names`."""
    if params.raid_level is None:
        if params.raid_chunk is not None:
            yield "raid_chunk", "has no effect without `raid_level`; set `raid_level`, or remove `raid_chunk`"
        return
    level, number = params.raid_level, len(names)
    if number < _LEVELS[level].least:
        yield (
            "raid_level",
            f"level {level} needs at least {_LEVELS[level].least} devices, but `file_names` lists {number}; "
            "add devices, or choose another level",
        )
    for name in names:
        if not is_device_path(name):
            yield "file_names", f"`{name}` is not a device; a RAID set consists of devices such as /dev/disk/by-id/..."
    if params.raid_chunk is not None and level == 1:
        yield "raid_chunk", "does not apply to level 1, whose members hold the same blocks; remove it"
    elif params.raid_chunk is not None and (
        params.raid_chunk < _SMALLEST_CHUNK or params.raid_chunk & (params.raid_chunk - 1)
    ):
        chunk = format_size(params.raid_chunk)
        yield "raid_chunk", f"{chunk} is not a power of two of at least 4K; use, for example, 64K or 512K"


def member_bytes(params: RaidParams, number: int, total_bytes: int) -> int:
    """Return the number of bytes that each of `number` targets receives if fio writes `total_bytes` in total."""
    copies = 1 if params.raid_level is None else _LEVELS[params.raid_level].copies
    return total_bytes if copies is None else total_bytes * copies // number


def raid_tools(params: RaidParams) -> tuple[tuple[str, str], ...]:
    """Return the programs that a RAID set requires, in the format of `Needs.tools`."""
    return () if params.raid_level is None else ((MDADM, ""),)


def raid_set(params: RaidParams, facts: HostFacts) -> RaidSet | None:
    """Return the RAID set for guard, or None if the point does not use one."""
    if params.raid_level is None:
        return None
    tool = facts.tools.get(MDADM)
    return RaidSet(params.raid_level, params.raid_chunk, tool.path if tool else f"/sbin/{MDADM}")


def raid_flags(guard: GuardOutput) -> Iterator[str]:
    """Yield the flags that apply to all values measured on a RAID set."""
    arrays = [device for device in (*guard.before, *guard.after) if device.scalar("raid_level") is not None]
    if any(device.scalar("raid_level") != "0" for device in arrays):
        yield ASSUMED_CLEAN
    if any(device.scalar("raid_sync") != "idle" for device in arrays):
        yield RESYNCING
