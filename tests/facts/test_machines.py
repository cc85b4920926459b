"""The parsers on dumps of real and synthetic machines, compared with the results of lscpu and hwloc for the same
files."""

from __future__ import annotations

import math
import random
import tarfile
from datetime import UTC, datetime
from pathlib import Path

import pytest

from asct.facts.cpu import Processors, processors
from asct.facts.describe import describe
from asct.facts.files_snapshot import load
from asct.facts.memory import nodes
from asct.facts.reading import facts_of
from asct.facts.snapshot import Snapshot
from asct.facts.unknown import UnknownFacts
from asct.sdk.facts import HostFacts, NumaNode
from tests.facts import lscpu, shapes
from tests.facts.made import snapshot, written

DATA = Path(__file__).parent / "data"
DUMPS = {path.name.partition(".tar")[0]: path for path in sorted(DATA.glob("*.tar.*"))}
ANSWERED = sorted(path.name.removesuffix(".lscpu.txt") for path in DATA.glob("*.lscpu.txt"))
WHEN = datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC)


def parsed(found: Snapshot) -> tuple[Processors, list[NumaNode]]:
    return processors(found, UnknownFacts()), nodes(found, UnknownFacts())


def machine(name: str) -> HostFacts:
    return facts_of(load(DUMPS[name]), name, WHEN)


def unpacked(name: str, folder: Path) -> Path:
    """Return the folder in a dump that contains proc/ and sys/."""
    with tarfile.open(DUMPS[name]) as archive:
        archive.extractall(folder, filter="data")
    [top] = folder.iterdir()
    return top


@pytest.mark.parametrize("name", ANSWERED)
def test_a_dump_is_what_the_answer_beside_it_says(name: str) -> None:
    found, of_nodes = parsed(load(DUMPS[name]))
    answer = lscpu.kept(DATA / f"{name}.lscpu.txt")
    lscpu.compare(found, of_nodes, answer)
    assert found.cpu.vendor == answer.of("Vendor ID")[0]
    models = [model for model in answer.of("Model name") if model != "-"]
    assert {" ".join(one.model.split()) for one in found.cpu.kinds if one.model} == {
        " ".join(one.split()) for one in models
    }
    for name_, highest in zip(answer.of("Model name"), answer.of("CPU max MHz"), strict=False):
        [kind] = [one for one in found.cpu.kinds if " ".join((one.model or "-").split()) == " ".join(name_.split())]
        assert kind.max_hz == float(highest) * 1e6


@pytest.mark.parametrize("name", ["2arm-2c", "x86_64-dell_e4310"])
def test_a_dump_is_what_lscpu_says_here(name: str, tmp_path: Path) -> None:
    lscpu.compare(*parsed(load(DUMPS[name])), lscpu.run(unpacked(name, tmp_path)))


def test_masks_that_contradict_the_others() -> None:
    """hwloc finds 4 packages, each with one node, one level-3 cache and 10 cores with one thread."""
    found, of_nodes = parsed(load(DUMPS["40intel64-4n10c"]))
    groups = {frozenset(range(first, 40, 4)) for first in range(4)}
    assert lscpu.members(found.cpu.logical, "socket") == groups
    assert lscpu.members(found.cpu.logical, "node") == groups
    assert (found.cpu.sockets, found.cpu.cores, found.cpu.threads_per_core) == (4, 40, 1)
    assert {frozenset(node.cpus) for node in of_nodes} == groups
    levels = [(one.level, one.type, one.size_bytes, len(one.instances)) for one in found.cache_levels]
    assert levels == [(1, "Data", 32 << 10, 40), (1, "Instruction", 32 << 10, 40), (2, "Unified", 256 << 10, 40),
                      (3, "Unified", 30 << 20, 4)]  # fmt: skip
    assert {frozenset(one) for one in found.cache_levels[3].instances} == groups


@pytest.mark.parametrize("shape", shapes.SHAPES)
def test_a_made_machine_is_what_lscpu_says(shape: str, tmp_path: Path) -> None:
    files = shapes.SHAPES[shape]()
    written(files, tmp_path)
    found = parsed(load(tmp_path))
    assert found == parsed(snapshot(files))
    if shape == "loongarch":  # lscpu 2.38 knows none of its fields, and then reports nothing else
        (tmp_path / "proc" / "cpuinfo").write_text(files["/proc/cpuinfo"].replace("Model Name", "model name"))
    lscpu.compare(*found, lscpu.run(tmp_path))


