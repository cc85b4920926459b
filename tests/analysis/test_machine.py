"""The description of a machine in rows: readable units, no repetition, and no unknown values."""

from __future__ import annotations

from asct.analysis.machine import host_rows, sections, unknown, unknown_lines
from asct.sdk.facts import (
    BlockDevice,
    Cache,
    CacheLevel,
    CoreKind,
    Cpu,
    Firmware,
    FrequencyPolicy,
    HostFacts,
    HugePages,
    IdleState,
    Interface,
    Memory,
    MemoryModule,
    Mount,
    Network,
    NodePerformance,
    NumaNode,
    NvmeHealth,
    Perf,
    Product,
    System,
    Thermal,
    ToolFact,
)
from asct.store.model import HostEntry


def facts(**parts: object) -> HostFacts:
    return HostFacts(host="h", collected_at="2026-01-02T00:00:00Z", **parts)  # type: ignore[arg-type]


def told(known: HostFacts) -> dict[str, str]:
    """Return a mapping from the label of each row to its value."""
    rows = [row for one in sections(known) for row in (*one.rows, *one.details)]
    assert all(label and value for label, value in rows)
    return dict(rows)


def test_nothing_is_said_of_what_is_not_known() -> None:
    assert sections(facts()) == []
    assert host_rows(HostEntry(name="h", transport="local", status="ok"), None) == [("Connection", "local")]


def test_modules_are_counted_by_kind() -> None:
    full = MemoryModule(
        slot="A1", size_bytes=32 << 30, type="DDR4", rate=3.2e9, rated=3.2e9, manufacturer="ACME", ranks=2
    )
    empty = MemoryModule(slot="A2", size_bytes=0)
    memory = Memory(
        modules=[full, full.model_copy(update={"slot": "B1"}), empty], channels=2, theoretical_bandwidth=51.2e9
    )
    rows = told(facts(memory=memory))
    assert rows["Installed"] == "2 x 32 GiB DDR4 3200 MT/s in 3 slots, 2 channels"
    assert rows["Peak bandwidth"] == "51.2 GB/s theoretical"
    assert rows["A1"] == "32 GiB DDR4 3200 MT/s, 2 ranks, ACME"
    assert rows["A2"] == "empty"
    assert told(facts(memory=Memory(modules=[empty])))["Installed"] == "no modules in 1 slot"


def test_processors_of_several_kinds() -> None:
    kinds = [
        CoreKind(microarchitecture="Cortex-X3", cpus=[7], cores=1, max_hz=3.2e9, capacity=1024),
        CoreKind(model="unnamed", cpus=[0, 1, 2], cores=3, min_hz=1e9, max_hz=2e9),
    ]
    policies = [FrequencyPolicy(cpus=[0, 1], governor="powersave"), FrequencyPolicy(cpus=[2], governor="powersave")]
    idle = [IdleState(name="C6", description="deep", latency_us=133, residency_us=600, disabled_cpus=[1])]
    cpu = Cpu(
        cpus=8, cores=8, sockets=1, threads_per_core=1, kinds=kinds, policies=policies, idle_states=idle, sve_bits=128
    )
    rows = told(facts(cpu=cpu))
    assert rows["CPUs"] == "8; 1 socket, 8 cores, 1 thread per core"
    assert rows["Kind 0"] == "Cortex-X3; 1 core, CPUs 7; 3.2 GHz; capacity 1024"
    assert rows["Kind 1"] == "unnamed; 3 cores, CPUs 0-2; 1 GHz-2 GHz"
    assert rows["Clock of CPUs 0-2"] == "powersave"
    assert rows["Idle state C6"] == "deep, wake-up 133 µs, target residency 600 µs, disabled on CPUs 1"


def test_instances_of_caches_are_folded() -> None:
    many = CacheLevel(level=2, type="Unified", size_bytes=1 << 20, line_bytes=64, instances=[[n] for n in range(64)])
    rows = told(facts(cache_levels=[many], caches=[Cache(level=2, type="Unified", size_bytes=1 << 20)]))
    assert rows["L2"] == "64 x 1M, 64 B lines, CPUs 0 | 1 | 2 | ... | 63"
    assert rows["Caches"] == "L2 1M"


def test_nodes() -> None:
    firmware = NodePerformance(read_bandwidth=1e11, read_latency=1e-7)
    pools = [HugePages(page_bytes=2 << 20, total=5, free=3), HugePages(page_bytes=1 << 30, total=0, free=0)]
    nodes = [
        NumaNode(id=0, cpus=[0, 1], memory_bytes=1 << 30, distances=[10, 20], huge_pages=pools, firmware=firmware),
        NumaNode(id=8, cpus=[], distances=[20, 10]),
    ]
    rows = told(facts(nodes=nodes))
    assert rows["NUMA nodes"] == "2 (0: 1 GiB, 8: size unknown)"
    assert rows["Node 0"] == (
        "CPUs 0-1, 1 GiB, 2 MiB pages: 3 of 5 free, no 1 GiB pages, firmware reports 100 GB/s, 100 ns"
    )
    assert (rows["Node 8"], rows["Distances from node 8"]) == ("no CPUs", "20 10")


