"""What is read of a host: files by pattern and commands by name. Data only; batch.py turns it into one exchange."""

from __future__ import annotations

CPU = "/sys/devices/system/cpu"
NODE = "/sys/devices/system/node"
MM = "/sys/kernel/mm"

FILES: tuple[str, ...] = (
    "/etc/os-release",
    "/proc/cmdline",
    "/proc/loadavg",
    "/proc/meminfo",
    "/proc/pressure/cpu",
    "/proc/self/mounts",
    "/proc/self/status",
    "/proc/sys/kernel/io_uring_disabled",
    "/run/systemd/container",
    "/sys/class/dmi/id/product_name",
    "/sys/class/dmi/id/sys_vendor",
    "/sys/hypervisor/type",
    f"{CPU}/online",
    f"{CPU}/possible",
    f"{CPU}/present",
    f"{CPU}/cpufreq/policy0/cpuinfo_max_freq",
    f"{CPU}/cpufreq/policy[0-9]*/scaling_governor",
    f"{CPU}/cpu[0-9]*/topology/physical_package_id",
    f"{CPU}/cpu[0-9]*/topology/thread_siblings_list",
    f"{CPU}/cpu$first/cpufreq/cpuinfo_max_freq",
    f"{CPU}/cpu$first/cpufreq/scaling_governor",
    f"{CPU}/cpu$first/cache/index[0-9]*/coherency_line_size",
    f"{CPU}/cpu$first/cache/index[0-9]*/level",
    f"{CPU}/cpu$first/cache/index[0-9]*/shared_cpu_list",
    f"{CPU}/cpu$first/cache/index[0-9]*/size",
    f"{CPU}/cpu$first/cache/index[0-9]*/type",
    f"{CPU}/cpu$first/cache/index[0-9]*/ways_of_associativity",
    f"{NODE}/online",
    f"{NODE}/node[0-9]*/cpulist",
    f"{NODE}/node[0-9]*/cpumap",
    f"{NODE}/node[0-9]*/distance",
    f"{NODE}/node[0-9]*/meminfo",
    f"{MM}/hugepages/hugepages-*/free_hugepages",
    f"{MM}/hugepages/hugepages-*/nr_hugepages",
    f"{MM}/transparent_hugepage/enabled",
)
"""Patterns of a shell; `$first` is the first online CPU. Every line of what matches is taken."""

FIRST_LINES: tuple[str, ...] = ("/proc/cpuinfo",)
"""Files of `name : value` lines of which only the first of each name is taken: they repeat for hundreds of CPUs."""

COMMANDS: tuple[tuple[str, str], ...] = (
    ("df", 'df -P -k -- "$work"'),
    (
        "memory-groups",
        "while IFS=: read -r number names path; do root=/sys/fs/cgroup; limit=max; used=current; case $names in"
        ' "") ;; memory) root=$root/memory; limit=limit_in_bytes; used=usage_in_bytes ;; *) continue ;; esac;'
        ' path=${path%/}; while :; do at=$root$path/memory; [ -r "$at.$limit" ] && [ -r "$at.$used" ] &&'
        ' read -r most <"$at.$limit" && read -r now <"$at.$used" && case $most in *[!0-9]*) ;; *) echo "$most $now"'
        ' $(sed -n -e "s/^inactive_file //p" "$at.stat") ;; esac; [ -n "$path" ] || break; path=${path%/*}; done;'
        " done </proc/self/cgroup",
    ),
)
"""Name and shell text (constants; `$work` is the work folder)."""

LASTING: tuple[tuple[str, str], ...] = (
    ("uname", "uname -m; uname -n; uname -r; uname -v"),
    ("id", "id -u"),
    ("page-size", "sed -n '/KernelPageSize/{p;q;}' /proc/self/smaps"),
    ("hypervisor", "systemd-detect-virt --vm"),
    ("container", "systemd-detect-virt --container"),
    ("namespaces", "readlink /proc/self/ns/pid /proc/self/ns/uts /proc/self/ns/ipc"),
    (
        "memory-devices",
        'for entry in /sys/firmware/dmi/entries/17-*; do [ -d "$entry" ] || continue; if [ -r "$entry/raw" ];'
        ' then od -An -v -tx1 "$entry/raw" | tr -d " \\n"; echo; else echo unreadable; fi; done',
    ),
)
"""Those whose answer stays the same for an account until the host is started again."""

TOOLS: tuple[tuple[str, str], ...] = (
    ("blkdiscard", "--version"),
    ("cc", "--version"),
    ("clang", "--version"),
    ("fio", "--version"),
    ("gcc", "--version"),
    ("hdparm", "-V"),
    ("mpstat", "-V"),
    ("numactl", "--version"),
    ("nvme", "version"),
    ("perf", "--version"),
    ("sg_format", "--version"),
    ("sg_sanitize", "--version"),
)
"""Programs that are looked for, and the argument that makes each print its version."""

PROBES: tuple[tuple[str, str], ...] = (
    ("fio-engines", "fio --enghelp"),
    (
        "fio-options",
        'fio --cmdhelp=all; for engine in io_uring libaio mmap pvsync2; do echo "engine $engine";'
        ' fio --enghelp="$engine"; done; true',
    ),
)
"""What is only asked when fio is there."""

TRIAL: tuple[str, str] = (
    "io_uring",
    'fio --name=probe --ioengine=io_uring --filename="$work/.probe" --size=4k --rw=write --output=/dev/null;'
    ' status=$?; rm -f -- "$work/.probe"; (exit $status)',
)
"""Tried with fio where it has the engine. A failure may have a cause that passes, such as a full disk."""
