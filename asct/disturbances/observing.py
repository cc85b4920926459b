"""What may not be observed: hardware counters."""

from __future__ import annotations

from typing import Final

from asct.disturbances.build import Found, Look, scripted
from asct.sdk.disturbance import Setting

_WANTED: Final = 1
"""From 2 on an account without privileges may not count what the kernel does for it (perf_event_paranoid)."""


def look(seen: Look) -> Found:
    """One finding on counters."""
    perf = seen.facts.perf
    if perf.paranoid is None:
        yield from seen.unseen("hardware counters", "perf.paranoid")
    if perf.paranoid is None or perf.paranoid <= _WANTED or seen.facts.system.uid == 0:
        return
    yield scripted(
        [Setting(path="/proc/sys/kernel/perf_event_paranoid", value=str(_WANTED), was=str(perf.paranoid))],
        name="perf-paranoid",
        title="hardware counters closed",
        seen=f"kernel.perf_event_paranoid is {perf.paranoid}, and the account is not root",
        effect="no value changes; but counters of the CPU and of the mesh, which say why a value is as it is, cannot "
        "be read",
        touches=[],
        sure="certain",
        why="the kernel refuses",
        source="Linux, Documentation/admin-guide/sysctl/kernel.rst (perf_event_paranoid), perf-security.rst",
    )
