"""The clock that programs read."""

from __future__ import annotations

from typing import Final

from asct.disturbances.build import Found, Look, Seen, finding
from asct.sdk.disturbance import Setting

_SLOW: Final = ("hpet", "acpi_pm", "pit", "jiffies", "refined-jiffies", "hyperv_clocksource_msr")
"""Those that a program cannot read without entering the kernel: they have no mode for the vDSO
(arch/x86/include/asm/vdso/clocksource.h; drivers/clocksource/)."""
_QUICK: Final = ("tsc", "kvm-clock", "hyperv_clocksource_tsc_page", "arch_sys_counter")
"""The best first."""
_FILE: Final = "/sys/devices/system/clocksource/clocksource0/current_clocksource"


@finding(
    "clock-source",
    effect="each reading of the time is a call of the kernel and takes a microsecond or so instead of some tens of "
    "nanoseconds: fio reads it several times for each request, so latency is higher and IOPS are lower",
    touches=["storage.latency", "storage.iops", "storage.cpu"],
    source="vdso(7); Linux, arch/x86/include/asm/vdso/clocksource.h, Documentation/timers/timekeeping.rst",
)
def _slow(seen: Look) -> Found:
    system = seen.facts.system
    source = seen.known(system.clock_source, "the clock source", "system.clock_source")
    if source not in _SLOW:
        return
    better = next((name for name in _QUICK if name in system.clock_sources), None)
    yield Seen(
        title=f"clock source {source}",
        seen=f"the clock is {source}, of {', '.join(system.clock_sources) or 'no others'}",
        sure="certain",
        why="the kernel cannot hand this clock to programs; it takes it where it does not trust a better one",
        advice=""
        if better
        else "see in the kernel's log why it gave up the clock of the CPU (dmesg: clocksource, tsc)",
        settings=[Setting(path=_FILE, value=better, was=source)] if better else [],
    )
