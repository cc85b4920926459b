"""Forged mesh data: processing it takes time proportional to its length, and it never places anything where nothing
is."""

from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path
from typing import Any

import pytest

from asct.facts.cmn.cpumap import CachedCpuMap, holds_for, with_cached
from asct.facts.cmn.detect import counted
from asct.facts.cmn.kernel_output import KernelOutput, PrintedNode
from asct.facts.cmn.model import CpuPort
from asct.facts.cmn.sysfs import regions
from asct.facts.exchange import COMMANDS
from asct.facts.snapshot import CommandOutput, Snapshot
from tests.facts.cmn.maps import read
from tests.facts.shells import SHELLS

MAP = "     X 0   1\n0  |XP #0 |XP #1 |\n  0  |RN-F_A|HN-F|\n"


class Counting(int):
    """A number that counts how often it is compared."""

    compared = 0

    def __eq__(self, other: object) -> bool:
        Counting.compared += 1
        return int(self) == other

    __hash__ = int.__hash__


def test_nodes_below_any_number_of_crosspoints_are_found_at_the_cost_of_their_number() -> None:
    count = 500
    nodes = [PrintedNode(0, None, info=2), *(PrintedNode(at, Counting(0), info=6) for at in range(1, count))]
    found = KernelOutput(tuple(nodes))
    Counting.compared = 0
    crosspoints = found.crosspoints()
    assert len(crosspoints) == count - 1
    assert all(found.below(node) == [] for node in crosspoints)
    assert Counting.compared < 4 * count


def test_ranges_of_any_number_of_meshes_are_each_their_own() -> None:
    count = 20_000
    ranges = [f"{at << 16:x}-{(at << 16) + 0xFFFF:x} : ARMHC700:{at:x}" for at in range(1, count + 1)]
    found = regions(Snapshot({"/proc/iomem": "\n".join(ranges)}))
    assert len(found) == count
    assert all(one.base == int(one.name.partition(":")[2], 16) << 16 and one.size == 1 << 16 for one in found)


def test_counts_beyond_64_bits_are_none_of_the_kernel() -> None:
    line: dict[str, Any] = {"cpu": 0, "counts": [1], "idle": [1], "lines": [1], "ns": [1], "idle_ns": [1]}
    assert counted(line, 1) is not None
    for name in ("counts", "idle", "lines", "ns", "idle_ns"):
        for value in (10**400, -(10**400), 1 << 63):
            assert counted(line | {name: [value]}, 1) is None


@pytest.mark.parametrize("places", [{1: (2, 0)}, {1: (0, -1)}, {1: (0, 10**9)}, {65_536: (0, 0)}, {-1: (0, 0)}])
def test_places_outside_of_the_mesh_are_not_shown(places: dict[int, tuple[int, int]]) -> None:
    mesh = read(MAP)
    good = CachedCpuMap(
        detected_at="2026-01-01T00:00:00Z",
        holds_for=holds_for(Snapshot(), [mesh]),
        places={0: {0: CpuPort(x=0, y=0)}},
    ).model_dump(mode="json", by_alias=True)
    (shown,) = with_cached(Snapshot({}, {"cmn-cpus": CommandOutput(0, json.dumps(good))}), [mesh])
    assert list(shown.cpus) == [0]
    good["places"]["0"].update({str(cpu): {"x": x, "y": y} for cpu, (x, y) in places.items()})
    (refused,) = with_cached(Snapshot({}, {"cmn-cpus": CommandOutput(0, json.dumps(good))}), [mesh])
    assert refused.cpus == {} and refused.detected_at is None
    assert "are unreadable" in refused.unknown["cpus"]


def write(place: Path, kind: str) -> None:
    if kind == "pipe":
        os.mkfifo(place)
    elif kind == "folder":
        place.mkdir()
    else:
        place.write_text('{"schema":"asct.cmn-cpus/1"}\n')
        if kind == "of another account":
            os.chown(place, 65534, 65534)


@pytest.mark.parametrize("shell", SHELLS)
@pytest.mark.parametrize("kind", ["its own", "pipe", "folder", "of another account"])
def test_only_a_file_of_the_account_is_believed(kind: str, shell: str, tmp_path: Path) -> None:
    if kind == "of another account" and os.geteuid() != 0:
        pytest.skip("gives a file away: needs root")
    name = Path("/proc/sys/kernel/hostname").read_text().strip()
    text = f"cache=$1; {COMMANDS['cmn-cpus']}"
    write(tmp_path / f"cmn-cpus-{name}.json", kind)
    words = [*shell.split(), "-c", text, "sh", str(tmp_path)]
    done = subprocess.run(words, capture_output=True, text=True, timeout=60, check=False)
    assert (done.returncode, done.stderr) == (0, "")
    assert bool(done.stdout) == (kind == "its own")
