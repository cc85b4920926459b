"""Memory, nodes, huge pages, modules."""

from __future__ import annotations

from asct.facts.sources.model import Command, Folders

NODE = "/sys/devices/system/node"
MM = "/sys/kernel/mm"

FILES: tuple[str, ...] = (
    "/proc/meminfo",
    f"{NODE}/online",
    f"{MM}/hugepages/hugepages-*/free_hugepages",
    f"{MM}/hugepages/hugepages-*/nr_hugepages",
    f"{MM}/transparent_hugepage/enabled",
)

FOLDERS: tuple[Folders, ...] = (
    Folders("nodes", (f"{NODE}/node[0-9]*",), ("cpulist", "cpumap", "distance", "meminfo"), 1024),
)

COMMANDS: tuple[Command, ...] = (
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

LASTING: tuple[Command, ...] = (
    ("page-size", "sed -n '/KernelPageSize/{p;q;}' /proc/self/smaps"),
    (
        "memory-devices",
        'for entry in /sys/firmware/dmi/entries/17-*; do [ -d "$entry" ] || continue; if [ -r "$entry/raw" ];'
        ' then od -An -v -tx1 "$entry/raw" | tr -d " \\n"; echo; else echo unreadable; fi; done',
    ),
)
