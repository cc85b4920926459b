"""Idle states that take long to wake from."""

from __future__ import annotations

from typing import Final

from asct.disturbances.build import Found, Look, Seen, finding
from asct.sdk.disturbance import Setting
from asct.values.cpulist import format_cpulist

LONG_US: Final = 10
"""A fast NVMe drive answers in some ten microseconds: from here on waking up is seen in its latency."""


@finding(
    "idle-states",
    effect="a CPU that waits for a drive may sleep meanwhile: each request takes as much longer as it needs to wake, "
    "seen most with few in flight, so latency is higher and IOPS are lower; programs that never wait are not hurt",
    touches=["storage.latency", "storage.iops", "storage.bandwidth"],
    source="Linux, Documentation/admin-guide/pm/cpuidle.rst (latency, disable)",
)
def _slow(seen: Look) -> Found:
    cpu = seen.facts.cpu
    states = seen.known(cpu.idle_states or None, "idle states", "cpu.idle_states", "cpu.idle_driver")
    settings, named, longest = [], [], 0
    for number, state in enumerate(states):
        free = sorted(set(cpu.online) - set(state.disabled_cpus))
        if state.latency_us is None or state.latency_us < LONG_US or not free:
            continue
        path = f"/sys/devices/system/cpu/cpu{{}}/cpuidle/state{number}/disable"
        settings.append(Setting(path=path, value="1", was="0", numbers=free))
        named.append(f"{state.name} {state.latency_us} µs on CPU {format_cpulist(free)}")
        longest = max(longest, state.latency_us)
    if not settings:
        return
    mixed = len(cpu.kinds) > 1  # then states of one number differ from core to core, and the facts do not number them
    yield Seen(
        title=f"idle states that take up to {longest} µs to wake from",
        seen="; ".join(named),
        sure="likely",
        why="the kernel chooses the state by how long it expects to sleep, and may be wrong",
        advice=f"cpupower idle-set -D {LONG_US} as root; cpupower idle-set -E gives all states back" if mixed else "",
        settings=[] if mixed else settings,
    )
