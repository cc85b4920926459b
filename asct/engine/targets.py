"""Files and devices that the plan names: what stands there now, and whether a job may touch it."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from difflib import get_close_matches
from pathlib import PurePosixPath
from typing import Final, Literal, get_args

from asct.diagnostics.model import Diagnostic
from asct.engine.preflight import Demand, Finding
from asct.hosts.base import Host
from asct.sdk.guard import is_device_path

_MOST_NAMES: Final = 3
_LIKE: Final = 0.6
"""How alike a suggested name is at least (Ratcliff/Obershelp)."""

Kind = Literal["file", "device", "folder", "other", "absent", "homeless"]
"""`homeless`: absent, and so is the folder it would stand in."""

_LOOK = """for p do
  if [ -f "$p" ]; then echo file
  elif [ -b "$p" ]; then echo device
  elif [ -d "$p" ]; then echo folder
  elif [ -e "$p" ] || [ -h "$p" ]; then echo other
  elif [ -d "$(dirname -- "$p")" ]; then echo absent
  else echo homeless
  fi
done"""
_KINDS: dict[str, Kind] = {kind: kind for kind in get_args(Kind)}


def look(host: Host, paths: Collection[str]) -> dict[str, Kind]:
    """What each path is on the host, links followed, in one exchange. Raises HostError."""
    if not paths:
        return {}
    names = list(paths)
    answer = host.answer(["sh", "-c", _LOOK, "sh", *names])
    lines = answer.stdout.splitlines()
    return {
        name: _KINDS.get(line, "other") for name, line in zip(names, [*lines, *["other"] * len(names)], strict=False)
    }


def check_targets(
    demand: Demand,
    kinds: Mapping[str, Kind],
    made: Collection[str],
    consented: Collection[str],
    host: str,
    known: Collection[str] = (),
) -> list[Finding]:
    """What forbids to touch the named paths, by what they are. `made` are files that this run itself made on the host,
    `consented` devices that the plan gives up: whether these may be written is found out by the kernel guard. `known`
    are names of devices that the host has, for suggestions."""
    findings = []
    for path, careful in demand.targets.items():
        kind, written = kinds.get(path, "other"), path in demand.written
        finding = None
        if written and not (kind == "device" and path in consented):
            finding = _written(path, kind, careful and path not in made, host)
        finding = finding or _present(path, kind, written, host, known)
        if finding is not None:
            findings.append(finding)
    return findings


def _written(path: str, kind: Kind, careful: bool, host: str) -> Finding | None:
    if kind == "file" and careful:
        hint = "put `overwrite: true` into the benchmark's config if its content may go, or leave `file_names` out"
        message = f"host {host}: {path} exists and would be overwritten"
        return Finding(Diagnostic("E430", message, hint=hint), refused=True)
    if kind == "device":
        message = f"host {host}: {path} is a block device, and the plan does not give it up by this name"
        hint = "name its /dev/disk/by-id path in `file_names` and, with its serial, under `safety.destroys`"
        return Finding(Diagnostic("E431", message, hint=hint), refused=True)
    if kind in ("folder", "other"):
        what = "a folder" if kind == "folder" else "neither a regular file nor a block device"
        message = f"host {host}: {path} is {what}; it is not written to"
        hint = "name a regular file, or leave `file_names` out for a temporary file"
        return Finding(Diagnostic("E431", message, hint=hint), refused=True)
    return None


def _present(path: str, kind: Kind, written: bool, host: str, known: Collection[str]) -> Finding | None:
    if kind in ("absent", "homeless") and is_device_path(path):
        message = f"host {host}: there is no device {path}"
        return Finding(Diagnostic("E424", message, hint=_missing_device(path, known)))
    if kind == "homeless":
        message = f"host {host}: the folder of {path} does not exist"
        return Finding(Diagnostic("E425", message, hint="make the folder on the host, or correct `file_names`"))
    if kind == "absent" and not written:
        message = f"host {host}: {path} does not exist"
        return Finding(Diagnostic("E424", message, hint="correct `file_names`, or leave it out for a temporary file"))
    return None


def missing_devices(kinds: Mapping[str, Kind]) -> bool:
    """Whether a named device is not there: the host's own names are then worth a look."""
    return any(kind in ("absent", "homeless") and is_device_path(path) for path, kind in kinds.items())


def device_names(host: Host) -> list[str]:
    """Names of the host's block devices that a plan may use: by-id, and loop devices in use. Raises HostError."""
    script = 'for p in /dev/disk/by-id/* /sys/block/loop*/loop; do [ ! -e "$p" ] || echo "$p"; done'
    lines = host.answer(["sh", "-c", script]).stdout.splitlines()
    return [f"/dev/{line.split('/')[3]}" if line.startswith("/sys/") else line for line in lines if line.isprintable()]


def _missing_device(path: str, known: Collection[str]) -> str:
    """The way out for a device that is not there: the names most like it, of those that are."""
    names = {PurePosixPath(name).name: name for name in known}
    close = get_close_matches(PurePosixPath(path).name, names, n=_MOST_NAMES, cutoff=_LIKE)
    if close:
        return f"did you mean {' or '.join(names[name] for name in close)}?"
    return "`asct doctor` lists the devices of the host" if known else "the host names no device by-id; see `lsblk`"


def find_tools(host: Host, names: Collection[str]) -> dict[str, str]:
    """Absolute paths of programs on the host's PATH; those not found are left out. Raises HostError."""
    if not names:
        return {}
    wanted = list(names)
    script = 'for p do echo "$(command -v -- "$p" 2>/dev/null)"; done'
    lines = host.answer(["sh", "-c", script, "sh", *wanted]).stdout.splitlines()
    return {name: line for name, line in zip(wanted, lines, strict=False) if line.startswith("/")}
