"""What disturbs the jobs of a run on a host: what they open and use, and the line that tells of it (E432)."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from pathlib import PurePosixPath
from typing import Final

from asct.diagnostics.model import Diagnostic
from asct.disturbances import Wanted
from asct.engine.preflight import Demand
from asct.errors import HostError, HostLost
from asct.hosts.base import Host
from asct.sdk.disturbance import Disturbances
from asct.sdk.guard import is_device_path

_MOST: Final = 4
"""Findings that the line names."""
_LINKS: Final = 'for path do readlink -f -- "$path" || echo; done'


def wanted(host: Host, demands: Iterable[Demand]) -> Wanted:
    """What jobs with these demands open and use on an open host. Raises HostLost."""
    paths: dict[str, None] = {}
    tools: dict[str, None] = {}
    for demand in demands:
        paths.update(dict.fromkeys([*demand.targets, *([host.work] if demand.scratch else [])]))
        tools.update(demand.optional_tools)
    return Wanted(tuple(paths), _devices(host, [path for path in paths if is_device_path(path)]), tuple(tools))


def _devices(host: Host, paths: list[str]) -> dict[str, str]:
    """The kernel's names of devices, links followed, in one exchange; none when there is nothing to ask."""
    if not paths:
        return {}
    try:
        lines = host.answer(["sh", "-c", _LINKS, "sh", *paths]).stdout.splitlines()
    except HostLost:
        raise
    except HostError:  # the checks of targets ask the same host and say what is the matter
        return {}
    return {path: PurePosixPath(line).name for path, line in zip(paths, lines, strict=False) if line}


def notice(found: Disturbances, subjects: Collection[str]) -> Diagnostic | None:
    """One line on what disturbs the jobs with these subjects; None when nothing does."""
    told = found.touching(subjects)
    if not told:
        return None
    names = ", ".join(item.title for item in told[:_MOST])
    more = f" and {len(told) - _MOST} more" if len(told) > _MOST else ""
    count = "1 thing disturbs" if len(told) == 1 else f"{len(told)} things disturb"
    return Diagnostic(
        "E432",
        f"host {found.host}: {count} measurement: {names}{more}",
        hint="`asct doctor` tells what each does to the results, with its fix and undo",
        severity="warning" if any(item.sure == "certain" for item in told) else "note",
    )
