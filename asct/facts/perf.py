"""The monitoring features of a host: performance monitors, tracers, BPF and temperature sensors.

Source: Linux, Documentation/admin-guide/sysctl/kernel.rst (perf_event_paranoid, kptr_restrict, perf_user_access),
Documentation/ABI/testing/sysfs-bus-event_source-devices*, arch/x86/events/core.c (rdpmc, `generic` in the log),
drivers/perf/arm_pmu.c (`counters available` in the log), Documentation/ABI/testing/sysfs-class-thermal,
Documentation/hwmon/sysfs-interface.rst (thousandths of degrees Celsius).
"""

from __future__ import annotations

import re
from collections.abc import Mapping

from asct.facts.devices import places
from asct.facts.snapshot import Snapshot
from asct.facts.sources import EVENTS, HWMON, ZONES
from asct.facts.unknown import NEEDS_ROOT, UnknownFacts, cpu_mask, folders, present, whole
from asct.sdk.facts import Perf, Thermal

_SAMPLING = ("arm_spe", "ibs_")
_TRACE = ("cs_etm", "intel_pt", "intel_bts")
_MESHES = ("arm_cmn", "arm-ccn", "ccn")
_SIGNED = re.compile(r"-?\d{1,9}", re.ASCII)
_GENERIC = re.compile(r"\.\.\. generic (registers|counters|bitmap): +([0-9a-f]{1,16})\b")
_ARM = re.compile(r"enabled with \S+ PMU driver, (\d{1,3})(?: \(([0-9a-f,]+)\))? counters available")
_CYCLE_COUNTER = 31  # ARMV8_PMU_CYCLE_IDX from include/linux/perf/arm_pmuv3.h


def perf(snapshot: Snapshot, kernel_options: dict[str, str], gaps: UnknownFacts) -> Perf:
    """Return the performance monitoring features that are available to the account. `kcore` and `devmem` are True if
    the account can read these files."""
    pmus = sorted(folders(snapshot, EVENTS))
    gaps.known("perf.pmus", pmus, f"{EVENTS} is empty")
    there = present(snapshot)
    if there is None:
        for field in ("kcore", "devmem", "btf"):
            gaps.note(f"perf.{field}", "not checked")
    return Perf(
        paranoid=_sysctl(snapshot, "perf_event_paranoid", "paranoid", gaps),
        kptr_restrict=_sysctl(snapshot, "kptr_restrict", "kptr_restrict", gaps),
        user_access=_user_access(snapshot, gaps),
        pmus=pmus,
        counters=counters(snapshot, gaps),
        sampling=[name for name in pmus if name.startswith(_SAMPLING)],
        trace=[name for name in pmus if name.startswith(_TRACE)],
        interconnects=[name for name in pmus if name.startswith(_MESHES)],
        kcore=None if there is None else there.get("/proc/kcore", False),
        devmem=None if there is None else there.get("/dev/mem", False),
        bpf=_bpf(snapshot, kernel_options, gaps),
        btf=None if there is None else "/sys/kernel/btf/vmlinux" in there,
    )


def _sysctl(snapshot: Snapshot, name: str, field: str, gaps: UnknownFacts) -> int | None:
    text = snapshot.line(f"/proc/sys/kernel/{name}") or ""
    value = int(text) if _SIGNED.fullmatch(text) else None
    return gaps.known(f"perf.{field}", value, f"there is no /proc/sys/kernel/{name}")


def _user_access(snapshot: Snapshot, gaps: UnknownFacts) -> bool | None:
    """Return whether programs may read counters without a system call, according to `rdpmc` on x86 (0 means never) or a
    sysctl on Arm."""
    texts = [snapshot.files[path] for path in snapshot.beginning(EVENTS) if path.endswith("/rdpmc")]
    values = [whole(text) for text in (*texts, snapshot.text("/proc/sys/kernel/perf_user_access"))]
    known = [value > 0 for value in values if value is not None]
    why = "reported by neither rdpmc nor perf_user_access"
    return gaps.known("perf.user_access", all(known) if known else None, why)


