"""Processors, their caches and clocks."""

from __future__ import annotations

from asct.facts.sources.model import Command, Folders

CPU = "/sys/devices/system/cpu"

FILES: tuple[str, ...] = (
    "/proc/cpuinfo",
    f"{CPU}/online",
    f"{CPU}/possible",
    f"{CPU}/present",
)

FOLDERS: tuple[Folders, ...] = (
    Folders(
        "cpu.logical",
        tuple(f"{CPU}/cpu{'[0-9]' * digits}" for digits in range(1, 6)),
        (
            "cache/index[0-9]*/coherency_line_size",
            "cache/index[0-9]*/level",
            "cache/index[0-9]*/shared_cpu_list",
            "cache/index[0-9]*/size",
            "cache/index[0-9]*/type",
            "cache/index[0-9]*/ways_of_associativity",
            "cpufreq/cpuinfo_max_freq",
            "cpufreq/scaling_governor",
            "topology/physical_package_id",
            "topology/thread_siblings_list",
        ),
        4096,
    ),
)
"""Files of one line. What is the same for many CPUs costs little: it is printed once, behind the list of its CPUs."""

COMMANDS: tuple[Command, ...] = ()
LASTING: tuple[Command, ...] = ()