def test_devices() -> None:
    health = NvmeHealth(celsius=38.0, percentage_used=3, written_bytes=10**13, media_errors=1, critical_warning=4)
    drive = BlockDevice(
        name="nvme0n1", kind="disk", size_bytes=960197124096, transport="nvme", model="ACME X1", rotational=False,
        scheduler="none", queue_requests=1023, hardware_queues=64,
        link="16.0 GT/s PCIe x4", link_max="32.0 GT/s PCIe x4",
        holders=["dm-0"], nvme=health, logical_bytes=512, physical_bytes=4096,
    )  # fmt: skip
    part = BlockDevice(name="nvme0n1p1", kind="partition", parent="nvme0n1", mounted_at=["/"])
    mount = Mount(
        source="/dev/nvme0n1p1", target="/", type="ext4", options=["rw"], size_bytes=1 << 40, free_bytes=1 << 39
    )
    rows = told(facts(block_devices=[drive, part], mounts=[mount]))
    assert rows["Drives"] == "nvme0n1 960 GB"
    assert rows["nvme0n1"] == (
        "disk, 960 GB, nvme ACME X1, 512/4096 B blocks, scheduler none, 1023 requests in 64 queues, "
        "link 16.0 GT/s PCIe x4 (up to 32.0 GT/s PCIe x4), used by dm-0, 38 degC, 3 % of rated life used, "
        "10 TB written, 1 media error, critical warning 0x04"
    )
    assert rows["nvme0n1p1"] == "partition of nvme0n1, mounted at /"
    assert rows["/"] == "ext4 on /dev/nvme0n1p1, 512 GiB of 1 TiB free, rw"


def test_network() -> None:
    fast = Interface(
        name="eth0", kind="ethernet", state="up", mtu=9000, speed=25e9, rx_queues=8, tx_queues=8, ipv4=["192.0.2.10/24"]
    )
    slow = Interface(name="eth1", kind="ethernet", speed=1e8, node=1, members=["a", "b"])
    rows = told(
        facts(network=Network(ipv4="192.0.2.10", gateways=["192.0.2.1"], namespace="own", interfaces=[fast, slow]))
    )
    assert rows["eth0"] == "ethernet, up, mtu 9000, 25 Gb/s, 8/8 rx/tx queues, 192.0.2.10/24"
    assert rows["eth1"] == "ethernet, 100 Mb/s, node 1, of a, b"
    assert (rows["Local IPv4"], rows["Network namespace"]) == ("192.0.2.10", "private")


def test_system() -> None:
    system = System(
        uid=0, virtualization="kvm", container="docker", cloud="aws", instance_type="c7g.metal", uptime_s=90061.0,
        product=Product(manufacturer="ACME", name="Box"), firmware=Firmware(vendor="V", version="1", boot="uefi"),
        kernel_options={"CONFIG_HZ": "250", "CONFIG_NUMA": "y", "CONFIG_KASAN": "n"}, clock_source="tsc",
        clock_sources=["tsc", "hpet"],
        mitigations={"mds": "Not affected", "retbleed": "Vulnerable", "l1tf": "Mitigation: x"},
    )  # fmt: skip
    perf = Perf(paranoid=-1, counters=6, bpf=True, btf=False)
    tools = {"fio": ToolFact(path="/usr/bin/fio", version="3.33")}
    thermal = [Thermal(name="die", celsius=41.5, critical_celsius=100.0)]
    rows = told(facts(system=system, perf=perf, tools=tools, thermal=thermal, limits={"memlock": None, "nofile": 5}))
    assert rows["Machine"] == "ACME Box"
    assert (rows["Virtualization"], rows["Cloud"], rows["Account"]) == ("docker on kvm", "aws, c7g.metal", "root")
    assert (rows["Uptime"], rows["Firmware"], rows["Boot firmware"]) == ("1 d 1 h", "V 1", "UEFI")
    assert (rows["Options"], rows["Options not set"], rows["Clock source"]) == (
        "HZ=250 NUMA",
        "KASAN",
        "tsc (also hpet)",
    )
    assert (rows["Vulnerable to"], rows["l1tf"], rows["Not vulnerable to"]) == ("retbleed", "Mitigation: x", "mds")
    assert (rows["perf_event_paranoid"], rows["CPU counters"], rows["BPF"]) == ("-1", "6", "yes, without BTF")
    assert (rows["Tools"], rows["fio"], rows["Limits"]) == ("fio 3.33", "/usr/bin/fio", "memlock unlimited, nofile 5")
    assert rows["Sensor die"] == "41.5 degC, critical at 100 degC"


def test_reasons_are_said_once_those_of_root_first() -> None:
    reasons = {"a.x": "no file", "b": "needs root", "a.y": "no file", "c": "odd\x1b[31m"}
    known = facts(unknown=reasons)
    assert unknown(known)[0] == ("needs root", "b")
    assert unknown(known)[1] == ("no file", "a.x, a.y")
    assert "\x1b" not in unknown(known)[2][0]
    assert unknown(known, "a") == [("no file", "a.x, a.y")]


def test_the_report_has_the_rows_but_not_the_details() -> None:
    many = {f"cpu.f{number}": "not present" for number in range(12)}
    known = facts(cpu=Cpu(model="A chip\x07", flags=["fpu"]), unknown=many)
    rows = host_rows(HostEntry(name="h", transport="ssh", address="10.0.0.7", status="ok"), known)
    assert rows[:2] == [("Connection", "ssh 10.0.0.7"), ("Processor", "A chip\N{REPLACEMENT CHARACTER}")]
    assert "Flags" not in dict(rows)
    assert [text for text in unknown_lines(known) if text.endswith("and 4 more: not present")]
