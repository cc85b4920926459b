"""Meshes between cores and memory, as the firmware and the arm_cmn driver name them; registers are for `asct cmn`."""

from __future__ import annotations

from collections import Counter

from asct.facts.cmn import sysfs
from asct.facts.gaps import Gaps
from asct.facts.snapshot import Snapshot
from asct.sdk.facts import Interconnect


def interconnects(found: Snapshot, arch: str | None, gaps: Gaps) -> list[Interconnect]:
    """`CMN-700` and how many there are, by name: from the devices of the firmware, else from the driver's PMUs."""
    regions = sysfs.regions(found)
    kinds: Counter[str] = Counter(region.kind for region in regions)
    source = "devices of the firmware"
    if not kinds:
        kinds = Counter(pmu.kind or "CMN" for pmu in sysfs.pmus(found))
        source = "PMUs of the kernel"
    if not kinds:
        if arch in (None, "aarch64"):
            gaps.note("interconnects", "nothing names one")
        else:
            gaps.lacks("interconnects", f"none is known of {arch}")
    return [Interconnect(name=name, count=count, source=source) for name, count in sorted(kinds.items())]
