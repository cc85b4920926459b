"""The limits that control groups impose on CPUs (cpuset), CPU time (cpu.max, cpu.cfs_quota_us) and memory.

Sources: Linux, Documentation/admin-guide/cgroup-v2.rst and cgroup-v1/cpusets.rst, cpuset(7).
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator

from asct.facts.cpusets import cpus_of, listed
from asct.facts.snapshot import Snapshot
from asct.facts.unknown import UnknownFacts, fields

CONTROLLERS = ("cpu", "cpuset", "memory")
_USUAL = "/sys/fs/cgroup"
_MOUNT = re.compile(r"^\S+ (/\S*) (cgroup2?) (\S+)", re.MULTILINE)
_UNLIMITED = "922337203685477"
"""The first digits of the number that means "unlimited" in version 1. The number is the highest multiple of the page
size."""
_CACHED = re.compile(r"^inactive_file ([0-9]{1,18})$", re.MULTILINE)
_QUOTA = re.compile(r"^([0-9]{1,18}) ([0-9]{1,18})$", re.MULTILINE)


def roots(mounts: str) -> dict[str, str]:
    """Return the mount point of each controller's control groups, according to a mount table (/proc/mounts). The key
    for version 2 is an empty string. Controllers that are not mounted get their usual paths."""
    found = {"": _USUAL, **{name: f"{_USUAL}/{name}" for name in CONTROLLERS}}
    for place, kind, options in reversed(_MOUNT.findall(mounts)):
        names = {""} if kind == "cgroup2" else set(CONTROLLERS).intersection(options.split(","))
        found |= dict.fromkeys(names, place.rstrip("/"))
    return found


def _roots(snapshot: Snapshot) -> dict[str, str]:
    return roots(snapshot.text("/proc/self/mounts") or snapshot.text("/proc/mounts") or "")


def allowed(snapshot: Snapshot, gaps: UnknownFacts) -> list[int]:
    """Return the CPUs on which the process that read the facts may run, according to the process's affinity mask or, in
    a dump without a mask, the process's cpuset."""
    status = fields(snapshot.text("/proc/self/status"))
    cpus = cpus_of(status, ("Cpus_allowed_list", "Cpus_allowed"))
    if cpus is None:
        texts = (listed(snapshot.text(path)) for path in _cpusets(snapshot))
        cpus = next((text for text in texts if text), None)
    return sorted(gaps.known("cpu.allowed", cpus, "reported by neither /proc/self/status nor a cpuset") or ())


def quota(snapshot: Snapshot, gaps: UnknownFacts) -> float | None:
    """Return the lowest CPU limit of the account's control groups, in CPUs, or None if there is no limit."""
    lines = _printed(snapshot, "cpu-groups", _limits, "cpu.quota", gaps)
    rows = [(int(time), int(period)) for time, period in _QUOTA.findall(lines)]
    return min((time / period for time, period in rows if period and time), default=None)


def memory(snapshot: Snapshot, gaps: UnknownFacts) -> str:
    """Return one line for each memory limit of the account's groups and their ancestors.

    A line contains the limit, the usage, and the inactive file cache (a part of the usage), in bytes.
    """
    return _printed(snapshot, "memory-groups", _memory_limits, "memory.limit_bytes", gaps)


def _printed(
    snapshot: Snapshot, command: str, of_files: Callable[[Snapshot], Iterator[str]], field: str, gaps: UnknownFacts
) -> str:
    """Return the lines that a command prints on a host; for a dump, derive the lines from its files."""
    output = snapshot.command_output(command)
    if output is None and snapshot.text("/proc/self/cgroup") is not None:
        output = "\n".join(of_files(snapshot))
    if output is None:
        gaps.note(field, "the account's control groups could not be read")
    return output or ""


def _memory_limits(snapshot: Snapshot) -> Iterator[str]:
    tops = _roots(snapshot)
    for names, path in _groups(snapshot):
        if names and "memory" not in names.split(","):
            continue
        limit, used = ("limit_in_bytes", "usage_in_bytes") if names else ("max", "current")
        root = tops["memory" if names else ""]
        for above in _upwards(path):
            at = f"{root}{above}/memory"
            texts = [snapshot.line(f"{at}.{name}") or "" for name in (limit, used)]
            cached = _CACHED.search(snapshot.text(f"{at}.stat") or "")
            if not texts[0].startswith(_UNLIMITED):
                yield " ".join([*texts, *([cached[1]] if cached else [])])


def _limits(snapshot: Snapshot) -> Iterator[str]:
    """Yield `quota period` in microseconds for each of the account's groups and their ancestors."""
    tops = _roots(snapshot)
    for names, path in _groups(snapshot):
        for above in _upwards(path):
            if not names:
                yield snapshot.line(f"{tops['']}{above}/cpu.max") or ""
            elif "cpu" in names.split(","):
                for at in (f"{tops['cpu']}{above}", f"{_USUAL}/{names}{above}"):
                    yield " ".join(snapshot.line(f"{at}/cpu.cfs_{name}_us") or "" for name in ("quota", "period"))


def _cpusets(snapshot: Snapshot) -> Iterator[str]:
    """Yield the paths of the files that may list the CPUs of the account's cpuset, starting with the account's own
    group."""
    tops = _roots(snapshot)
    for names, path in _groups(snapshot):
        for above in _upwards(path):
            if not names:
                yield f"{tops['']}{above}/cpuset.cpus.effective"
            elif "cpuset" in names.split(","):
                yield f"{tops['cpuset']}{above}/cpuset.effective_cpus"
                yield f"{tops['cpuset']}{above}/cpuset.cpus"
    for above in _upwards(snapshot.line("/proc/self/cpuset") or ""):
        yield f"/dev/cpuset{above}/cpus"
        yield f"/dev/cpuset{above}/cpuset.cpus"


def _groups(snapshot: Snapshot) -> Iterator[tuple[str, str]]:
    """Yield the controllers (none in version 2) and the path of each hierarchy, from lines such as `12:cpu,cpuacct:/a`
    and `0::/a`."""
    for line in (snapshot.text("/proc/self/cgroup") or "").split("\n"):
        parts = line.split(":", 2)
        if len(parts) == 3:
            yield parts[1], parts[2].strip()


def _upwards(path: str) -> Iterator[str]:
    """Yield a path and its ancestors: `/a/b`, `/a`, and the root, which is an empty string."""
    names = [name for name in path.split("/") if name]
    for count in range(len(names), -1, -1):
        yield "".join(f"/{name}" for name in names[:count])
