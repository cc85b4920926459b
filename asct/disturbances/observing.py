"""What may not be observed: hardware counters."""

from __future__ import annotations

from typing import Final

from asct.disturbances.build import Found, Look, Seen, finding
from asct.sdk.disturbance import Setting

_WANTED: Final = 1
"""From 2 on an account without privileges may not count what the kernel does for it (perf_event_paranoid)."""


@finding(
    "perf-paranoid",
    effect="no value changes; but counters of the CPU and of the mesh, which say why a value is as it is, cannot "
    "be read",
    touches=[],
    source="Linux, Documentation/admin-guide/sysctl/kernel.rst (perf_event_paranoid), perf-security.rst",
)
def _counters(seen: Look) -> Found:
    paranoid = seen.known(seen.facts.perf.paranoid, "hardware counters", "perf.paranoid")
    if paranoid <= _WANTED or seen.facts.system.uid == 0:
        return
    yield Seen(
        title="hardware counters closed",
        seen=f"kernel.perf_event_paranoid is {paranoid}, and the account is not root",
        sure="certain",
        why="the kernel refuses",
        settings=[Setting(path="/proc/sys/kernel/perf_event_paranoid", value=str(_WANTED), was=str(paranoid))],
    )
