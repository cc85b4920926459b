"""Snapshots of machines with meshes: what the Linux kernel reports about the arm_cmn driver and the firmware's
devices."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from asct.facts.snapshot import CommandOutput, Snapshot
from tests.facts.cmn.maps import drawn, server

FORMATS = {
    "bynodeid": "config:31",
    "eventid": "config:16-26",
    "nodeid": "config:32-47",
    "occupid": "config:27-30",
    "type": "config:0-15",
    "wp_chn_sel": "config:51-55",
    "wp_combine": "config:27-30",
    "wp_dev_sel": "config:48-50",
    "wp_exclusive": "config:58",
    "wp_grp": "config:56-57",
    "wp_mask": "config2:0-63",
    "wp_val": "config1:0-63",
}
"""The formats in Linux 6.12, drivers/perf/arm-cmn.c: arm_cmn_format_attrs."""
CPU = "/sys/devices/system/cpu"
IOMEM = """\
00000000-0000ffff : reserved
50000000-5fffffff : ARMHC600:00
  50d00000-50d03fff : ARMHC600:00
100010000000-10001fffffff : ARMHC600:01
  100012500000-1000164fffff : ARMHC600:01
"""


def pmu(instance: int = 0, identifier: str = "43403", **changed: str | None) -> dict[str, str]:
    """Return the files of a PMU. A field that is None is omitted, as in older drivers."""
    at = f"/sys/bus/event_source/devices/arm_cmn_{instance}"
    files: dict[str, str | None] = {"cpumask": "0", "identifier": identifier, "type": str(20 + instance), **changed}
    files |= {f"format/{name}": text for name, text in FORMATS.items() if f"format/{name}" not in changed}
    return {f"{at}/{name}": text for name, text in files.items() if text is not None}


def mesh_map(width: int = 4, height: int = 4, instance: int = 0) -> dict[str, str]:
    """Return the file that contains the driver's map."""
    name = f"map_{instance}" if instance else "map"
    return {f"/sys/kernel/debug/arm-cmn/{name}": drawn(width, height, server(width, height)).rstrip()}


def machine(*files: Mapping[str, str], cpus: int = 8, commands: Mapping[str, CommandOutput] | None = None) -> Snapshot:
    """Return an Arm server with these files."""
    numbers = {f"{CPU}/online": f"0-{cpus - 1}", f"{CPU}/present": f"0-{cpus - 1}"}
    said = {"uname": CommandOutput(0, "aarch64\nmeshy\n6.12.0\n#1"), "id": CommandOutput(0, "0"), **(commands or {})}
    return Snapshot({**numbers, **{path: text for part in files for path, text in part.items()}}, said)


def laid(snapshot: Snapshot, folder: Path) -> Path:
    """Write the snapshot to a folder that `--from` accepts."""
    for path, text in snapshot.files.items():
        place = folder / path.strip("/")
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_text(text + "\n", encoding="utf-8")
    for name, said in snapshot.commands.items():
        place = folder / "commands" / f"{name}.txt"
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_text(f"{said.text}\n[status {said.status}]\n", encoding="utf-8")
    return folder
