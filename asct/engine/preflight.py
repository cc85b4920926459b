"""Check, before a job runs, whether its host can run it: tools, space, files, devices and disturbances."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from difflib import get_close_matches
from pathlib import PurePosixPath
from typing import Final, Literal, get_args

from asct.diagnostics.model import Diagnostic
from asct.disturbances.build import MeasuredScope
from asct.disturbances.tools import PACKAGES
from asct.errors import HostError, HostLost
from asct.hosts.base import Host
from asct.instruments.memory.topology import usable_cpus
from asct.resources import text
from asct.sdk.disturbance import Disturbances
from asct.sdk.facts import HostFacts
from asct.sdk.needs import JobNeeds, Needs, is_device_path
from asct.values.cpulist import format_cpulist
from asct.values.text import counted
from asct.values.version import version_key

RESERVE_BYTES = 512 << 20
"""Number of bytes that must remain free on the host after a temporary file has been created."""


def check(demand: JobNeeds, facts: HostFacts, found: Mapping[str, str], host: str) -> list[Diagnostic]:
    """Return the requirements in `demand` that the host does not meet, according to its facts.

    `found` maps tools that are not in the facts to their paths.
    """
    findings = [_tool(name, version, facts, found, host) for name, version in demand.tools.items()]
    findings.append(_scratch(demand, facts, host))
    return [item for item in findings if item is not None]


def _tool(name: str, minimum: str, facts: HostFacts, found: Mapping[str, str], host: str) -> Diagnostic | None:
    fact = facts.tools.get(name)
    install = f"run on {host}: apt-get install {PACKAGES.get(name, name)}"
    if fact is None:
        if name in found:
            return None
        return Diagnostic("E420", f"host {host}: {name} is not installed", hint=install)
    have = version_key(fact.version or "")
    if minimum and have and have < version_key(minimum):
        message = f"host {host}: {name} {fact.version} is too old; {minimum} or newer is required ({fact.path})"
        return Diagnostic("E421", message, hint=f"install {name} {minimum} or newer on {host}")
    return None


def unfit(need: Needs, facts: HostFacts, what: str) -> Diagnostic | None:
    """Return the reason why the host cannot run a point, or None if it can.

    The host may still be able to run other points of the job. The message starts with `what`.
    """
    usable = usable_cpus(facts)
    if usable and need.cpus > len(usable):
        known = f"only {len(usable)} can be used (CPU {format_cpulist(usable)})"
        message = f"{what}: requires {need.cpus} CPUs, but {known}"
        hint = "widen the affinity mask or the cpuset of the account, or omit this point"
        return Diagnostic("E427", message, hint=hint)
    available = facts.memory.available_bytes
    if available is None or need.memory_bytes <= available:
        return None
    message = f"{what}: requires {mib(need.memory_bytes)} of memory, but only {mib(available)} is available"
    return Diagnostic("E422", message, hint="reduce the size, or free memory on the host")


def _scratch(demand: JobNeeds, facts: HostFacts, host: str) -> Diagnostic | None:
    needed, free = sum(demand.scratch.values()), facts.work_free_bytes
    if free is None or not needed or needed + RESERVE_BYTES <= free:
        return None
    message = (
        f"host {host}: not enough space for a temporary file of {mib(needed)} and a reserve of {mib(RESERVE_BYTES)}: "
        f"only {mib(free)} is free on the work folder's file system"
    )
    return Diagnostic("E423", message, hint="reduce `filesize`, or set another `workdir` for the host")


def mib(number: int) -> str:
    """Format a number of bytes in whole MiB, rounded up, or in GiB if it is at least 10 GiB."""
    if number >= 10 << 30:
        return f"{number / (1 << 30):.1f} GiB"
    return f"{-(-number // (1 << 20))} MiB"


_MOST_NAMES: Final = 3
_LIKE: Final = 0.6
"""Minimum similarity, from 0 to 1, of a suggested name to the given name (Ratcliff/Obershelp)."""

Kind = Literal["file", "device", "folder", "other", "absent", "homeless"]
"""The type of a path on a host. `absent` means that the path does not exist; `homeless` means that its folder is also
missing."""

_KINDS: dict[str, Kind] = {kind: kind for kind in get_args(Kind)}


def target_kinds(host: Host, paths: Collection[str]) -> dict[str, Kind]:
    """Return the type of each path on the host after following links, using a single command. Raises HostError."""
    found = _lines(host, text(__file__, "kinds.sh"), paths)
    return {path: _KINDS.get(found.get(path, ""), "other") for path in paths}


def _lines(host: Host, script: str, names: Collection[str]) -> dict[str, str]:
    """Return the line that a shell script prints for each name. All names are passed in one command. Raises
    HostError."""
    if not names:
        return {}
    answer = host.execute(["sh", "-c", script, "sh", *names])
    return dict(zip(names, answer.stdout.splitlines(), strict=False))


def check_targets(
    demand: JobNeeds,
    kinds: Mapping[str, Kind],
    created: Collection[str],
    consented: Collection[str],
    host: str,
    known: Collection[str],
) -> list[Diagnostic]:
    """Return the reasons why targets named in the plan must not be used, or an empty list if all may be used.

    `created` contains the files that this run created on the host. `consented` contains the devices that the plan
    allows asct to overwrite; the `guard` kernel checks these devices. `known` contains the names of the host's devices,
    for suggestions.
    """
    findings = []
    for path, careful in demand.targets.items():
        kind, writes = kinds.get(path, "other"), path in demand.written_paths
        finding = None
        if writes and not (kind == "device" and path in consented):
            finding = _not_writable(path, kind, careful and path not in created, host)
        finding = finding or _not_present(path, kind, writes, host, known)
        if finding is not None:
            findings.append(finding)
    return findings


def _not_writable(path: str, kind: Kind, careful: bool, host: str) -> Diagnostic | None:
    if kind == "file" and careful:
        hint = (
            "if you do not need the content of the file, set `overwrite: true` in the benchmark's config; otherwise, "
            "omit `file_names`"
        )
        message = f"host {host}: {path} already exists and would be overwritten"
        return Diagnostic("E430", message, hint=hint)
    if kind == "device":
        message = f"host {host}: the plan does not allow the block device {path} to be overwritten under this name"
        hint = "use its /dev/disk/by-id path in `file_names` and, with its serial number, in `safety.destroys`"
        return Diagnostic("E431", message, hint=hint)
    if kind in ("folder", "other"):
        what = "a folder" if kind == "folder" else "neither a regular file nor a block device"
        message = f"host {host}: refused to write {path}: it is {what}"
        hint = "use a regular file, or omit `file_names` to use a temporary file"
        return Diagnostic("E431", message, hint=hint)
    return None


def _not_present(path: str, kind: Kind, writes: bool, host: str, known: Collection[str]) -> Diagnostic | None:
    if kind in ("absent", "homeless") and is_device_path(path):
        message = f"host {host}: device {path} does not exist"
        return Diagnostic("E424", message, hint=_missing_device(path, known))
    if kind == "homeless":
        message = f"host {host}: the folder that should contain {path} does not exist"
        return Diagnostic("E425", message, hint="create the folder on the host, or correct `file_names`")
    if kind == "absent" and not writes:
        message = f"host {host}: {path} does not exist"
        return Diagnostic("E424", message, hint="correct `file_names`, or omit it to use a temporary file")
    return None


def device_names(host: Host, kinds: Mapping[str, Kind]) -> list[str]:
    """Return the names of block devices that a plan may use on the host: by-id links, and loop devices that are in use.

    The names are read only if a device in `kinds` does not exist. Raises HostError.
    """
    if not any(kind in ("absent", "homeless") and is_device_path(path) for path, kind in kinds.items()):
        return []
    script = 'for p in /dev/disk/by-id/* /sys/block/loop*/loop; do [ ! -e "$p" ] || echo "$p"; done'
    lines = host.execute(["sh", "-c", script]).stdout.splitlines()
    return [f"/dev/{line.split('/')[3]}" if line.startswith("/sys/") else line for line in lines if line.isprintable()]


def _missing_device(path: str, known: Collection[str]) -> str:
    """Return the hint for a missing device, which suggests similar names that exist."""
    names = {PurePosixPath(name).name: name for name in known}
    close = get_close_matches(PurePosixPath(path).name, names, n=_MOST_NAMES, cutoff=_LIKE)
    if close:
        return f"did you mean {' or '.join(names[name] for name in close)}?"
    return (
        "`asct doctor` lists the host's devices" if known else "the host has no device in /dev/disk/by-id; run `lsblk`"
    )


def find_tools(host: Host, names: Collection[str]) -> dict[str, str]:
    """Return the absolute paths of programs on the host's PATH, keyed by program name. Raises HostError."""
    found = _lines(host, 'for p do echo "$(command -v -- "$p" 2>/dev/null)"; done', names)
    return {name: path for name, path in found.items() if path.startswith("/")}


