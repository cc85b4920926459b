"""Sections about processors and caches, memory and NUMA nodes, drives, file systems and the network."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from statistics import median

from asct.analysis.grid import size_text
from asct.analysis.machine.rows import (
    MachineSection,
    TextRow,
    clock,
    cpus,
    decimal_size,
    listed,
    pcie_link,
    phrase,
    quantity,
    section,
    size,
    yes,
)
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
    Memory,
    MemoryModule,
    Mount,
    NumaNode,
    NvmeHealth,
    PciDevice,
)
from asct.values.cpulist import format_cpulist
from asct.values.grouping import grouped
from asct.values.text import counted

_MOST_INSTANCES = 4
_WITHOUT_SMT = {"notsupported": "not supported", "notimplemented": "not implemented by the Linux kernel"}
"""Descriptions of the values of /sys/devices/system/cpu/smt/control
(Documentation/ABI/testing/sysfs-devices-system-cpu)."""
_TYPES = {"Data": "d", "Instruction": "i", "Unified": ""}


def sections(facts: HostFacts) -> Iterator[MachineSection]:
    """Yield the sections about the hardware, from the CPU to the network."""
    caches = ((cache_name(level), _level(level)) for level in facts.cache_levels)
    yield section("CPU", _cpu(facts.cpu), _cpu_details(facts.cpu))
    yield section("Caches", _caches(facts), caches)
    yield section("Memory", _memory(facts.memory), _modules(facts.memory))
    yield section("NUMA", _nodes(facts), _node_details(facts))
    rows = [
        ("Drives", _drives(facts.block_devices)),
        ("Work folder", listed(facts.work_filesystem, phrase("{} free", size(facts.work_free_bytes)))),
        ("io_uring", yes(facts.io_uring, "allowed", "not allowed")),
    ]
    yield section("Storage", rows, ((device.name, _device(device)) for device in facts.block_devices))
    yield section("PCI", (), _pci(facts.pci))
    yield section("File systems", (), ((mount.target, _mount(mount)) for mount in facts.mounts))
    yield network(facts)


def processor(cpu: Cpu) -> str:
    """Return the processor model.

    If there are several kinds of cores, return the number of each, preceded by the common model name if there is one:
    `4 x Cortex-A55, 4 x Cortex-A78`.
    """
    models = {kind.model for kind in cpu.kinds}
    one = cpu.model or cpu.vendor or ""
    if len(cpu.kinds) < 2:
        return one
    if len(models) > 1:
        return ", ".join(f"{_cores(kind)} x {kind.model or kind.microarchitecture or 'unknown'}" for kind in cpu.kinds)
    cores = ", ".join(f"{_cores(kind)} x {_core(kind)}" for kind in cpu.kinds)
    return f"{one} ({cores})" if one else cores


def _cores(kind: CoreKind) -> int:
    """Return the number of cores, or of CPUs if the Linux kernel does not report cores."""
    return kind.cores or len(kind.cpus)


def _core(kind: CoreKind) -> str:
    if kind.microarchitecture:
        return kind.microarchitecture
    return f"core of capacity {kind.capacity}" if kind.capacity is not None else "core of unknown type"


def _cpu(cpu: Cpu) -> Iterator[TextRow]:
    yield "Processor", processor(cpu)
    yield "Microarchitecture", cpu.microarchitecture or ""
    identities = (", ".join(f"{name} {value}" for name, value in kind.identity.items()) for kind in cpu.kinds)
    yield "Identification", "; ".join(dict.fromkeys(filter(None, identities)))
    yield "Instruction set", cpu.instruction_set or ""
    if cpu.cpus is not None:
        several = [counted(count, word) for count, word in ((cpu.dies, "die"), (cpu.clusters, "cluster")) if count]
        shape = listed(counted(cpu.sockets, "socket"), *several, counted(cpu.cores, "core"), _threads(cpu))
        yield "CPUs", listed(str(cpu.cpus), shape, by="; ")
    yield "CPUs offline", cpus(cpu.offline)
    if cpu.allowed and cpu.online and set(cpu.allowed) != set(cpu.online):
        yield "CPUs allowed", cpus(cpu.allowed)
    yield "CPUs isolated", cpus(cpu.isolated)
    yield "Tickless CPUs", cpus(cpu.nohz_full)
    yield "CPU limit", phrase("{:g} CPUs (control group)", cpu.quota)
    yield "SMT", _smt(cpu)
    yield "Clock", clock(cpu.frequency_hz)
    yield "Current clock", _now(cpu)
    yield "Governor", cpu.governor or ""
    yield "Boost", yes(cpu.boost, "on", "off")
    yield "Idle states", _idle(cpu)
    yield "Microcode", cpu.microcode or ""
    bits = (("physical", cpu.physical_address_bits), ("virtual", cpu.virtual_address_bits))
    yield "Address sizes", listed(*(f"{number} bits {name}" for name, number in bits if number))


def _threads(cpu: Cpu) -> str:
    """Return the number of threads per core as text: `2 threads per core`, or `1 to 2 threads per core` if cores
    differ."""
    least = min(Counter(one.core for one in cpu.logical if one.core is not None).values(), default=None)
    most = counted(cpu.threads_per_core, "thread")
    if not most:
        return ""
    return f"{least} to {most} per core" if least and least != cpu.threads_per_core else f"{most} per core"


def _now(cpu: Cpu) -> str:
    """Return the clock frequency of each kind of core at the time when the facts were read: the median and the range of
    its frequency policies."""
    several = len(cpu.kinds) > 1
    clocks_by_kind = []
    for kind in cpu.kinds:
        members = set(kind.cpus)
        policies = [one for one in cpu.policies if one.current_hz and not members.isdisjoint(one.cpus)]
        clocks = [one.current_hz for one in policies if one.current_hz]
        if clocks:
            low, middle, high = clock(min(clocks)), clock(median(clocks)), clock(max(clocks))
            text = low if low == high else f"{middle} ({low} to {high})"
            clocks_by_kind.append(f"{_core(kind)} {text}" if several else text)
    return "; ".join(clocks_by_kind)


def _smt(cpu: Cpu) -> str:
    active = None if cpu.smt_active is None else yes(cpu.smt_active, "active", "not active")
    if cpu.smt in _WITHOUT_SMT:
        return _WITHOUT_SMT[cpu.smt]
    return listed("off until reboot" if cpu.smt == "forceoff" else cpu.smt, active)


def _idle(cpu: Cpu) -> str:
    names = ", ".join(state.name for state in cpu.idle_states)
    return listed(names, phrase("driver {}", cpu.idle_driver), phrase("governor {}", cpu.idle_governor), by="; ")


def _cpu_details(cpu: Cpu) -> Iterator[TextRow]:
    if len(cpu.kinds) > 1:
        for number, kind in enumerate(cpu.kinds):
            clocks = "-".join(clock(one) for one in (kind.min_hz, kind.max_hz) if one)
            unlike = kind.threads_per_core is not None and len({one.threads_per_core for one in cpu.kinds}) > 1
            threads = f"{counted(kind.threads_per_core, 'thread')} per core" if unlike else ""
            shape = listed(counted(kind.cores, "core"), threads, phrase("CPUs {}", cpus(kind.cpus)))
            name = kind.microarchitecture or kind.model or "unknown type"
            yield f"Kind {number}", listed(name, shape, clocks, phrase("capacity {}", kind.capacity), by="; ")
    yield "BogoMIPS", phrase("{:.2f}", cpu.bogomips)
    yield "SVE", phrase("{}-bit vectors in a new process", cpu.sve_bits or None)
    for policy, members in _policies(cpu):
        yield f"Clock of CPUs {cpus(members)}", _policy(policy)
    for state in cpu.idle_states:
        yield (
            f"Idle state {state.name}",
            listed(
                state.description if state.description != state.name else None,
                phrase("wake-up {} µs", state.latency_us),
                phrase("target residency {} µs", state.residency_us),
                phrase("disabled on CPUs {}", cpus(state.disabled_cpus)),
            ),
        )
    yield "Flags", " ".join(cpu.flags)


def _policies(cpu: Cpu) -> list[tuple[FrequencyPolicy, list[int]]]:
    """Merge frequency policies that differ only in their CPUs and current clock."""
    groups = grouped(cpu.policies, lambda one: one.model_dump_json(exclude={"cpus", "current_hz"}))
    return [(same[0], sorted(cpu for one in same for cpu in one.cpus)) for same in groups.values()]


def _policy(policy: FrequencyPolicy) -> str:
    supported = "-".join(clock(one) for one in (policy.lowest_hz, policy.highest_hz) if one)
    limits = "-".join(clock(one) for one in (policy.min_hz, policy.max_hz) if one)
    return listed(
        listed(policy.driver, policy.governor, by=" "),
        supported,
        f"limited to {limits}" if limits and limits != supported else "",
        phrase("base {}", clock(policy.base_hz or None)),
        policy.energy_preference,
    )


def cache_name(cache: Cache | CacheLevel) -> str:
    """Return the level of a cache with a letter for its type, such as `L1d` or `L2`."""
    return f"L{cache.level}{_TYPES[cache.type]}"


def _caches(facts: HostFacts) -> Iterator[TextRow]:
    caches = (f"{cache_name(one)} {size_text(one.size_bytes)}" for one in facts.data_caches())
    yield "Caches", ", ".join(dict.fromkeys(caches))


def _level(level: CacheLevel) -> str:
    count = len(level.instances)
    shared = [format_cpulist(members) for members in level.instances]
    if len(shared) > _MOST_INSTANCES:
        shared = [*shared[: _MOST_INSTANCES - 1], "...", shared[-1]]
    each = size_text(level.size_bytes) if level.size_bytes is not None else "size unknown"
    return listed(
        f"{count} x {each}" if count else each,
        phrase("{} B lines", level.line_bytes or None),
        phrase("{} ways", level.ways or None),
        phrase("{} sets", level.sets or None),
        phrase("CPUs {}", " | ".join(shared)),
    )


def _memory(memory: Memory) -> Iterator[TextRow]:
    yield "Memory", listed(size(memory.total_bytes), phrase("{} available", size(memory.available_bytes)))
    yield "Memory limit", phrase("{} (control group)", size(memory.limit_bytes))
    yield "Installed", _installed(memory)
    yield "Peak bandwidth", phrase("{} theoretical", quantity(memory.theoretical_bandwidth, "B/s"))
    yield "Error correction", memory.ecc or ""
    yield "Page size", size(memory.page_bytes)
    yield "Huge pages", _pools(memory.huge_pages)
    yield "Transparent huge pages", listed(memory.thp, phrase("defrag {}", memory.thp_defrag))
    yield "NUMA balancing", yes(memory.numa_balancing, "on", "off")
    yield "Zone reclaim", phrase("{}", memory.zone_reclaim)
    yield "Swap", _swap(memory)


def _pools(pools: list[HugePages]) -> str:
    """Describe the pools of reserved huge pages: `2 MiB pages: 3 of 5 free, no 1 GiB pages`."""
    return listed(
        *(
            f"{size(pool.page_bytes)} pages: {pool.free} of {pool.total} free"
            if pool.total
            else f"no {size(pool.page_bytes)} pages"
            for pool in pools
        )
    )


def _swap(memory: Memory) -> str:
    if not memory.swap_total_bytes:
        return "none" if memory.swap_total_bytes == 0 else ""
    free = phrase("{} free", size(memory.swap_free_bytes))
    return listed(size(memory.swap_total_bytes), free, phrase("swappiness {}", memory.swappiness))


def _kind(module: MemoryModule) -> str:
    rate = f"{module.rate / 1e6:.0f} MT/s" if module.rate else ""
    return listed(size(module.size_bytes), module.type, rate, by=" ")


def _installed(memory: Memory) -> str:
    """Describe the installed memory: `8 x 32 GiB DDR4 3200 MT/s in 16 slots, 8 channels`."""
    kinds = Counter(_kind(module) for module in memory.modules if module.size_bytes != 0)
    modules = listed(*(f"{count} x {kind or 'unknown type'}" for kind, count in kinds.items()))
    slots = f"in {counted(len(memory.modules), 'slot')}" if memory.modules else ""
    channels = counted(memory.channels, "channel")
    return listed(listed(modules or ("no modules" if memory.modules else ""), slots, by=" "), channels)


def _modules(memory: Memory) -> Iterator[TextRow]:
    for module in memory.modules:
        if module.size_bytes == 0:
            yield module.slot, listed("empty", module.bank)
            continue
        rated = f"rated {module.rated / 1e6:.0f} MT/s" if module.rated and module.rated != module.rate else ""
        bits = f"{module.data_bits} of {module.total_bits} bits" if module.data_bits and module.total_bits else ""
        maker = listed(module.manufacturer, module.part_number, by=" ")
        ranks = counted(module.ranks, "rank")
        yield module.slot, listed(_kind(module), rated, module.form_factor, bits, ranks, maker, module.bank)


def node_cpus(facts: HostFacts, node: NumaNode) -> str:
    """Return the CPUs of a node as text: `CPUs 0-3`, `no CPUs`, or `CPUs unknown`."""
    unknown = f"nodes.{node.id}.cpus" in facts.unknown
    return phrase("CPUs {}", cpus(node.cpus)) or ("CPUs unknown" if unknown else "no CPUs")


def _nodes(facts: HostFacts) -> Iterator[TextRow]:
    if facts.nodes:
        sizes = ", ".join(f"{node.id}: {size(node.memory_bytes) or 'size unknown'}" for node in facts.nodes)
        yield "NUMA nodes", f"{len(facts.nodes)} ({sizes})"


def _node_details(facts: HostFacts) -> Iterator[TextRow]:
    for node in facts.nodes:
        sizes = listed(size(node.memory_bytes), phrase("{} free", size(node.free_bytes)))
        behind = (f"behind a memory-side cache of {size_text(cache.size_bytes)}" for cache in node.caches)
        text = listed(node_cpus(facts, node), sizes, *behind, _pools(node.huge_pages), _firmware(node))
        yield f"Node {node.id}", text
    if len(facts.nodes) > 1:
        for node in facts.nodes:
            yield f"Distances from node {node.id}", " ".join(map(str, node.distances))


def _firmware(node: NumaNode) -> str:
    firmware = node.firmware
    if firmware is None:
        return ""
    figures = listed(quantity(firmware.read_bandwidth, "B/s"), quantity(firmware.read_latency, "s"))
    return phrase("firmware reports {}", figures)


def _drives(devices: list[BlockDevice]) -> str:
    """List the physical drives, excluding devices that are backed by a file or another device."""
    drives = [one for one in devices if one.kind == "disk"]
    return listed(*(listed(one.name, decimal_size(one.size_bytes), by=" ") for one in drives))


def _device(device: BlockDevice) -> str:
    queue = phrase("{} requests", device.queue_requests)
    blocks = "/".join(str(one) for one in (device.logical_bytes, device.physical_bytes) if one)
    return listed(
        listed(device.kind, phrase("of {}", device.parent), by=" "),
        decimal_size(device.size_bytes),
        listed(device.transport, device.model, by=" "),
        phrase("serial {}", device.serial),
        phrase("firmware {}", device.firmware),
        yes(device.rotational, "rotating", ""),
        yes(device.removable, "removable", ""),
        yes(device.read_only, "read only", ""),
        phrase("{} B blocks", blocks),
        phrase("scheduler {}", device.scheduler),
        listed(queue, counted(device.hardware_queues, "queue"), by=" in "),
        device.write_cache,
        phrase("node {}", device.node),
        device.pci_address,
        phrase("link {}", pcie_link(device)),
        device.driver,
        device.mapper_name,
        device.raid_level,
        phrase("of {}", device.backing_file),
        phrase("used by {}", device.holders),
        phrase("mounted at {}", device.mounted_at),
        _health(device.nvme),
    )


def _health(health: NvmeHealth | None) -> str:
    if health is None:
        return ""
    return listed(
        phrase("{:.0f} degC", health.celsius),
        phrase("{} % of rated life used", health.percentage_used),
        phrase("{} % spare", health.available_spare),
        phrase("{} written", decimal_size(health.written_bytes)),
        phrase("{} power-on hours", health.power_on_hours),
        counted(health.media_errors, "media error"),
        phrase("critical warning {:#04x}", health.critical_warning or None),
    )


def _pci(devices: list[PciDevice]) -> Iterator[TextRow]:
    """Yield the tree of root buses, bridges and functions, indented by depth."""
    seen: set[tuple[str, ...]] = set()
    for one in sorted(devices, key=lambda one: (one.root or "", one.bridges, one.address)):
        above = (f"bus {one.root or 'unknown'}", *one.bridges)
        for depth, name in enumerate(above):
            if above[: depth + 1] not in seen:
                seen.add(above[: depth + 1])
                yield f"{' ' * depth}{name}", "bridge" if depth else "root"
        yield f"{' ' * len(above)}{one.address}", _function(one)


def _function(one: PciDevice) -> str:
    ids = ":".join(number for number in (one.vendor_id, one.device_id) if number)
    return listed(
        listed(one.kind, ids, by=" "),
        ", ".join(one.names),
        phrase("node {}", one.node),
        phrase("link {}", pcie_link(one)),
        phrase("driver {}", one.driver),
    )


def _mount(mount: Mount) -> str:
    sizes = f"{size(mount.free_bytes)} of {size(mount.size_bytes)} free" if mount.size_bytes else ""
    return listed(f"{mount.type} on {mount.source}", sizes, *mount.options)


def network(facts: HostFacts) -> MachineSection:
    """Return the section with addresses and interfaces."""
    found = facts.network
    rows = [
        ("Local IPv4", found.ipv4 or ""),
        ("Local IPv6", found.ipv6 or ""),
        ("Gateways", ", ".join(found.gateways)),
        ("Network namespace", {"host": "the host's", "own": "private"}.get(found.namespace or "", "")),
        ("Named namespaces", ", ".join(f"{one.name}{' (this one)' if one.own else ''}" for one in found.namespaces)),
        *((f"Names of {address}", ", ".join(names)) for address, names in found.aliases.items()),
    ]
    return section("Network", rows, ((one.name, _interface(one)) for one in found.interfaces))


def _interface(one: Interface) -> str:
    queues = "/".join(str(count) for count in (one.rx_queues, one.tx_queues) if count is not None)
    return listed(
        one.kind,
        one.state,
        phrase("mtu {}", one.mtu),
        _speed(one.speed) or ("speed unknown" if one.state == "up" else ""),
        phrase("{} duplex", one.duplex),
        phrase("driver {}", one.driver),
        phrase("{} rx/tx queues", queues),
        phrase("node {}", one.node),
        one.pci_address,
        phrase("of {}", one.members),
        one.mac,
        *one.ipv4,
        *one.ipv6,
    )


def _speed(bits: float | None) -> str:
    """Format a bit rate: `25 Gb/s`, `100 Mb/s`."""
    if bits is None:
        return ""
    return f"{bits / 1e9:g} Gb/s" if bits >= 1e9 else f"{bits / 1e6:g} Mb/s"