def counters(snapshot: Snapshot, gaps: UnknownFacts) -> int | None:
    """Return the number of counters per CPU that can count any event. The cycle counter on Arm is not one of them.

    If the number differs between the kinds of CPUs, return the smallest one.
    """
    log = snapshot.command_output("counters") or ""
    numbers = [int(text, 16).bit_count() if word == "bitmap" else whole(text) for word, text in _GENERIC.findall(log)]
    for total, mask in _ARM.findall(log):
        bits = cpu_mask(mask)
        numbers.append(int(total) - 1 if bits is None else sum(bit < _CYCLE_COUNTER for bit in bits))
    known = [number for number in numbers if number]
    if not known:
        denied = "not permitted" in log and whole(snapshot.command_output("id")) != 0
        reason = "no file reports it, and the entry in the Linux kernel log has been overwritten"
        gaps.note("perf.counters", NEEDS_ROOT if denied else reason)
    return min(known, default=None)


def _bpf(snapshot: Snapshot, kernel_options: dict[str, str], gaps: UnknownFacts) -> bool | None:
    """Return whether the Linux kernel supports the system call bpf(2)."""
    if snapshot.text("/proc/sys/kernel/unprivileged_bpf_disabled") is not None:
        return True
    option = kernel_options.get("CONFIG_BPF_SYSCALL")
    why = "reported by neither a sysctl nor the Linux kernel configuration"
    return gaps.known("perf.bpf", None if option is None else option == "y", why)


_INPUT = re.compile(r"temp(\d{1,4})_input", re.ASCII)
_TRIP = re.compile(r"trip_point_(\d{1,4})_type", re.ASCII)
_MILLI = re.compile(r"-?\d{1,7}", re.ASCII)
_HIGHEST = 1000.0
"""Highest plausible temperature, in degrees Celsius. Broken sensors report higher values, or values below absolute
zero."""
_LOWEST = -273.15


def thermal(snapshot: Snapshot, gaps: UnknownFacts) -> list[Thermal]:
    """Return the temperature sensors, with names such as `coretemp Core 0` or `acpitz`. A thermal zone that also
    appears in hwmon is listed only once."""
    locations = places(snapshot)
    sensors = [_zone(files) for files in folders(snapshot, ZONES).values() if files.get("type")]
    for name, files in folders(snapshot, HWMON).items():
        place = locations.get(f"{HWMON}/{name}")
        if place is None or "/thermal_zone" not in place.path:
            sensors += _chip(files)
    gaps.known("thermal", sensors, "the Linux kernel reports no temperature sensors")
    return sorted(sensors, key=lambda one: one.name)


def _zone(files: Mapping[str, str]) -> Thermal:
    trips = [match[1] for path, text in files.items() if (match := _TRIP.fullmatch(path)) and text == "critical"]
    critical = [value for trip in trips if (value := _celsius(files.get(f"trip_point_{trip}_temp"))) is not None]
    return Thermal(
        name=files["type"], celsius=_celsius(files.get("temp")), critical_celsius=_too_hot(min(critical, default=None))
    )


def _chip(files: Mapping[str, str]) -> list[Thermal]:
    numbers = sorted(int(match[1]) for path in files if (match := _INPUT.fullmatch(path)))
    return [
        Thermal(
            name=f"{files.get('name') or 'hwmon'} {files.get(f'temp{number}_label') or f'temp{number}'}",
            celsius=_celsius(files.get(f"temp{number}_input")),
            critical_celsius=_too_hot(_celsius(files.get(f"temp{number}_crit"))),
        )
        for number in numbers
    ]


def _celsius(text: str | None) -> float | None:
    if text is None or not _MILLI.fullmatch(text):
        return None
    value = int(text) / 1000
    return value if _LOWEST <= value <= _HIGHEST else None


def _too_hot(celsius: float | None) -> float | None:
    """Return a temperature limit, or None for zero, negative and implausibly high values, which mean that no limit is
    set."""
    return celsius if celsius is not None and 0 < celsius < 250 else None
