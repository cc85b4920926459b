"""The means of observation: event sources, counters, tracers, sensors."""

from __future__ import annotations

from asct.facts.sources.model import Command, FolderSet

EVENTS = "/sys/bus/event_source/devices"
HWMON = "/sys/class/hwmon"
ZONES = "/sys/class/thermal"

FILES: tuple[str, ...] = (
    "/proc/sys/kernel/kptr_restrict",
    "/proc/sys/kernel/perf_event_paranoid",
    "/proc/sys/kernel/perf_user_access",
    "/proc/sys/kernel/unprivileged_bpf_disabled",
    f"{EVENTS}/cpu*/rdpmc",
)

FOLDERS: tuple[FolderSet, ...] = (
    FolderSet("perf.pmus", (f"{EVENTS}/*",), ("type",), 2048),
    FolderSet(
        "thermal",
        (f"{HWMON}/hwmon*",),
        ("name", "temp[0-9]*_crit", "temp[0-9]*_input", "temp[0-9]*_label"),
        128,
    ),
    FolderSet(
        "thermal.zones",
        (f"{ZONES}/thermal_zone*",),
        ("temp", "trip_point_[0-9]*_temp", "trip_point_[0-9]*_type", "type"),
        128,
    ),
)

COMMANDS: tuple[Command, ...] = ()

# How many counters a CPU has, no file says; the kernel's log does when it starts.
LASTING: tuple[Command, ...] = (
    (
        "counters",
        "most perf.counters 20; dmesg 2>&1 |"
        ' grep -E "not permitted|counters available|[.][.][.] generic (registers|counters|bitmap):" || true',
    ),
    ("perf-features", "if command -v perf >/dev/null; then limited perf version --build-options 2>/dev/null; fi"),
)
