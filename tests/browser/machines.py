"""Facts of synthetic machines, from a small virtual machine to a server with 192 CPUs, including the devices on their
buses."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from asct.sdk.facts import (
    BlockDevice,
    Cache,
    CacheLevel,
    CoreKind,
    Cpu,
    FrequencyPolicy,
    HostFacts,
    HugePages,
    Interface,
    Load,
    LogicalCpu,
    Memory,
    MemoryModule,
    Network,
    NumaNode,
    NvmeHealth,
    PciDevice,
    Product,
    System,
    ToolFact,
)  # fmt: skip

GIB = 1 << 30
COLLECTED = "2026-11-21T04:28:13Z"


@dataclass(frozen=True)
class Shape:
    """The number of each part within the part above it. `devices` is the number of devices of each kind on every
    node."""

    sockets: int = 1
    nodes: int = 1
    clusters: int = 1
    cores: int = 4
    threads: int = 2
    devices: int = 1
    virtual: bool = False

    @property
    def all_cores(self) -> int:
        return self.sockets * self.nodes * self.clusters * self.cores

    @property
    def cpus(self) -> range:
        return range(self.all_cores * self.threads)

    def core(self, cpu: int) -> int:
        """Return the core of a CPU. The second threads are numbered after all first threads, as on most x86 servers."""
        return cpu % self.all_cores

    def cluster(self, cpu: int) -> int:
        return self.core(cpu) // self.cores

    def node(self, cpu: int) -> int:
        return self.cluster(cpu) // self.clusters

    def socket(self, cpu: int) -> int:
        return self.node(cpu) // self.nodes

    def groups(self, part: str) -> list[list[int]]:
        """Return the CPUs of each core, cluster, node or socket."""
        of = getattr(self, part)
        return [[cpu for cpu in self.cpus if of(cpu) == number] for number in range(1 + max(map(of, self.cpus)))]


SMALL = Shape(virtual=True)
SERVER = Shape(sockets=2, nodes=1, clusters=2, cores=4, threads=1, devices=2)
LARGE = Shape(sockets=2, nodes=4, clusters=2, cores=6, threads=2)


def facts(host: str, shape: Shape = SMALL) -> HostFacts:
    """Return the facts of a quiet machine with this shape."""
    cpus, memory = list(shape.cpus), (32 if shape.virtual else 64) * GIB
    nodes = len(shape.groups("node"))
    drives, cards = list(_drives(shape)), list(_cards(shape))
    return HostFacts(
        host=host,
        collected_at=COLLECTED,
        system=_system(host, shape),
        cpu=_cpu(shape),
        caches=[
            Cache(level=level.level, type=level.type, size_bytes=level.size_bytes or 0, line_bytes=64,
                  shared_cpus=level.instances[0])
            for level in _levels(shape)
        ],
        cache_levels=_levels(shape),
        nodes=[
            NumaNode(id=number, cpus=mine, memory_bytes=memory, free_bytes=memory * 9 // 10,
                     available_bytes=memory * 9 // 10, distances=_distances(shape, number))
            for number, mine in enumerate(shape.groups("node"))
        ],
        memory=_memory(shape, nodes * memory),
        block_devices=drives,
        pci=[] if shape.virtual else [*map(_function, (*drives, *cards)), *_gpus(shape)],
        network=Network(ipv4="192.0.2.10", gateways=["192.0.2.1"], namespace="host", interfaces=[
            Interface(name="lo", kind="loopback", state="up", mtu=65536, ipv4=["127.0.0.1/8"]), *cards,
        ]),
        load=Load(load1=0.08, load5=0.21, load15=0.3, cpu_pressure_avg10=0.0, running=1),
        tools={
            "fio": ToolFact(path="/usr/bin/fio", version="fio-3.39", features=["io_uring", "libaio", "psync"]),
            "mpstat": ToolFact(path="/usr/bin/mpstat"),
        },
        io_uring=True,
        work_free_bytes=210 * GIB,
        work_filesystem="ext4",
        unknown={"cpu.governor": "no cpufreq in this guest"} if shape.virtual else {},
        not_applicable={"cpu.sve_bits": "only Arm CPUs have SVE"} if cpus else {},
    )  # fmt: skip


def _system(host: str, shape: Shape) -> System:
    product = Product() if shape.virtual else Product(manufacturer="Example", name="R2 Server", serial="SN0042")
    return System(
        hostname=host, arch="x86_64", byte_order="little", kernel="6.12.38-amd64", os="Debian GNU/Linux 13 (trixie)",
        libc="glibc 2.41", uid=1000, uptime_s=86_400.0, virtualization="kvm" if shape.virtual else "none",
        container="none", product=product, clock_source="tsc", command_line="BOOT_IMAGE=/vmlinuz root=/dev/vda1 quiet",
        mitigations={"spectre_v2": "Mitigation: Enhanced IBRS", "meltdown": "Not affected"},
    )  # fmt: skip


def _cpu(shape: Shape) -> Cpu:
    cpus, clock = list(shape.cpus), 3.4e9
    logical = [
        LogicalCpu(cpu=cpu, core=shape.core(cpu), cluster=shape.cluster(cpu), die=shape.socket(cpu),
                   socket=shape.socket(cpu), node=shape.node(cpu), kind=0)
        for cpu in cpus
    ]  # fmt: skip
    kind = CoreKind(
        microarchitecture="Zen 5", model="Example 9575", vendor="AuthenticAMD", cpus=cpus, cores=shape.all_cores,
        threads_per_core=shape.threads, min_hz=1.5e9, max_hz=clock,
    )  # fmt: skip
    policies = [] if shape.virtual else [
        FrequencyPolicy(cpus=cpus, driver="amd-pstate-epp", governor="performance", lowest_hz=1.5e9, highest_hz=clock,
                        min_hz=1.5e9, max_hz=clock, current_hz=clock)
    ]  # fmt: skip
    return Cpu(
        cpus=len(cpus), online=cpus, allowed=cpus, model="Example 9575 Processor", vendor="AuthenticAMD",
        microarchitecture="Zen 5", instruction_set="x86-64-v4", sockets=shape.sockets, cores=shape.all_cores,
        clusters=len(shape.groups("cluster")), threads_per_core=shape.threads, kinds=[kind], logical=logical,
        frequency_hz=clock, flags=["sse2", "avx2", "avx512f"],
        governor=None if shape.virtual else "performance", policies=policies, boost=True,
    )  # fmt: skip


def _levels(shape: Shape) -> list[CacheLevel]:
    cores, clusters = shape.groups("core"), shape.groups("cluster")
    return [
        CacheLevel(level=1, type="Data", size_bytes=48 << 10, line_bytes=64, ways=12, instances=cores),
        CacheLevel(level=1, type="Instruction", size_bytes=32 << 10, line_bytes=64, ways=8, instances=cores),
        CacheLevel(level=2, type="Unified", size_bytes=1 << 20, line_bytes=64, ways=16, instances=cores),
        CacheLevel(level=3, type="Unified", size_bytes=32 << 20, line_bytes=64, ways=16, instances=clusters),
    ]


def _distances(shape: Shape, node: int) -> list[int]:
    nodes = shape.sockets * shape.nodes
    return [
        10 if other == node else 12 if other // shape.nodes == node // shape.nodes else 32 for other in range(nodes)
    ]


def _memory(shape: Shape, total: int) -> Memory:
    modules = [] if shape.virtual else [
        MemoryModule(slot=f"P{socket}-DIMM-{letter}1", size_bytes=total // shape.sockets // 4, type="DDR5",
                     data_bits=64, rate=6.4e9, rated=6.4e9, manufacturer="Example", channel=f"P{socket}-{letter}")
        for socket in range(shape.sockets)
        for letter in "ABCD"
    ]  # fmt: skip
    return Memory(
        total_bytes=total, available_bytes=total * 9 // 10, page_bytes=4096, thp="madvise",
        huge_pages=[HugePages(page_bytes=2 << 20, total=0, free=0)], modules=modules, channels=len(modules) or None,
        theoretical_bandwidth=len(modules) * 51.2e9 or None, swap_total_bytes=0,
    )  # fmt: skip


def _places(shape: Shape, slot: int) -> Iterator[tuple[int, int, str]]:
    """Yield a number, the node and the PCI address of each device in a slot of the bus."""
    number = 0
    for node in range(shape.sockets * shape.nodes):
        for function in range(shape.devices):
            yield number, node, f"{node:04x}:{0x40 + 0x10 * slot + function:02x}:00.0"
            number += 1


def _drives(shape: Shape) -> Iterator[BlockDevice]:
    if shape.virtual:
        yield BlockDevice(name="vda", kind="disk", size_bytes=256 * GIB, transport="virtio", rotational=False,
                          logical_bytes=512, physical_bytes=4096, scheduler="none", driver="virtio_blk",
                          mounted_at=["/"])  # fmt: skip
        return
    for number, node, address in _places(shape, 0):
        yield BlockDevice(
            name=f"nvme{number}n1", kind="disk", size_bytes=3_840_755_982_336, transport="nvme", model="ACME X1 3.84TB",
            serial=f"S6XZNX0R{number:06}", firmware="GXA7401Q", rotational=False, logical_bytes=512,
            physical_bytes=4096, scheduler="none", hardware_queues=32, write_cache="write back", discard=True,
            node=node, pci_address=address, link="16.0 GT/s PCIe x4", link_max="16.0 GT/s PCIe x4", driver="nvme",
            nvme=NvmeHealth(celsius=38.0, critical_warning=0, available_spare=100, percentage_used=1),
        )  # fmt: skip


def _cards(shape: Shape) -> Iterator[Interface]:
    if shape.virtual:
        yield Interface(name="ens3", kind="ethernet", state="up", mtu=1460, driver="virtio_net", speed=10e9,
                        mac="52:54:00:12:34:56", ipv4=["192.0.2.10/24"])  # fmt: skip
        return
    for number, node, address in _places(shape, 1):
        yield Interface(
            name=f"enp{number}s0", kind="ethernet", state="up" if number == 0 else "down", mtu=1500,
            mac=f"02:00:00:00:00:{number:02x}", speed=100e9, driver="mlx5_core", node=node, pci_address=address,
            ipv4=["192.0.2.10/24"] if number == 0 else [],
        )  # fmt: skip


def _function(one: BlockDevice | Interface) -> PciDevice:
    drive = isinstance(one, BlockDevice)
    address = one.pci_address or ""
    return PciDevice(
        address=address, kind="NVMe controller" if drive else "Ethernet controller",
        class_code="010802" if drive else "020000", vendor_id="144d" if drive else "15b3",
        device_id="a80a" if drive else "101d", driver=one.driver, node=one.node, root=address[:7],
        bridges=[f"{address[:4]}:{address[5:7]}:01.{int(drive)}"], link="16.0 GT/s PCIe x4", names=[one.name],
    )  # fmt: skip


def _gpus(shape: Shape) -> Sequence[PciDevice]:
    return [
        PciDevice(
            address=f"{node:04x}:c1:00.0",
            kind="3D controller",
            class_code="030200",
            vendor_id="10de",
            device_id="2330",
            driver="nvidia",
            node=node,
            root=f"{node:04x}:c0",
            bridges=[f"{node:04x}:c0:01.1"],
            link="32.0 GT/s PCIe x16",
            link_max="32.0 GT/s PCIe x16",
            names=[f"card{node}"],
        )
        for node in range(shape.sockets * shape.nodes)
    ]
