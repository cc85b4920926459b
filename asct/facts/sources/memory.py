"""Memory, nodes, huge pages, modules."""

from __future__ import annotations

from asct.facts.sources.model import Command, FolderSet

NODE = "/sys/devices/system/node"
MM = "/sys/kernel/mm"
DMI = "/sys/firmware/dmi/tables/DMI"

# DSP0134 6.1: type, length, handle, fields; then strings, each ended by a zero byte, and one more after the last. Only
# types 16 and 17 are taken: others may hold what was handed to the machine in secret (type 11, OEM Strings).
_STRUCTURES = """\
function value(text) { return 16 * index(d, substr(text, 1, 1)) + index(d, substr(text, 2, 1)) - 17 }
BEGIN { d = "0123456789abcdef" }
{ for (i = 1; i <= NF; i++) byte[n++] = $i }
END {
    for (at = 0; at + 4 <= n && byte[at] != "7f" && value(byte[at + 1]) >= 4; at = next_) {
        next_ = at + value(byte[at + 1])
        while (next_ + 1 < n && !(byte[next_] == "00" && byte[next_ + 1] == "00")) next_++
        next_ += 2
        if (byte[at] == "10" || byte[at] == "11") {
            for (i = at; i < next_ && i < n; i++) printf "%s", byte[i]
            print ""
        }
    }
}"""

FILES: tuple[str, ...] = (
    "/proc/meminfo",
    f"{NODE}/online",
    f"{MM}/hugepages/hugepages-*/free_hugepages",
    f"{MM}/hugepages/hugepages-*/nr_hugepages",
    f"{MM}/transparent_hugepage/defrag",
    f"{MM}/transparent_hugepage/enabled",
    "/proc/sys/kernel/numa_balancing",
    "/proc/sys/vm/swappiness",
    "/proc/sys/vm/zone_reclaim_mode",
)

FOLDERS: tuple[FolderSet, ...] = (
    FolderSet(
        "nodes",
        (f"{NODE}/node[0-9]*",),
        (
            "access0/initiators/read_bandwidth",
            "access0/initiators/read_latency",
            "access0/initiators/write_bandwidth",
            "access0/initiators/write_latency",
            "cpulist",
            "cpumap",
            "distance",
            "hugepages/hugepages-*/free_hugepages",
            "hugepages/hugepages-*/nr_hugepages",
            "meminfo",
        ),
        1024,
    ),
)

COMMANDS: tuple[Command, ...] = (
    (
        "memory-groups",
        "while IFS=: read -r number names path; do root=/sys/fs/cgroup; limit=max; used=current; case $names in"
        ' "") ;; memory) root=$root/memory; limit=limit_in_bytes; used=usage_in_bytes ;; *) continue ;; esac;'
        ' path=${path%/}; while :; do at=$root$path/memory; [ -r "$at.$limit" ] && [ -r "$at.$used" ] &&'
        ' read -r most <"$at.$limit" && read -r now <"$at.$used" && case $most in'
        ' *[!0-9]* | 922337203685477*) ;; *) echo "$most $now"'
        ' $(sed -n -e "s/^inactive_file //p" "$at.stat") ;; esac; [ -n "$path" ] || break; path=${path%/*}; done;'
        " done </proc/self/cgroup",
    ),
)

LASTING: tuple[Command, ...] = (
    ("page-size", "sed -n '/KernelPageSize/{p;q;}' /proc/self/smaps"),
    (
        "memory-devices",
        f"if [ -r {DMI} ]; then od -An -v -tx1 {DMI} | awk '{_STRUCTURES}';"
        f" elif [ -e {DMI} ]; then echo unreadable; fi",
    ),
)
