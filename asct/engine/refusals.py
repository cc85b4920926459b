"""Why a target is not touched: every check of the kernel guard with its code, its reading and the way out."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final, TypeGuard

from asct.diagnostics.model import Diagnostic
from asct.instruments.watch import Check


@dataclass(frozen=True, slots=True)
class Named:
    """What a failed check is called and what may be done about it."""

    code: str
    hint: str


_UNMOUNT: Final = "unmount it, if it is the drive that is meant to be destroyed"
CHECKS: Final[dict[str, Named]] = {
    "identity": Named(
        "E440",
        "`asct doctor` lists the devices of the host as they are named in a plan; a file is measured if it is there "
        "already, and without `file_names` asct makes its own",
    ),
    "kind": Named("E440", "name a whole disk, a partition or a regular file"),
    "serial": Named("E440", "compare the serial in `safety.destroys` with the one that `asct doctor` shows"),
    "size": Named("E440", "see whether a medium is in the drive, and whether it answers"),
    "read-only": Named("E441", "take its write protection away (`blockdev --setrw`, a switch), or take another"),
    "removable": Named("E441", "take a drive that is built in, or measure a file on this one"),
    "mounted": Named("E442", _UNMOUNT),
    "system": Named("E442", "take another drive: this one carries the system, asct or the work folder"),
    "swap": Named("E442", "switch the swap off (`swapoff`), if its drive is meant to be destroyed"),
    "holders": Named("E442", "take apart what is built on it (`vgchange -an`, `dmsetup remove`, `losetup -d`)"),
    "raid": Named("E442", "stop the array (`mdadm --stop`) and take the member out of it"),
    "open-elsewhere": Named("E442", "end the program that holds it open"),
    "exclusive": Named("E442", "end what uses it, or run under an account that may open it"),
    "multipath": Named(
        "E442", "leave one way to its content: take it out of the multipath map, detach the second loop device"
    ),
    "reserved": Named("E442", "release the reservation on the host that holds it"),
    "signature": Named(
        "E443", "if its content may go: `overwrite: true` beside it in `safety.destroys`, or `wipefs -a`"
    ),
    "data": Named("E443", "if its content may go: `overwrite: true` beside it in `safety.destroys`"),
    "namespaces": Named(
        "E441", "a purge would wipe its other namespaces too: delete these first, or leave the purge out"
    ),
}
"""By the names that the kernel guard gives its checks."""

UNREADABLE: Final = Named(
    "E444", "run as root, or give the account the right to read it; what is not known is not safe"
)
UNCHECKED: Final = Named("E445", "see what the checks wrote; without them nothing is written to a device")
VOLUME: Final = Named(
    "E446", "write less (fewer or shorter points), or raise `safety.max_written` and apply the plan anew"
)
REFUSED: Final = frozenset({"E430", "E431", "E440", "E441", "E442", "E443", "E444", "E445", "E446"})
"""Codes that end a run with exit code 4."""

_LONGEST: Final = 300


def is_refusal(diagnostic: Diagnostic | None) -> TypeGuard[Diagnostic]:
    """Whether it says that something was not touched for safety."""
    return diagnostic is not None and diagnostic.code in REFUSED


def plain(text: str) -> str:
    """Words of a host in one line of bounded length, without control characters."""
    line = "".join(mark if mark.isprintable() else "\N{REPLACEMENT CHARACTER}" for mark in text[: _LONGEST + 1])
    return line if len(line) <= _LONGEST else line[:_LONGEST] + "..."


def refused_check(host: str, check: Check) -> Diagnostic:
    """The refusal that a check stands for which did not pass."""
    named = CHECKS.get(check.name, UNCHECKED)
    if check.ok is None:
        why = f"could not be checked: {plain(check.detail)}" if check.detail else "could not be checked"
        named = UNREADABLE
    else:
        why = plain(check.detail) or "did not pass"
    message = f"host {host}: {plain(check.path)} is not touched: check `{check.name}`: {why}"
    return Diagnostic(named.code, message, hint=named.hint)


def unchecked(host: str, why: str) -> Diagnostic:
    """No check, no writing: the program that checks failed itself."""
    message = f"host {host}: its devices could not be checked: {plain(why)}"
    return Diagnostic(UNCHECKED.code, message, hint=UNCHECKED.hint)
