"""The parsers on dumps of real machines, against what lscpu says of the same dumps."""

from __future__ import annotations

import json
import re
from datetime import UTC, datetime
from pathlib import Path

import pytest

from asct.facts.batch import facts_of
from asct.facts.describe import describe
from asct.facts.snapshot import Snapshot
from asct.sdk.facts import HostFacts
from asct.values.cpulist import parse_cpulist

DATA = Path(__file__).parent / "data"
MACHINES = sorted(path.stem for path in DATA.glob("*.json"))
WHEN = datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC)


def machine(name: str) -> tuple[HostFacts, dict[str, str]]:
    document = json.loads((DATA / f"{name}.json").read_text())
    lscpu: dict[str, str] = {}
    for line in document["lscpu"].split("\n"):
        key, colon, value = line.partition(":")
        if colon:
            lscpu.setdefault(key.strip(), value.strip())
    return facts_of(Snapshot(document["files"]), name, WHEN), lscpu


@pytest.mark.parametrize("name", MACHINES)
def test_cpus_are_those_of_lscpu(name: str) -> None:
    facts, lscpu = machine(name)
    assert facts.cpu.cpus == int(lscpu["CPU(s)"])
    assert facts.cpu.online == parse_cpulist(lscpu["On-line CPU(s) list"])


@pytest.mark.parametrize("name", ["cortex-a9", "xeon-e7-4870", "core-i5-m560"])
def test_cores_are_those_of_lscpu(name: str) -> None:
    facts, lscpu = machine(name)
    assert facts.cpu.threads_per_core == int(lscpu["Thread(s) per core"])
    assert facts.cpu.cores == int(lscpu["Core(s) per socket"]) * int(lscpu["Socket(s)"])
    if name != "xeon-e7-4870":  # lscpu counts 5 there; the machine has 4 of 10 cores, as the package ids say
        assert facts.cpu.sockets == int(lscpu["Socket(s)"])


def test_cores_of_several_kinds_are_added_up() -> None:
    facts, _ = machine("cortex-a510-x3")
    assert (facts.cpu.cores, facts.cpu.threads_per_core) == (8, 1)


@pytest.mark.parametrize("name", ["cortex-a9", "xeon-e7-4870", "cortex-a510-x3", "core-i5-m560"])
def test_names_are_those_of_lscpu(name: str) -> None:
    facts, lscpu = machine(name)
    assert facts.cpu.model is not None
    assert " ".join(facts.cpu.model.split()) == " ".join(lscpu["Model name"].split())
    assert facts.cpu.vendor == lscpu["Vendor ID"]


@pytest.mark.parametrize("name", ["xeon-e7-4870", "core-i5-m560"])
def test_caches_are_those_of_lscpu(name: str) -> None:
    facts, lscpu = machine(name)
    kinds = {"L1d": (1, "Data"), "L1i": (1, "Instruction"), "L2": (2, "Unified"), "L3": (3, "Unified")}
    assert [(one.level, one.type) for one in facts.caches] == sorted(kinds.values())
    for label, kind in kinds.items():
        found = re.fullmatch(r"([\d.]+) ([KM])iB \((\d+) instances?\)", lscpu[f"{label} cache"])
        assert found is not None
        cache = next(one for one in facts.caches if (one.level, one.type) == kind)
        total = cache.size_bytes * int(found[3])
        if (name, label) == ("xeon-e7-4870", "L3"):
            assert total == 5 * 30720 << 10
        assert total == pytest.approx(float(found[1]) * {"K": 1 << 10, "M": 1 << 20}[found[2]], rel=0.04)
        if (name, label) != ("xeon-e7-4870", "L3"):  # as above: 4 caches shared by 10 each
            assert len(cache.shared_cpus) * int(found[3]) == len(facts.cpu.online)


@pytest.mark.parametrize("name", ["xeon-e7-4870", "riscv-sg2042", "core-i5-m560"])
def test_nodes_are_those_of_lscpu(name: str) -> None:
    facts, lscpu = machine(name)
    assert len(facts.nodes) == int(lscpu["NUMA node(s)"])
    for node in facts.nodes:
        assert node.cpus == parse_cpulist(lscpu[f"NUMA node{node.id} CPU(s)"])


def test_what_a_dump_lacks_is_unknown() -> None:
    facts, _ = machine("cortex-a9")
    assert facts.caches == []
    assert "caches" in facts.unknown
    assert facts.nodes == []
    assert facts.system.uid is None
    assert "system.uid" in facts.unknown
    facts, _ = machine("cortex-a510-x3")
    assert facts.cpu.governor is not None
    assert facts.cpu.frequency_hz == 2016.0e6


def test_describe() -> None:
    facts, _ = machine("xeon-e7-4870")
    text = describe(facts)
    assert "40 CPUs" in text
    assert "4 nodes" in text
    assert "\n" not in text
    assert describe(HostFacts(host="h", collected_at="")) == "nothing is known"
