"""Heat: sensors near their limit, and CPUs that were slowed down by it."""

from __future__ import annotations

from typing import Final

from asct.disturbances.build import Found, Look, Seen, finding

_NEAR: Final = 10.0
"""Degrees below the critical temperature: hardware slows down before it is reached."""


@finding(
    "heat",
    effect="hot CPUs and drives lower their clock or pause: bandwidth and IOPS are lower, latency is higher, and "
    "all get worse the longer it is measured",
    touches=["*"],
    source="Linux, Documentation/driver-api/thermal/sysfs-api.rst, drivers/thermal/intel/therm_throt.c",
)
def _hot(seen: Look) -> Found:
    sensors = seen.facts.thermal
    if not sensors:
        yield from seen.unseen("temperatures", "thermal")
    hot = [
        f"{one.name} {one.celsius:.0f} °C of {one.critical_celsius:.0f} °C"
        for one in sensors
        if one.celsius is not None and one.critical_celsius and one.celsius >= one.critical_celsius - _NEAR
    ]
    slowed = seen.sample.throttled if seen.sample else None
    if not hot and not slowed:
        return
    told = [f"heat slowed CPUs down {slowed} times within a second"] if slowed else []
    yield Seen(
        title="slowed down by heat" if slowed else "near the limit of heat",
        seen="; ".join([*told, *hot]),
        sure="certain" if slowed else "likely",
        why="the CPUs count it"
        if slowed
        else "what is measured heats further, and slowing down begins below the limit",
        advice="mend the cooling, or wait until it is cool and pause between measurements",
    )
