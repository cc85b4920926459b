"""Coherent meshes of Arm: the PMUs and maps of the arm_cmn driver, where the firmware puts their registers."""

from __future__ import annotations

from typing import Final

from asct.facts.sources.model import Command, FolderSet

PMUS: Final = "/sys/bus/event_source/devices"
MAPS: Final = "/sys/kernel/debug/arm-cmn"

FILES: tuple[str, ...] = (
    "/proc/iomem",
    "/sys/bus/platform/drivers/arm-cmn/*/uevent",
    f"{PMUS}/arm_cmn*/cpumask",
    f"{PMUS}/arm_cmn*/format/*",
    f"{PMUS}/arm_cmn*/identifier",
    f"{PMUS}/arm_cmn*/type",
    f"{MAPS}/map*",
    f"{MAPS}/*/map",
)
FOLDERS: tuple[FolderSet, ...] = ()

COMMANDS: tuple[Command, ...] = (
    (
        "cmn-cpus",
        "read -r host </proc/sys/kernel/hostname; kept=$cache/cmn-cpus-$host.json;"
        ' ! { [ -n "$cache" ] && [ -f "$kept" ] && [ -r "$kept" ] && [ -O "$kept" ]; } || head -c 150000 "$kept"',
    ),
    (
        "cmn-links",
        f'for at in {PMUS}/arm_cmn*; do [ ! -e "$at" ] || echo "${{at##*/}} $(readlink -f "$at")"; done',
    ),
)
LASTING: tuple[Command, ...] = ()