_MOST: Final = 4
"""Maximum number of disturbances that the notice lists by name."""


def measured_scope(host: Host, demands: Iterable[JobNeeds]) -> MeasuredScope:
    """Return the files, devices and tools that jobs with these needs use on the host. Raises HostLost."""
    paths: dict[str, None] = {}
    tools: dict[str, None] = {}
    for demand in demands:
        paths.update(dict.fromkeys([*demand.targets, *([host.work] if demand.scratch else [])]))
        tools.update(demand.optional_tools)
    return MeasuredScope(tuple(paths), _devices(host, [path for path in paths if is_device_path(path)]), tuple(tools))


def _devices(host: Host, paths: list[str]) -> dict[str, str]:
    """Return the Linux kernel's name for each device after following links, using a single command."""
    try:
        found = _lines(host, 'for path do readlink -f -- "$path" || echo; done', paths)
    except HostLost:
        raise
    except HostError:  # the checks of the targets contact the same host and will report the error
        return {}
    return {path: PurePosixPath(line).name for path, line in found.items() if line}


def disturbance_notice(found: Disturbances, subjects: Collection[str]) -> Diagnostic | None:
    """Return a notice about disturbances that affect jobs with these subjects, or None if there are none."""
    relevant = found.touching(subjects)
    if not relevant:
        return None
    names = ", ".join(item.title for item in relevant[:_MOST])
    more = f" and {len(relevant) - _MOST} more" if len(relevant) > _MOST else ""
    return Diagnostic(
        "E432",
        f"host {found.host}: {counted(len(relevant), 'disturbance')}: {names}{more}",
        hint="`asct doctor` explains each effect and how to fix or undo it",
        severity="warning" if any(item.sure == "certain" for item in relevant) else "note",
    )
