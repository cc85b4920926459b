"""Readings of a host as text, for tests of conditions that do not occur on the test machines (heat, quotas, stolen
time)."""

from __future__ import annotations

from collections.abc import Mapping

CLOCKS = "/sys/devices/system/cpu/cpufreq/policy0"
CORE = "/sys/devices/platform/coretemp.0/hwmon/hwmon2"
DRIVE = "/sys/devices/pci0000:00/0000:00:04.0/nvme/nvme0/hwmon4"
ZONE = "/sys/class/thermal/thermal_zone3"
COOLER = "/sys/class/thermal/cooling_device0"
GROUP = "/sys/fs/cgroup/user.slice/cpu.stat"
ONLINE = "/sys/devices/system/cpu/online"
CLOCK_SOURCE = "/sys/devices/system/clocksource/clocksource0/current_clocksource"
THROTTLES = "/sys/devices/system/cpu/cpu0/thermal_throttle/package_throttle_count"
CPU = {"user": 1000, "nice": 0, "system": 200, "idle": 9000, "iowait": 50, "irq": 0, "softirq": 20, "steal": 5}


def reading(uptime: float = 100.0, changes: Mapping[str, str] | None = None, **grown: int) -> str:
    """Return the reading of a quiet host with 8 CPUs. `grown` increases counters of ticks (`steal=30`), and `changes`
    replaces lines, keyed by path."""
    ticks = " ".join(str(value + grown.get(name, 0)) for name, value in CPU.items())
    lines = {
        "/proc/uptime": f"{uptime:.2f} 600.00",
        "/proc/loadavg": "0.50 0.40 0.30 2/200 4242",
        "/proc/stat": f"cpu  {ticks} 0 0",
        ONLINE: "0-7",
        CLOCK_SOURCE: "tsc",
        "/proc/pressure/memory": "some avg10=0.00 avg60=0.00 avg300=0.00 total=700",
        f"{CLOCKS}/scaling_cur_freq": "3000000",
        f"{CLOCKS}/scaling_max_freq": "3100000",
        f"{CLOCKS}/scaling_governor": "performance",
        THROTTLES: "4",
        f"{CORE}/name": "coretemp",
        f"{CORE}/temp1_input": "54000",
        f"{CORE}/temp1_crit": "100000",
        f"{DRIVE}/name": "nvme",
        f"{DRIVE}/temp1_input": "41850",
        f"{ZONE}/type": "x86_pkg_temp",
        f"{ZONE}/temp": "-1000",
        f"{COOLER}/type": "cpufreq-cpu0",
        f"{COOLER}/cur_state": "0",
        **(changes or {}),
    }
    more = [
        f"/proc/stat:ctxt {5000 + grown.get('ctxt', 0)}",
        f"/proc/stat:intr {9000 + grown.get('intr', 0)}",
        "/proc/stat:procs_running 3",
        f"/proc/vmstat:pswpin {grown.get('pswpin', 0)}",
        "/proc/vmstat:pswpout 0",
        f"{GROUP}:nr_throttled {grown.get('nr_throttled', 0)}",
        f"{GROUP}:throttled_usec {grown.get('throttled_usec', 0)}",
    ]
    return "\n".join([*(f"{path}:{line}" for path, line in lines.items()), *more])
