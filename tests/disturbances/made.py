"""Facts of two hosts as the parsers return them: one with every disturbance, and one without any."""

from __future__ import annotations

from typing import Any

from asct.disturbances.sample import ActivitySample
from asct.sdk.facts import (
    BlockDevice,
    Cpu,
    FrequencyPolicy,
    HostFacts,
    HugePages,
    IdleState,
    Load,
    LogicalCpu,
    Memory,
    Mount,
    NumaNode,
    NvmeHealth,
    Perf,
    System,
    Thermal,
    ToolFact,
)

GIB = 1 << 30
CPUS = list(range(8))
TOOLS = {name: ToolFact(path=f"/usr/bin/{name}") for name in ("fio", "mpstat")}


def policy(cpu: int, governor: str = "performance", **fields: Any) -> FrequencyPolicy:
    known = {"driver": "acpi-cpufreq", "highest_hz": 3.4e9, "max_hz": 3.4e9, **fields}
    return FrequencyPolicy(cpus=[cpu], governor=governor, **known)


def quiet(**fields: Any) -> HostFacts:
    """Return the facts of an idle, tuned server on which everything is known. `fields` replace parts of the facts."""
    known: dict[str, Any] = {
        "host": "h1",
        "collected_at": "2026-11-21T04:28:13Z",
        "system": System(uid=0, clock_source="tsc", clock_sources=["tsc", "hpet"], irqbalance=False),
        "cpu": Cpu(
            cpus=8, online=CPUS, allowed=CPUS, boost=False, smt="on", threads_per_core=2,
            policies=[policy(cpu) for cpu in CPUS], idle_states=[IdleState(name="POLL", latency_us=0)],
            logical=[LogicalCpu(cpu=cpu, core=cpu % 4) for cpu in CPUS],
        ),
        "memory": Memory(
            total_bytes=64 * GIB, thp="madvise", numa_balancing=False, numa_balancing_mode=0, zone_reclaim=0,
            swap_total_bytes=0, swap_free_bytes=0, swappiness=60, dirty_bytes=4096,
            huge_pages=[HugePages(page_bytes=2 << 20, total=0, free=0)],
        ),
        "nodes": [NumaNode(id=number, cpus=CPUS[number::2]) for number in (0, 1)],
        "load": Load(load1=0.1, cpu_pressure_avg10=0.0, memory_pressure_avg10=0.0, io_pressure_avg10=0.0),
        "thermal": [Thermal(name="Package id 0", celsius=41, critical_celsius=100)],
        "perf": Perf(paranoid=1),
        "io_uring": True,
        "io_uring_disabled": 0,
        "work_filesystem": "ext4",
        "tools": TOOLS,
    }  # fmt: skip
    return HostFacts(**{**known, **fields})


def with_cpu(**fields: Any) -> HostFacts:
    known = quiet()
    return known.model_copy(update={"cpu": known.cpu.model_copy(update=fields)})


def with_memory(**fields: Any) -> HostFacts:
    known = quiet()
    return known.model_copy(update={"memory": known.memory.model_copy(update=fields)})


def with_system(**fields: Any) -> HostFacts:
    known = quiet()
    return known.model_copy(update={"system": known.system.model_copy(update=fields)})


def drive(**fields: Any) -> BlockDevice:
    return BlockDevice(name="nvme0n1", kind="disk", rotational=False, **fields)


MOUNTS = [
    Mount(source="/dev/nvme0n1p1", target="/", type="ext4"),
    Mount(source="tmpfs", target="/tmp", type="tmpfs"),
    Mount(source="/dev/mapper/vg-srv", target="/srv", type="xfs"),
]


def disturbed() -> HostFacts:
    """Return the facts of a host with all disturbances at once."""
    cpus = Cpu(
        cpus=8, online=CPUS, allowed=CPUS[:6], isolated=[7], boost=True, smt="on", quota=2.5,
        policies=[
            *[policy(cpu, "schedutil", max_hz=2e9) for cpu in CPUS[:4]],
            *[policy(cpu, "powersave", energy_preference="balance_power", max_hz=1.5e9) for cpu in CPUS[4:]],
        ],
        idle_states=[IdleState(name="POLL", latency_us=0), IdleState(name="C6", latency_us=133, disabled_cpus=[3])],
        logical=[LogicalCpu(cpu=cpu, core=cpu % 4) for cpu in CPUS],
    )  # fmt: skip
    memory = Memory(
        total_bytes=64 * GIB, limit_bytes=8 * GIB, thp="never", numa_balancing=True, numa_balancing_mode=2,
        zone_reclaim=1, swap_total_bytes=8 * GIB, swap_free_bytes=7 * GIB, swappiness=60, dirty_bytes=GIB,
        huge_pages=[HugePages(page_bytes=2 << 20, total=3, free=1)],
    )  # fmt: skip
    health = NvmeHealth(critical_warning=0b10, percentage_used=104)
    system = System(
        uid=1000, clock_source="hpet", clock_sources=["hpet", "acpi_pm", "tsc"], irqbalance=True,
        irq_default_affinity=CPUS,
    )  # fmt: skip
    return quiet(
        system=system,
        cpu=cpus,
        memory=memory,
        load=Load(load1=9.5, cpu_pressure_avg10=34.8, memory_pressure_avg10=2.0, io_pressure_avg10=12.0),
        thermal=[Thermal(name="Package id 0", celsius=97, critical_celsius=100)],
        perf=Perf(paranoid=3),
        io_uring=False,
        io_uring_disabled=2,
        work_filesystem="tmpfs",
        tools={},
        block_devices=[drive(scheduler="bfq", link="8.0 GT/s PCIe x4", link_max="16.0 GT/s PCIe x4", nvme=health)],
    )


SAMPLE = ActivitySample(
    busy={**dict.fromkeys(CPUS, 0.0), 1: 0.9},
    steal=dict.fromkeys(CPUS, 0.05),
    interrupts={3: 12_000.0, 4: 3.0},
    running=4,
    pressure={"cpu": 0.4, "memory": 0.1, "io": 0.3},
    throttled=2,
)
EVERY = {
    "boost", "busy", "clock-limit", "clock-source", "cpu-mask", "cpu-quota", "dirty-pages", "drive-health", "governor",
    "heat", "huge-pages", "idle-states", "interrupts", "io-pressure", "io-scheduler", "io-uring", "irq-affinity",
    "irqbalance", "memory-file-system", "memory-limit", "memory-pressure", "mounted-target", "no-fio", "no-mpstat",
    "numa-balancing", "pcie-link", "perf-paranoid", "smt-siblings", "steal", "swap", "transparent-huge-pages",
    "zone-reclaim",
}  # fmt: skip
