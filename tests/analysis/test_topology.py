"""Drawings of synthetic machines: nested groups, groups that overlap others, many CPUs, and hostile names."""

from __future__ import annotations

import re
from xml.etree import ElementTree as ET

import pytest

from asct.analysis.report import drawing_content
from asct.analysis.topology.boxes import each, machine
from asct.analysis.topology.latency import CoreLatency, core_latencies
from asct.analysis.topology.svg import drawing
from asct.analysis.topology.text import lines
from asct.sdk.facts import (
    BlockDevice,
    CacheLevel,
    CoreKind,
    Cpu,
    HostFacts,
    Interface,
    LogicalCpu,
    Memory,
    Network,
    NumaNode,
    PciDevice,
    System,
)  # fmt: skip
from asct.sdk.record import Record
from asct.values.cpulist import parse_cpulist
from tests import records

SVG = "{http://www.w3.org/2000/svg}"


def cache(level: int, size: int, instances: list[list[int]], kind: str = "Unified") -> CacheLevel:
    return CacheLevel.model_validate({"level": level, "type": kind, "size_bytes": size, "instances": instances})


def threaded(nodes: int = 2, cores: int = 4) -> HostFacts:
    """Return facts of a machine with one socket and two threads per core: CPU c and CPU c + half share a core. Each
    node has two L3 caches."""
    total = nodes * cores
    online = list(range(2 * total))

    def groups(size: int) -> list[list[int]]:
        return [[cpu for cpu in online if cpu % total // size == number] for number in range(total // size)]

    logical = [LogicalCpu(cpu=cpu, core=cpu % total, socket=0, node=cpu % total // cores) for cpu in online]
    return HostFacts(
        host="h",
        collected_at="x",
        system=System(hostname="box"),
        cpu=Cpu(cpus=2 * total, online=online, sockets=1, cores=total, model="Model 1", logical=logical),
        cache_levels=[
            cache(1, 32 << 10, groups(1), "Data"), cache(2, 1 << 20, groups(1)), cache(3, 32 << 20, groups(cores // 2)),
        ],
        nodes=[
            NumaNode(id=n, cpus=cpus, memory_bytes=1 << 35, distances=[10 if m == n else 20 for m in range(nodes)])
            for n, cpus in enumerate(groups(cores))
        ],
        memory=Memory(total_bytes=1 << 36),
    )  # fmt: skip


def kinds(facts: HostFacts) -> list[str]:
    return [part.kind for part in each(machine(facts)[0])]


def drawn_cpus(svg: str) -> list[int]:
    """Return the CPUs in the boxes of cores, in order."""
    found: list[int] = []
    for group in ET.fromstring(svg).iter(f"{SVG}g"):
        if (box := group.find("{*}rect")) is not None and (box.get("class") or "").startswith("core"):
            texts = " ".join(text.text or "" for text in group.findall("{*}text"))
            found += [cpu for word in texts.split() for cpu in parse_cpulist(word)]
    return found


def test_each_box_lies_in_the_smallest_one_around_it() -> None:
    whole, across = machine(threaded())
    assert across == []
    (socket,) = whole.parts
    assert [node.kind for node in socket.parts] == ["node", "node"]
    assert [part.kind for part in socket.parts[0].parts] == ["cache", "cache"]
    core = socket.parts[0].parts[0].parts[0]
    assert (core.kind, core.cpus, core.detail) == ("core", frozenset({0, 8}), "L2 1M, L1d 32K, 2 threads")


def test_boxes_that_are_alike_are_counted() -> None:
    text = lines(threaded())
    assert text[0] == "box: 1 socket, 8 cores, 16 CPUs, 64 GiB"
    assert "   ├─ NUMA node 0: 32 GiB  [CPUs 0-3,8-11]" in text
    assert "   │  └─ 2 x L3 32M  [CPUs 0-1,8-9 | 2-3,10-11]" in text
    assert "   │     └─ each 2 x core: L2 1M, L1d 32K, 2 threads" in text
    assert text[-2:] == ["          0   10   20", "          1   20   10"]


def test_a_group_that_lies_across_another_is_named() -> None:
    facts = threaded()
    odd = facts.model_copy(update={"cache_levels": [cache(3, 1 << 25, [[*range(6), *range(8, 14)], [6, 7, 14, 15]])]})
    whole, across = machine(odd)
    assert across == [("NUMA node 1", "L3 0")]
    assert "Not drawn: NUMA node 1 overlaps L3 0." in lines(odd)
    assert sorted(cpu for part in each(whole) if part.kind == "core" for cpu in part.cpus) == list(range(16))


def test_memory_only_nodes_drives_and_interfaces_stand_where_they_hang() -> None:
    facts = threaded()
    facts = facts.model_copy(
        update={
            "nodes": [*facts.nodes, NumaNode(id=2, cpus=[], memory_bytes=1 << 36)],
            "block_devices": [
                BlockDevice(name="nvme0n1", kind="disk", model="X1", size_bytes=10**12, node=1),
                BlockDevice(name="nvme0n1p1", kind="partition", parent="nvme0n1"),
                BlockDevice(name="sda", kind="disk"),
            ],
            "network": Network(
                interfaces=[
                    Interface(name="eth0", kind="ethernet", driver="mlx5_core", speed=100e9, state="up", node=0),
                    Interface(name="lo", kind="loopback"),
                    Interface(name="veth1", kind="veth", driver="veth"),
                ]
            ),
        }
    )
    whole, _ = machine(facts)
    first, second = whole.parts[0].parts
    assert [part.title for part in first.parts if part.kind == "interface"] == ["eth0"]
    assert [part.title for part in second.parts if part.kind == "drive"] == ["nvme0n1"]
    assert [part.title for part in whole.parts[1:]] == ["NUMA node 2", "sda"]
    assert any(line.endswith("NUMA node 2: 64 GiB, no CPUs") for line in lines(facts))
    assert any(line.endswith("eth0: mlx5_core, 100 Gbit/s, up") for line in lines(facts))


def test_cores_of_two_kinds() -> None:
    logical = [
        LogicalCpu(cpu=cpu, core=cpu // 2 if cpu < 4 else cpu - 2, socket=0, kind=int(cpu >= 4)) for cpu in range(8)
    ]
    big, small = (
        CoreKind(microarchitecture="Big", cpus=[0, 1, 2, 3]),
        CoreKind(microarchitecture="Small", cpus=[4, 5, 6, 7]),
    )
    cpu = Cpu(cpus=8, online=list(range(8)), sockets=1, cores=6, model="M", logical=logical, kinds=[big, small])
    facts = HostFacts(host="h", collected_at="x", cpu=cpu, cache_levels=[cache(2, 1 << 21, [[4, 5, 6, 7]])])
    text = "\n".join(lines(facts))
    assert "socket 0: Big, Small  [CPUs 0-7]" in text
    assert "2 x core: Big, 2 threads  [CPUs 0-1 | 2-3]" in text
    assert "4 x core: Small" in text and "L2 2M  [CPUs 4-7]" in text
    assert "each core: Small" in drawing(facts) and "each core: Big, 2 threads" in drawing(facts)


@pytest.mark.parametrize("shape", [(1, 2), (2, 4), (8, 36)])
def test_the_picture_has_every_cpu_once(shape: tuple[int, int]) -> None:
    facts = threaded(*shape)
    assert sorted(drawn_cpus(drawing(facts))) == facts.cpu.online
    root = ET.fromstring(drawing(facts))
    left, top, width, height = map(float, (root.get("viewBox") or "").split())
    assert (left, top) == (0, 0) and 0 < width < 1200 and height > 0


@pytest.mark.parametrize("shape", [(1, 2), (2, 4), (8, 36)])
def test_the_text_is_80_columns_wide(shape: tuple[int, int]) -> None:
    assert max(map(len, lines(threaded(*shape)))) <= 80


def test_all_cores_have_the_same_size() -> None:
    """This includes cores with short CPU numbers."""
    svg = ET.fromstring(drawing(threaded(8, 12)))
    sizes = {(box.get("width"), box.get("height")) for box in svg.iter(f"{SVG}rect") if box.get("class") == "core"}
    assert len(sizes) == 1


def test_boxes_hold_their_boxes() -> None:
    """Each inner rectangle lies within the outer one, and none overlaps its neighbor."""

    def walk(group: ET.Element) -> tuple[float, float]:
        box = group.find("{*}rect")
        assert box is not None
        width, height = float(box.get("width") or 0), float(box.get("height") or 0)
        taken: list[tuple[float, float, float, float]] = []
        for inner in group.findall("{*}g"):
            x, y = map(float, re.findall(r"[\d.]+", inner.get("transform") or ""))
            w, h = walk(inner)
            assert x >= 0 and y >= 0 and x + w <= width and y + h <= height
            assert all(x >= a + c or a >= x + w or y >= b + d or b >= y + h for a, b, c, d in taken)
            taken.append((x, y, w, h))
        return width, height

    (outer,) = ET.fromstring(drawing(threaded(3, 8))).findall("{*}g")
    walk(outer)


def test_names_are_escaped() -> None:
    facts = threaded().model_copy(update={"system": System(hostname='<script>alert(1)</script>&"')})
    assert "<script>" not in drawing(facts)
    assert ET.fromstring(drawing(facts)).findtext("{*}title") == 'Topology of <script>alert(1)</script>&"'


def test_nothing_known() -> None:
    facts = HostFacts(host="h", collected_at="x")
    assert kinds(facts) == ["machine"]
    assert lines(facts) == ["h", "The facts list no CPUs, so the topology cannot be drawn."]
    assert ET.fromstring(drawing(facts)).get("role") == "img"


def test_a_box_of_several_designs_tells_which_core_is_which() -> None:
    logical = [LogicalCpu(cpu=n, core=n, socket=0) for n in range(4)]
    kinds = [CoreKind(microarchitecture="Small", cpus=[0, 1]), CoreKind(microarchitecture="Big", cpus=[2, 3])]
    cpu = Cpu(cpus=4, online=[0, 1, 2, 3], sockets=1, cores=4, logical=logical, kinds=kinds)
    told = [
        one.text for one in ET.fromstring(drawing(HostFacts(host="h", collected_at="x", cpu=cpu))).iter() if one.text
    ]
    assert "0-1: Small" in told and "2-3: Big" in told


# ---- PCI ----


def pci(address: str, code: str, kind: str, *bridges: str, node: int | None = 0, **more: object) -> PciDevice:
    root = {"root": "0000:00", "bridges": list(bridges), "node": node, **more}
    return PciDevice.model_validate({"address": address, "class_code": code, "kind": kind, **root})


def with_devices() -> HostFacts:
    """Return facts of a machine with two drives below a switch, a separate drive, a NIC with two ports, a GPU on node
    1, and a virtual drive that is not on PCI."""
    return threaded().model_copy(
        update={
            "pci": [
                pci("0000:01:00.0", "010802", "NVMe controller", "0000:00:01.0", "0000:02:00.0",
                    link="16.0 GT/s PCIe x4", link_max="32.0 GT/s PCIe x4", names=["nvme0n1"]),
                pci("0000:03:00.0", "010802", "NVMe controller", "0000:00:01.0", "0000:02:01.0"),
                pci("0000:04:00.0", "010802", "NVMe controller", "0000:00:02.0"),
                pci("0000:05:00.0", "020000", "Ethernet controller", "0000:00:03.0", driver="ice"),
                pci("0000:05:00.1", "020000", "Ethernet controller", "0000:00:03.0", driver="ice"),
                pci("0000:c1:00.0", "030200", "3D controller", "0000:c0:01.0", node=1, driver="nvidia"),
                pci("0000:00:17.0", "010601", "SATA controller", node=1, driver="ahci"),
            ],
            "block_devices": [
                BlockDevice(name="nvme0n1", kind="disk", model="X1", size_bytes=10**12, pci_address="0000:01:00.0"),
                BlockDevice(name="nvme1n1", kind="disk", pci_address="0000:03:00.0"),
                BlockDevice(name="nvme2n1", kind="disk", pci_address="0000:04:00.0"),
                BlockDevice(name="sda", kind="disk", pci_address="0000:00:17.0"),
                BlockDevice(name="sdb", kind="disk", pci_address="0000:00:17.0"),
                BlockDevice(name="vda", kind="disk", transport="virtio"),
            ],
            "network": Network(interfaces=[
                Interface(name="eth0", kind="ethernet", driver="ice", speed=25e9, pci_address="0000:05:00.0"),
                Interface(name="eth1", kind="ethernet", driver="ice", pci_address="0000:05:00.1"),
            ]),
        }
    )  # fmt: skip


def test_pci_devices_are_below_the_bridges_that_they_share() -> None:
    text = lines(with_devices())
    tree = [line.lstrip(" │├└─") for line in text]
    assert max(map(len, text)) <= 80
    start = tree.index("PCI bus 00")
    assert tree[start : start + 9] == [
        "PCI bus 00",
        "PCI bridge 00:01.0",
        "nvme0n1: X1, 1 TB, 16.0 GT/s PCIe x4 (up to 32.0 GT/s PCIe x4),",
        "NVMe controller 01:00.0",
        "nvme1n1: NVMe controller 03:00.0",
        "nvme2n1: NVMe controller 04:00.0",
        "PCI bridge 00:03.0",
        "eth0: ice, 25 Gbit/s, Ethernet controller 05:00.0",
        "eth1: ice, Ethernet controller 05:00.1",
    ]
    assert "SATA controller 00:17.0: ahci" in tree
    assert "GPU c1:00.0: nvidia, 3D controller" in tree
    assert "vda: virtio" in tree


def test_virtual_functions_are_counted_at_their_physical_function() -> None:
    facts = with_devices()
    more = [
        pci(f"0000:05:0{1 + number // 8}.{number % 8}", "020000", "Ethernet controller", "0000:00:03.0", driver="iavf",
            physical="0000:05:00.0", names=[f"eth0v{number}"])
        for number in range(16)
    ]  # fmt: skip
    own = [Interface(name=one.names[0], kind="ethernet", driver="iavf", pci_address=one.address) for one in more]
    alone = pci("0000:06:00.1", "020000", "Ethernet controller", driver="iavf", physical="0000:06:00.0", names=["ens1"])
    network = facts.network.model_copy(update={"interfaces": [*facts.network.interfaces, *own]})
    facts = facts.model_copy(update={"pci": [*facts.pci, *more, alone], "network": network})
    text = re.sub(r"[\s│├└─]+", " ", "\n".join(lines(facts)))
    assert "eth0: ice, 25 Gbit/s, Ethernet controller 05:00.0, 16 virtual functions" in text
    assert "eth0v" not in text and "iavf, Ethernet" not in text.replace("ens1: iavf, Ethernet", "")
    assert "ens1: iavf" in text  # its physical function belongs to another machine
    assert "eth0v" not in drawing(facts)


def test_devices_of_all_kinds_share_a_row() -> None:
    more = {
        "pci": [pci("0000:c1:00.0", "030200", "3D controller", driver="nvidia")],
        "block_devices": [BlockDevice(name="vda", kind="disk", node=0)],
        "network": Network(interfaces=[Interface(name="eth0", kind="ethernet", driver="ice", node=0)]),
    }
    svg = ET.fromstring(drawing(threaded(2, 12).model_copy(update=more)))
    kinds = ("gpu", "drive", "interface")
    placed = [one.get("transform", "")[10:-1].split() for one in svg.iter(f"{SVG}g") if one[1].get("class") in kinds]
    assert len({left for left, _ in placed}) == 3
    assert len({top for _, top in placed}) == 1


def test_the_picture_contains_each_device_once() -> None:
    texts = [text.text or "" for text in ET.fromstring(drawing(with_devices())).iter(f"{SVG}text")]
    for name in ("nvme0n1", "nvme1n1", "nvme2n1", "sda", "sdb", "vda", "eth0", "eth1", "PCI bridge 00:01.0"):
        assert texts.count(name) == 1


# ---- latency ----


def record(metric: str, value: float, coords: dict[str, object], **more: object) -> Record:
    return records.record(value, id="c2c", metric=metric, coords=coords, **more)


def pair(a: int, b: int, value: float, **more: object) -> Record:
    return record("one_way", value, {"cpu_a": a, "cpu_b": b, "data": "local", "method": "token"}, **more)


def test_the_latency_of_a_core_is_the_mean_over_its_pairs() -> None:
    found = core_latencies(
        [
            pair(0, 1, 10e-9), pair(0, 1, 30e-9, repeat=2), pair(0, 2, 40e-9), pair(1, 2, 50e-9),
            pair(0, 2, 1.0, flags=["invalid-clock"]), pair(0, 1, 1.0, repeat=0), pair(0, 1, 1.0, unit="cycles"),
            record("latency", 1.0, {"cpu_a": 0, "cpu_b": 1, "data": "local", "method": "chain"}),
        ]
    )["h"]  # fmt: skip
    assert found.title == "Mean latency from each core to the other CPUs (c2c, token)"
    assert found.cpus == pytest.approx({0: 30e-9, 1: 35e-9, 2: 45e-9})
    assert found.scale == pytest.approx((30e-9, 45e-9))
    assert found.of([0, 1]) == pytest.approx(32.5e-9)
    assert found.of([7]) is None


def test_values_by_cpu_are_latencies_of_cores_too() -> None:
    found = core_latencies([record("latency", value * 1e-9, {"cpu": value}) for value in (1, 2)])
    assert found["h"].title == "Latency of each core (c2c)"
    assert found["h"].cpus == pytest.approx({1: 1e-9, 2: 2e-9})


def test_equal_machines_are_drawn_once_whatever_their_names() -> None:
    latency = core_latencies([pair(a, b, (a + 2 * b) * 1e-9) for a in range(4) for b in range(a)])["h"]
    named = [threaded().model_copy(update={"system": System(hostname=name)}) for name in ("n1", "n2")]
    assert drawing_content(named[0], latency) == drawing_content(named[1], latency) != drawing_content(named[0], None)
    assert len({drawing_content(threaded(nodes, cores), None) for nodes, cores in ((2, 4), (2, 8), (4, 4))}) == 3


def test_one_core_has_nothing_to_be_compared_with() -> None:
    assert core_latencies([record("latency", 1e-9, {"cpu": 0}), record("latency", 1e-9, {"level": "L1"})]) == {}


LATENCY = CoreLatency("Latency of each core (c2c)", {cpu: (10 + cpu % 8) * 1e-9 for cpu in range(15)})


def test_cores_have_the_colour_of_their_latency_in_both_themes() -> None:
    svg = ET.fromstring(drawing(threaded(), LATENCY))
    steps = {}
    for group in svg.iter(f"{SVG}g"):
        box, title = group.find("{*}rect"), group.findtext("{*}title") or ""
        if box is not None and (box.get("class") or "").startswith("core"):
            steps[title.partition(",")[0]] = (box.get("class"), title.rpartition(", ")[2])
    assert steps["core 0"] == ("core step0", "10 ns")
    assert steps["core 7"] == ("core step9", "17 ns")
    assert len(set(steps.values())) == 8
    style = svg.findtext("{*}style") or ""
    assert style.count("step0 ") == 1 and "--t-step" not in style  # the same in both themes
    texts = [text.text for text in svg.iter(f"{SVG}text")]
    assert texts[-3:] == ["Latency of each core (c2c)", "10 ns", "17 ns"]
    assert sorted(drawn_cpus(drawing(threaded()))) == sorted(drawn_cpus(drawing(threaded(), LATENCY)))


def test_a_uniform_machine_has_no_pattern() -> None:
    latency = CoreLatency("x", {cpu: (100 + cpu % 2) * 1e-9 for cpu in range(16)})
    svg = ET.fromstring(drawing(threaded(), latency))
    cores = {box.get("class") for box in svg.iter(f"{SVG}rect") if (box.get("class") or "").startswith("core")}
    assert cores == {"core step0"}
    assert [text.text for text in svg.iter(f"{SVG}text")][-2:] == ["100 ns", "120 ns"]
    assert lines(threaded(), 80, latency)[-2:] == [
        "  NUMA node 0  ▁▁▁▁▁▁▁▁  100 ns to 101 ns",
        "  NUMA node 1  ▁▁▁▁▁▁▁▁  100 ns to 101 ns",
    ]


def test_cores_that_were_not_measured_have_no_colour() -> None:
    svg = ET.fromstring(drawing(threaded(), CoreLatency("x", {0: 1e-9, 1: 1e-9})))
    classes = [box.get("class") or "" for box in svg.iter(f"{SVG}rect")]
    assert classes.count("core step0") == 2
    assert classes.count("core") == 6


def test_the_text_shows_the_latency_of_each_node() -> None:
    text = lines(threaded(), 80, LATENCY)
    assert text[-3:] == [
        "Latency of each core (c2c), by ascending CPU number:",
        "  NUMA node 0  ▁▂▃▄▁▂▃▄  10 ns to 13 ns",
        "  NUMA node 1  ▅▆▇█▅▆▇   14 ns to 17 ns",
    ]
    wide = lines(threaded(8, 12), 80, CoreLatency("x", {cpu: cpu * 1e-9 for cpu in range(192)}))
    assert max(map(len, wide)) <= 80
