"""Processors, their caches and clocks."""

from __future__ import annotations

from asct.facts.sources.model import Command, FolderSet

CPU = "/sys/devices/system/cpu"

_FIRST = tuple(f"{CPU}/cpu{digits}" for digits in ("[0-9]", "[1-3][0-9]"))
"""CPUs whose values are read in full: machines with several kinds of cores have few of each; elsewhere they stand for
all equal ones."""

FILES: tuple[str, ...] = (
    "/proc/cpuinfo",
    "/proc/sys/abi/sve_default_vector_length",
    "/sys/devices/cpu_atom/cpus",
    "/sys/devices/cpu_core/cpus",
    "/sys/devices/cpu_lowpower/cpus",
    f"{CPU}/isolated",
    f"{CPU}/nohz_full",
    f"{CPU}/online",
    f"{CPU}/possible",
    f"{CPU}/present",
    f"{CPU}/types/*/cpulist",
    f"{CPU}/cpu0/acpi_cppc/nominal_freq",  # of one, for the firmware may be asked each time
    f"{CPU}/cpufreq/boost",
    f"{CPU}/cpuidle/current_driver",
    f"{CPU}/cpuidle/current_governor",
    f"{CPU}/cpuidle/current_governor_ro",
    f"{CPU}/intel_pstate/no_turbo",
    f"{CPU}/smt/active",
    f"{CPU}/smt/control",
    *(f"{cpu}/cache/index[0-9]/{name}" for cpu in _FIRST for name in (
        "coherency_line_size", "number_of_sets", "ways_of_associativity")),
    *(f"{cpu}/cpuidle/state[0-9]*/{name}" for cpu in _FIRST for name in ("desc", "latency", "name", "residency")),
)  # fmt: skip

_CLOCK = (
    "affected_cpus", "base_frequency", "boost", "cpb", "cpuinfo_max_freq", "cpuinfo_min_freq",
    "energy_performance_preference", "scaling_driver", "scaling_governor", "scaling_max_freq", "scaling_min_freq",
)  # fmt: skip
_CLOCK_BESIDES = ("related_cpus", "scaling_cur_freq")
_EACH = tuple(f"{CPU}/cpu{'[0-9]' * digits}" for digits in range(1, 6))

FOLDERS: tuple[FolderSet, ...] = (
    FolderSet(
        "cpu.logical",
        _EACH,
        (
            "cache/index[0-9]/level",
            "cache/index[0-9]/shared_cpu_list",
            "cache/index[0-9]/size",
            "cache/index[0-9]/type",
            "cpu_capacity",
            *(f"cpufreq/{name}" for name in _CLOCK),
            "cpuidle/state[0-9]*/disable",
            "regs/identification/midr_el1",
            "topology/book_id",
            "topology/cluster_id",
            "topology/core_siblings_list",
            "topology/die_id",
            "topology/physical_package_id",
            "topology/thread_siblings_list",
        ),
        4096,
    ),
)
"""Files of one line. What is the same for many CPUs costs little: it is printed once, behind the list of its CPUs."""

DUMPED: tuple[FolderSet, ...] = (
    FolderSet(
        "cpu.logical",
        _EACH,
        (
            "cache/index[0-9]/coherency_line_size",
            "cache/index[0-9]/number_of_sets",
            "cache/index[0-9]/shared_cpu_map",
            "cache/index[0-9]/ways_of_associativity",
            *(f"cpufreq/{name}" for name in _CLOCK_BESIDES),
            "cpuidle/state[0-9]*/desc",
            "cpuidle/state[0-9]*/latency",
            "cpuidle/state[0-9]*/name",
            "cpuidle/state[0-9]*/residency",
            "online",
            "topology/book_siblings",
            "topology/core_cpus",
            "topology/core_cpus_list",
            "topology/core_id",
            "topology/core_siblings",
            "topology/package_cpus",
            "topology/package_cpus_list",
            "topology/thread_siblings",
        ),
        4096,
    ),
    FolderSet("cpu.policies", (f"{CPU}/cpufreq/policy[0-9]*",), (*_CLOCK, *_CLOCK_BESIDES), 4096),
    FolderSet("cpu.quota", ("/proc/self",), ("cgroup", "cpuset"), 1),
    FolderSet(
        "cpu.quota",
        tuple(f"/sys/fs/cgroup{'/*' * depth}" for depth in range(7)),
        (
            "cpu.cfs_period_us",
            "cpu.cfs_quota_us",
            "cpu.max",
            "cpuset.cpus",
            "cpuset.cpus.effective",
            "cpuset.effective_cpus",
            "memory.current",
            "memory.limit_in_bytes",
            "memory.max",
            "memory.stat",
            "memory.usage_in_bytes",
        ),
        4096,
    ),
    FolderSet("cpu.allowed", tuple(f"/dev/cpuset{'/*' * depth}" for depth in range(5)), ("cpus", "cpuset.cpus"), 4096),
)
"""Additional files in dumps: masks instead of lists, and files too slow to read on a host."""

# Not of x86, which alone has a `bootloader_type`: some kernels sleep 10 ms for each there, and /proc/cpuinfo has them.
_CLOCKS = f"""\
[ -e /proc/sys/kernel/bootloader_type ] || {{ most cpu.policies 4096
grep -s "" /dev/null {CPU}/cpufreq/policy[0-9]*/scaling_cur_freq || true; }}"""

COMMANDS: tuple[Command, ...] = (
    ("clocks", _CLOCKS),
    (
        "cpu-groups",
        "while IFS=: read -r number names path; do root=/sys/fs/cgroup; case ,$names, in ,,) ;;"
        " *,cpu,*) root=$root/cpu ;; *) continue ;; esac; path=${path%/}; while :; do at=$root$path;"
        ' if [ -r "$at/cpu.max" ]; then read -r quota period <"$at/cpu.max" && echo "$quota $period";'
        ' elif [ -r "$at/cpu.cfs_quota_us" ]; then read -r quota <"$at/cpu.cfs_quota_us" &&'
        ' read -r period <"$at/cpu.cfs_period_us" && echo "$quota $period"; fi;'
        ' [ -n "$path" ] || break; path=${path%/*}; done; done </proc/self/cgroup',
    ),
)
LASTING: tuple[Command, ...] = ()