def drawn(seed: int) -> shapes.Size:
    """Return a machine with up to 96 CPUs, which are numbered in any order and with gaps; some are offline."""
    chance = random.Random(seed)
    counts = [chance.randint(1, most) for most in (4, 3, 4, 4)]
    total = min(math.prod(counts), 96)
    order = chance.choice([range(total), range(0, 2 * total, 2), range(5, 5 + total)])
    shuffled = chance.sample(order, total) if chance.random() < 0.7 else order
    off = frozenset(chance.sample(order, chance.choice([0, 0, total // 3, total // 2])))
    return shapes.Size(*counts, chance.randint(1, 3), shuffled, off, chance.random() < 0.5, chance.random() < 0.5)


@pytest.mark.parametrize("seed", range(24))
def test_a_machine_of_any_size_is_what_lscpu_says(seed: int, tmp_path: Path) -> None:
    root = written(shapes.sized(drawn(seed)), tmp_path)
    lscpu.compare(*parsed(load(root)), lscpu.run(root))


@pytest.mark.parametrize("name", ANSWERED)
def test_the_rest_of_lscpu(name: str) -> None:
    facts, answer = machine(name), lscpu.kept(DATA / f"{name}.lscpu.txt")
    lscpu.compare_rest(facts, answer)
    assert facts.system.arch is not None


def test_functions_of_a_server() -> None:
    """hwloc finds bridge 00:03.0 to bus 01, with the controller of sda behind it."""
    [one] = machine("40intel64-4n10c").pci
    assert (one.address, one.root, one.bridges, one.names) == ("0000:01:00.0", "0000:00", ["0000:00:03.0"], ["sda"])
    assert (one.class_code[:4], one.vendor_id, one.device_id, one.node) == ("0104", "1000", "0079", None)


def test_contradictions_of_a_server() -> None:
    """The contradictions are two masks that hwloc's authors changed."""
    contradictions = machine("40intel64-4n10c").contradictions
    assert [text.partition(" contradicts the corresponding mask")[0] for text in contradictions] == [
        "cache/index3/shared_cpu_list of CPUs 2", "topology/core_siblings_list of CPUs 3"
    ]  # fmt: skip


def test_kinds_of_a_phone() -> None:
    """The phone has four designs in three clusters, which its Linux kernel calls packages. The level-3 cache, which all
    cores share, shows that they are not packages."""
    facts = machine("arm-A510-A710-A715-X3")
    kinds = [(one.microarchitecture, one.cpus, one.capacity) for one in facts.cpu.kinds]
    assert kinds == [("Cortex-A510", [0, 1, 2], 280), ("Cortex-A715", [3, 4], 855), ("Cortex-A710", [5, 6], 855),
                     ("Cortex-X3", [7], 1024)]  # fmt: skip
    assert (facts.cpu.sockets, facts.cpu.clusters, facts.cpu.instruction_set) == (1, 3, "ARMv9.0-A")
    assert [policy.cpus for policy in facts.cpu.policies] == [[0, 1, 2], [3, 4, 5, 6], [7]]
    assert facts.cpu.frequency_hz == 2016.0e6
    assert (facts.cpu.boost, facts.cpu.governor, facts.cpu.smt) == (True, "walt", "notimplemented")
    assert (facts.cpu.idle_driver, facts.cpu.idle_governor) == ("psci_idle", "qcom-cpu-lpm")
    assert [one.name for one in facts.cpu.idle_states] == ["WFI", "silver-c4", "gold-c4", "gold-plus-c4"]
    assert facts.caches == []
    assert [(one.level, one.size_bytes, len(one.instances)) for one in facts.cache_levels] == [
        (1, None, 8), (1, None, 8), (2, None, 7), (3, None, 1)
    ]  # fmt: skip
    assert "cache_levels.L2.Unified.size_bytes" in facts.unknown


def test_a_phone_without_cpuinfo_is_the_same() -> None:
    """Each of the phone's CPUs shows its identification register."""
    whole = load(DUMPS["arm-A510-A710-A715-X3"])
    part = Snapshot({path: text for path, text in whole.files.items() if path != "/proc/cpuinfo"})
    assert parsed(part)[0].cpu.logical == parsed(whole)[0].cpu.logical
    assert parsed(part)[0].cpu.kinds == parsed(whole)[0].cpu.kinds


def test_clusters_of_a_risc_v_server() -> None:
    facts = machine("rv64-milkvpioneer")
    assert lscpu.members(facts.cpu.logical, "cluster") == {frozenset(range(at, at + 4)) for at in range(0, 64, 4)}
    assert (facts.cpu.instruction_set, facts.cpu.kinds[0].identity["mvendorid"]) == ("rv64imafdcv", 0x5B7)
    assert (
        facts.unknown["cpu.model"]
        == "asct does not know the identification numbers mvendorid 0x5b7, marchid 0x0, mimpid 0x0"
    )


def test_a_notebook() -> None:
    facts = machine("x86_64-dell_e4310")
    assert (facts.cpu.microarchitecture, facts.cpu.instruction_set) == ("Westmere", "x86-64-v2")
    assert [(policy.cpus, policy.driver, policy.current_hz) for policy in facts.cpu.policies] == [
        ([0], "acpi-cpufreq", 1199e6), ([1], "acpi-cpufreq", 1199e6), ([2], "acpi-cpufreq", 2667e6),
        ([3], "acpi-cpufreq", 1199e6),
    ]  # fmt: skip
    assert [one.latency_us for one in facts.cpu.idle_states] == [0, 3, 20, 200]


def test_what_a_dump_lacks_is_unknown() -> None:
    facts = machine("2arm-2c")
    assert facts.caches == []
    assert facts.nodes == []
    assert facts.system.uid is None
    assert {"caches", "cache_levels", "cpu.allowed", "cpu.dies", "cpu.quota", "system.uid"} <= set(facts.unknown)


def test_describe() -> None:
    text = describe(machine("40intel64-4n10c"))
    assert "40 CPUs" in text
    assert "4 nodes" in text
    assert "\n" not in text
    assert describe(HostFacts(host="h", collected_at="")) == "nothing is known about this machine"
