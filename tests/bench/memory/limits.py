"""The documented limits of the processor, and the sizes of its caches."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from tests.bench.table import Limit, cpus

SKYLAKE = "Intel, Optimization Reference Manual, cache parameters of Skylake Server"
SUNNY_COVE = "Intel, Optimization Reference Manual, cache parameters of Ice Lake"
SKYLAKE_SERVER_MODEL = 85
ZEN5 = "AMD, Software Optimization Guide for the Zen 5 Microarchitecture, load-store unit and L2"
ZEN4 = "AMD, Software Optimization Guide for the Zen 4 Microarchitecture, load-store unit and L2"


@dataclass(frozen=True)
class Paths:
    """Bytes per cycle that one core can load from the first level, store to it, and transfer between the first and the
    second level."""

    load: int
    store: int
    second: int
    sustained: int  # the documented sustained rate of the latter
    source: str


def paths() -> Paths | None:
    """Return the paths of this processor; None if no documentation for it is known."""
    found = _identity()
    family, wide = int(found.get("cpu family", "0")), "avx512f" in found.get("flags", "").split()
    if found.get("vendor_id") == "GenuineIntel" and family == 6 and wide:
        if found.get("model") == str(SKYLAKE_SERVER_MODEL):
            return Paths(128, 64, 64, 52, SKYLAKE)
        return Paths(128, 64, 64, 48, SUNNY_COVE)  # later cores have the same ports and path to the second level
    if found.get("vendor_id") == "AuthenticAMD" and family == 26:
        return Paths(128, 64, 64, 64, ZEN5)
    if found.get("vendor_id") == "AuthenticAMD" and family == 25 and wide:
        return Paths(64, 32, 32, 32, ZEN4)
    return None


def limit(level: int, traffic: str) -> Limit | None:
    """Return the maximum number of bytes loaded and stored per cycle.

    In the first level, loads and stores run in parallel. Incoming data and data that is written back share the path to
    the second level, so its width limits the sum of both.
    """
    known = paths()
    if known is None:
        return None
    if level == 2:
        return Limit(known.second, known.source, known.sustained)
    width = {"all-reads": known.load, "write": known.store, "copy": 2 * known.store, "triad": 3 * known.store}[traffic]
    return Limit(width, known.source, width)


def caches() -> tuple[int, int]:
    """Return the sizes of the first-level data cache and of the second-level cache in bytes."""
    sizes: dict[int, int] = {}
    for folder in Path(f"/sys/devices/system/cpu/cpu{cpus()[-1]}/cache").glob("index*"):
        if (folder / "type").read_text().strip() != "Instruction":
            level, text = int((folder / "level").read_text()), (folder / "size").read_text().strip()
            sizes[level] = int(text.removesuffix("K")) * 1024
    if not {1, 2} <= sizes.keys():
        raise LookupError("the system does not report the sizes of the caches")
    return sizes[1], sizes[2]


def _identity() -> dict[str, str]:
    lines = [line.partition(":") for line in Path("/proc/cpuinfo").read_text().split("\n\n")[0].splitlines()]
    return {name.strip(): value.strip() for name, _, value in lines}
