"""What else the machine was doing: load, stolen time, pressure, switches; read before and after a job."""

from __future__ import annotations

import re
from typing import Any

from asct.errors import HostError
from asct.hosts.base import Host

_FILES = ("/proc/loadavg", "/proc/stat", "/proc/pressure/cpu", "/proc/pressure/memory", "/proc/pressure/io")
_LEFT_OUT = "^(intr|softirq|cpu[0-9])"
"""Lines of /proc/stat that are long on large machines, and of no use here."""
_TICKS = ("user", "nice", "system", "idle", "iowait", "irq", "softirq", "steal")

Snapshot = dict[str, float]


def snapshot(host: Host) -> Snapshot:
    """Counters of the whole host now; empty when the host does not give them. Raises HostLost."""
    try:
        return parse(host.answer(["grep", "-vE", _LEFT_OUT, "/dev/null", *_FILES], timeout_s=10).stdout)
    except HostError as error:
        if type(error).__name__ == "HostLost":
            raise
        return {}


def parse(text: str) -> Snapshot:
    """The files of one exchange, each line behind its path, as grep prints several. What is not understood is left out.

    `ticks_*` are clock ticks of all CPUs since boot (proc(5), /proc/stat), `pressure_*_us` microseconds in which some
    task waited (Documentation/accounting/psi.rst), `load1` the load average.
    """
    bodies: dict[str, list[str]] = {}
    for line in text.splitlines():
        path, _, rest = line.partition(":")
        bodies.setdefault(path, []).append(rest)
    found: Snapshot = {}
    for path, lines in bodies.items():
        found.update(_parse_file(path, "\n".join(lines)))
    return found


def _parse_file(path: str, body: str) -> Snapshot:
    if path == "/proc/loadavg" and (match := re.match(r"(\d+\.\d+) ", body)):
        return {"load1": float(match[1])}
    if path == "/proc/stat":
        return _parse_stat(body)
    if path.startswith("/proc/pressure/") and (match := re.search(r"^some .*total=(\d+)", body, re.MULTILINE)):
        return {f"pressure_{path.rpartition('/')[2]}_us": float(match[1])}
    return {}


def _parse_stat(body: str) -> Snapshot:
    found: Snapshot = {}
    for line in body.splitlines():
        name, *numbers = line.split()
        if name == "cpu":
            found.update({f"ticks_{kind}": float(value) for kind, value in zip(_TICKS, numbers, strict=False)})
        elif name in ("ctxt", "processes") and numbers:
            found["context_switches" if name == "ctxt" else "forks"] = float(numbers[0])
    return found


def document(before: Snapshot, after: Snapshot, elapsed_s: float) -> dict[str, Any]:
    """telemetry.json of a job: the load at both ends and what the counters grew by in between."""
    growth = {name: after[name] - before[name] for name in after if name in before and not name.startswith("load")}
    ticks = sum(value for name, value in growth.items() if name.startswith("ticks_"))
    shares = {
        f"{kind}_share": round(growth[f"ticks_{kind}"] / ticks, 6)
        for kind in ("steal", "iowait", "idle")
        if ticks > 0 and f"ticks_{kind}" in growth
    }
    return {
        "elapsed_s": round(elapsed_s, 3),
        "load1_before": before.get("load1"),
        "load1_after": after.get("load1"),
        **shares,
        "growth": growth,
    }
