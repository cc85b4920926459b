"""Files and devices that the plan names: what stands there now, and whether a job may touch it."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Literal, get_args

from asct.diagnostics.model import Diagnostic
from asct.engine.preflight import Demand, Finding
from asct.hosts.base import Host

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


def check_targets(demand: Demand, kinds: Mapping[str, Kind], made: Collection[str], host: str) -> list[Finding]:
    """What forbids to touch the named paths. `made` are files that this run itself made on the host."""
    findings = []
    for path, careful in demand.targets.items():
        kind = kinds.get(path, "other")
        finding = _written(path, kind, careful and path not in made, host) if path in demand.writes else None
        finding = finding or _present(path, kind, path in demand.writes, host)
        if finding is not None:
            findings.append(finding)
    return findings


def _written(path: str, kind: Kind, careful: bool, host: str) -> Finding | None:
    if kind == "file" and careful:
        hint = "put `overwrite: true` into the benchmark's config if its content may go, or name a new file"
        message = f"host {host}: {path} exists and would be overwritten"
        return Finding(Diagnostic("E430", message, hint=hint), refused=True)
    if kind in ("device", "folder", "other"):
        what = {"device": "a block device", "folder": "a folder"}.get(kind, "not a regular file")
        message = f"host {host}: {path} is {what}; it is not written to"
        hint = "name a regular file, or leave `file_names` out for a temporary file"
        return Finding(Diagnostic("E431", message, hint=hint), refused=True)
    return None


def _present(path: str, kind: Kind, written: bool, host: str) -> Finding | None:
    if kind == "homeless":
        message = f"host {host}: the folder of {path} does not exist"
        return Finding(Diagnostic("E425", message, hint="make the folder on the host, or correct `file_names`"))
    if kind == "absent" and not written:
        message = f"host {host}: {path} does not exist"
        return Finding(Diagnostic("E424", message, hint="correct `file_names`, or leave it out for a temporary file"))
    return None


def find_tools(host: Host, names: Collection[str]) -> dict[str, str]:
    """Absolute paths of programs on the host's PATH; those not found are left out. Raises HostError."""
    if not names:
        return {}
    wanted = list(names)
    script = 'for p do echo "$(command -v -- "$p" 2>/dev/null)"; done'
    lines = host.answer(["sh", "-c", script, "sh", *wanted]).stdout.splitlines()
    return {name: line for name, line in zip(wanted, lines, strict=False) if line.startswith("/")}
