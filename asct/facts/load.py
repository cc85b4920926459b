"""How busy the host was when the facts were read."""

from __future__ import annotations

import re

from asct.facts.gaps import Gaps, real, whole
from asct.facts.snapshot import Snapshot
from asct.sdk.facts import Load

_PRESSURE = re.compile(r"^some avg10=([0-9.]+)", re.MULTILINE | re.ASCII)
_RUNNING = re.compile(r"\d+/\d+", re.ASCII)


def load(found: Snapshot, gaps: Gaps) -> Load:
    """From /proc/loadavg (proc(5)) and /proc/pressure (Documentation/accounting/psi.rst, `some`, percent of 10 s)."""
    words = (found.text("/proc/loadavg") or "").split()
    one, five, fifteen = ([real(word) for word in words[:3]] + [None] * 3)[:3]
    running = whole(words[3].partition("/")[0]) if len(words) > 3 and _RUNNING.fullmatch(words[3]) else None
    for field, value in (("load1", one), ("load5", five), ("load15", fifteen), ("running", running)):
        if value is None:
            gaps.note(f"load.{field}", "/proc/loadavg does not say it")
    pressures = {f"{name}_pressure_avg10": _pressure(found, name) for name in ("cpu", "memory", "io")}
    for field, value in pressures.items():
        if value is None:
            gaps.note(f"load.{field}", "/proc/pressure does not say it: the kernel does not account it")
    return Load(load1=one, load5=five, load15=fifteen, running=running, **pressures)


def _pressure(found: Snapshot, name: str) -> float | None:
    match = _PRESSURE.search(found.text(f"/proc/pressure/{name}") or "")
    return real(match[1]) if match else None
