"""The facts of a host (asct.facts/1). asct guesses nothing: an unknown field is null, and `unknown` contains the
reason."""

from __future__ import annotations

from typing import Literal

from pydantic import BaseModel, ConfigDict, Field

CacheType = Literal["Data", "Instruction", "Unified"]


class Fact(BaseModel):
    """Base class of the parts of asct.facts/1. Instances are read-only; extra fields and NaN are rejected."""

    model_config = ConfigDict(extra="forbid", frozen=True, populate_by_name=True, allow_inf_nan=False, defer_build=True)


class Cache(Fact):
    """A cache of CPU 0 (or of the first online CPU). Sizes are in bytes."""

    level: int
    type: CacheType
    size_bytes: int
    line_bytes: int | None = None
    ways: int | None = None
    shared_cpus: list[int] = Field(default_factory=list)


class CacheLevel(Fact):
    """All caches of a machine that are identical.

    `instances` lists, for each cache, the online CPUs that share it; the list is empty if the Linux kernel does not
    report them. Sizes are in bytes, or null if they are not reported.
    """

    level: int
    type: CacheType
    size_bytes: int | None = None
    line_bytes: int | None = None
    ways: int | None = None
    sets: int | None = None
    instances: list[list[int]] = Field(default_factory=list)


class LogicalCpu(Fact):
    """The position of an online CPU in the topology. `core`, `cluster`, `die` and `socket` are numbered from 0 across
    the whole machine, in the order of their first CPUs; `kind` is an index into Cpu.kinds."""

    cpu: int
    core: int | None = None
    cluster: int | None = None
    die: int | None = None
    socket: int | None = None
    node: int | None = None
    kind: int | None = None


class CoreKind(Fact):
    """The cores of one design. Most machines have one kind; big.LITTLE and hybrid machines have several.

    `identity` contains the numbers that determine the name: implementer, variant, part and revision on Arm (MIDR_EL1);
    family, model and stepping on x86. `capacity` is the Linux kernel's cpu_capacity, which is 1024 for the fastest
    core.
    """

    microarchitecture: str | None = None
    model: str | None = None
    vendor: str | None = None
    identity: dict[str, int] = Field(default_factory=dict)
    cpus: list[int] = Field(default_factory=list)
    cores: int | None = None
    threads_per_core: int | None = None
    min_hz: float | None = None
    max_hz: float | None = None
    capacity: int | None = None


class FrequencyPolicy(Fact):
    """CPUs whose clocks change together (Documentation/admin-guide/pm/cpufreq.rst). Clocks are in Hz.

    `lowest_hz` and `highest_hz` are the limits of the hardware, `min_hz` and `max_hz` the configured limits.
    `current_hz` is the clock at the time when the facts were read; on x86, it is the median over the CPUs in
    /proc/cpuinfo.
    """

    cpus: list[int]
    driver: str | None = None
    governor: str | None = None
    lowest_hz: float | None = None
    highest_hz: float | None = None
    base_hz: float | None = None
    min_hz: float | None = None
    max_hz: float | None = None
    current_hz: float | None = None
    energy_preference: str | None = None


class IdleState(Fact):
    """A state that idle CPUs can enter, except those in `disabled_cpus`. Leaving the state takes `latency_us`
    microseconds."""

    name: str
    description: str | None = None
    latency_us: int | None = None
    residency_us: int | None = None
    disabled_cpus: list[int] = Field(default_factory=list)


class Cpu(Fact):
    """The processors. `cpus` is what lscpu prints as `CPU(s)`, `allowed` is the affinity mask of the account under
    which asct runs, and `microcode` is the revision that the Linux kernel reports (x86 only). `frequency_hz` is the
    highest clock of the first CPU. `vendor` and `model` describe the first CPU; if `kinds` differ, `microarchitecture`
    and `instruction_set` contain every distinct value.

    `instruction_set` is the version in the core's manual (`ARMv8.2-A`), the lowest version with all features of the
    core (`ARMv8.4-A or later`), a psABI level (`x86-64-v3`), or the RISC-V ISA string. `sve_bits` is the SVE vector
    length of a new process: the Linux kernel's default, which may be less than the hardware supports.

    `bogomips` is the Linux kernel's delay constant for the first CPU (BogoMIPS in lscpu), not a measure of speed.

    `quota` is the CPU limit of the control groups as a number of CPUs (for example 2.5), or null if there is none.
    `boost` is true if clocks above the nominal one are allowed. `isolated` and `nohz_full` are the Linux kernel's CPU
    lists; `smt` is the content of /sys/devices/system/cpu/smt/control, and `smt_active` is true if cores currently run
    several threads.
    """

    cpus: int | None = None
    online: list[int] = Field(default_factory=list)
    offline: list[int] = Field(default_factory=list)
    allowed: list[int] = Field(default_factory=list)
    model: str | None = None
    vendor: str | None = None
    microarchitecture: str | None = None
    instruction_set: str | None = None
    sockets: int | None = None
    dies: int | None = None
    clusters: int | None = None
    cores: int | None = None
    threads_per_core: int | None = None
    kinds: list[CoreKind] = Field(default_factory=list)
    logical: list[LogicalCpu] = Field(default_factory=list)
    flags: list[str] = Field(default_factory=list)
    bogomips: float | None = None
    physical_address_bits: int | None = None
    virtual_address_bits: int | None = None
    sve_bits: int | None = None
    governor: str | None = None
    microcode: str | None = None
    frequency_hz: float | None = None
    policies: list[FrequencyPolicy] = Field(default_factory=list)
    boost: bool | None = None
    idle_driver: str | None = None
    idle_governor: str | None = None
    idle_states: list[IdleState] = Field(default_factory=list)
    smt: str | None = None
    smt_active: bool | None = None
    isolated: list[int] = Field(default_factory=list)
    nohz_full: list[int] = Field(default_factory=list)
    quota: float | None = None


class HugePages(Fact):
    """A pool of huge pages, either for the whole machine or for one node."""

    page_bytes: int
    total: int
    free: int


class NodePerformance(Fact):
    """The performance of a node's memory as seen from the nearest CPUs, according to the firmware (ACPI HMAT; class
    access1 in Linux). Older Linux kernels report it only for the nearest initiators (class access0). Bandwidths are in
    bytes per second, latencies in seconds."""

    read_bandwidth: float | None = None
    write_bandwidth: float | None = None
    read_latency: float | None = None
    write_latency: float | None = None


class MemorySideCache(Fact):
    """A cache in front of a node's memory, such as HBM in cache mode. Level 1 is the one nearest to the memory. The
    size is in bytes."""

    level: int
    size_bytes: int


class NumaNode(Fact):
    """A NUMA node; a memory-only node has no CPUs.

    `available_bytes` is the memory that can be allocated on the node: free memory and the reclaimable part of the file
    cache.
    """

    id: int
    cpus: list[int]
    memory_bytes: int | None = None
    free_bytes: int | None = None
    available_bytes: int | None = None
    distances: list[int] = Field(default_factory=list)
    huge_pages: list[HugePages] = Field(default_factory=list)
    firmware: NodePerformance | None = None
    caches: list[MemorySideCache] = Field(default_factory=list)


class MemoryModule(Fact):
    """A memory module slot as described by the firmware (SMBIOS type 17); `size_bytes` is 0 if it is empty.

    `rate` is the configured speed in transfers per second, and `rated` is the highest speed of the module.
    """

    slot: str
    bank: str | None = None
    size_bytes: int | None = None
    type: str | None = None
    form_factor: str | None = None
    data_bits: int | None = None
    total_bits: int | None = None
    ranks: int | None = None
    rate: float | None = None
    rated: float | None = None
    manufacturer: str | None = None
    part_number: str | None = None
    channel: str | None = None


class Memory(Fact):
    """The memory of the machine, in bytes (/proc/meminfo). `thp` is the selected mode of transparent huge pages.

    `theoretical_bandwidth` is the peak of all channels in bytes per second, computed from the modules that the firmware
    describes. `channels` is the number of populated channels, or null if it cannot be derived from the slot names.
    """

    total_bytes: int | None = None
    available_bytes: int | None = None
    page_bytes: int | None = None
    huge_pages: list[HugePages] = Field(default_factory=list)
    default_huge_page_bytes: int | None = None
    thp: str | None = None
    thp_defrag: str | None = None
    numa_balancing: bool | None = None
    numa_balancing_mode: int | None = None
    """The value of kernel.numa_balancing: 1 means ordinary balancing, and 2 means migration between memory tiers."""
    address_randomization: int | None = None
    """The value of kernel.randomize_va_space: 0 means that every process gets the same virtual addresses."""
    zone_reclaim: int | None = None
    swap_total_bytes: int | None = None
    swap_free_bytes: int | None = None
    swappiness: int | None = None
    dirty_bytes: int | None = None
    limit_bytes: int | None = None
    """The lowest memory limit of the account's control groups."""
    modules: list[MemoryModule] = Field(default_factory=list)
    channels: int | None = None
    ecc: str | None = None
    theoretical_bandwidth: float | None = None


class Interface(Fact):
    """A network interface. `kind` is ethernet, loopback, bridge, bond, vlan, veth, tun, wireless, infiniband or other.
    `speed` is in bits per second. Addresses include their prefix length (`192.0.2.10/24`)."""

    name: str
    kind: str
    state: str | None = None
    mtu: int | None = None
    mac: str | None = None
    speed: float | None = None
    duplex: str | None = None
    driver: str | None = None
    node: int | None = None
    pci_address: str | None = None
    rx_queues: int | None = None
    tx_queues: int | None = None
    ipv4: list[str] = Field(default_factory=list)
    ipv6: list[str] = Field(default_factory=list)
    members: list[str] = Field(default_factory=list)
    """The interfaces that belong to a bridge or bond."""


class NetworkNamespace(Fact):
    """A named network namespace that was created by `ip netns` (/run/netns) or for a container (/run/docker/netns).

    `inode` identifies it, as in `net:[4026531840]`. `own` is true for the namespace whose interfaces are listed.
    """

    name: str
    inode: int
    own: bool = False
    path: str


class Network(Fact):
    """The network of the host. `ipv4` and `ipv6` are the source addresses of the default routes; `namespace` is `host`
    in the initial network namespace and `own` in any other. `namespaces` lists the named namespaces that the account
    can see. `aliases` contains the names that /etc/hosts assigns to the addresses of the host itself; entries for other
    machines are ignored.
    """

    ipv4: str | None = None
    ipv6: str | None = None
    gateways: list[str] = Field(default_factory=list)
    namespace: str | None = None
    namespaces: list[NetworkNamespace] = Field(default_factory=list)
    aliases: dict[str, list[str]] = Field(default_factory=dict)
    interfaces: list[Interface] = Field(default_factory=list)


class NvmeHealth(Fact):
    """Data from the drive's SMART / Health log (NVM Express Base Specification, log page 02h) or the Linux kernel's
    sensors.

    Values are in percent, degrees Celsius, bytes and hours, or null if they could not be read. Reading them may require
    root or nvme-cli.
    """

    celsius: float | None = None
    critical_warning: int | None = None
    available_spare: int | None = None
    percentage_used: int | None = None
    read_bytes: int | None = None
    written_bytes: int | None = None
    power_on_hours: int | None = None
    unsafe_shutdowns: int | None = None
    media_errors: int | None = None


class BlockDevice(Fact):
    """A whole device or a partition. `kind` is disk, partition, loop, md, dm, rom, zram or virtual.

    `node` is the NUMA node of the device, or null if the Linux kernel reports none. `holders` are the devices that use
    this device (dm-0, md0).
    """

    name: str
    kind: str
    parent: str | None = None
    size_bytes: int | None = None
    transport: str | None = None
    """The bus or protocol: nvme, sata, sas, usb, virtio, mmc, ..."""
    model: str | None = None
    serial: str | None = None
    firmware: str | None = None
    rotational: bool | None = None
    removable: bool | None = None
    read_only: bool | None = None
    logical_bytes: int | None = None
    physical_bytes: int | None = None
    optimal_io_bytes: int | None = None
    scheduler: str | None = None
    queue_requests: int | None = None
    hardware_queues: int | None = None
    read_ahead_bytes: int | None = None
    write_cache: str | None = None
    discard: bool | None = None
    node: int | None = None
    pci_address: str | None = None
    link: str | None = None
    """Speed and width of the PCIe link as reported by the Linux kernel: `16.0 GT/s PCIe x4`."""
    link_max: str | None = None
    driver: str | None = None
    holders: list[str] = Field(default_factory=list)
    mounted_at: list[str] = Field(default_factory=list)
    backing_file: str | None = None
    mapper_name: str | None = None
    """Name in /dev/mapper (dm only)."""
    raid_level: str | None = None
    """RAID level: raid1, linear, ... (md only)."""
    nvme: NvmeHealth | None = None


class PciDevice(Fact):
    """A PCI function (drive controller, network interface, GPU, accelerator or CXL memory), and its position in the
    tree that `lspci -t` prints.

    `bridges` lists the bridges from the root bus (`0000:00`) down to the function; the last one is the function's
    upstream bridge. `node` is null if the Linux kernel reports none, as on machines with one node. `names` lists the
    function's drives, interfaces and GPUs (nvme0n1, eth0, mlx5_0, card0). Vendor, device and class are the numbers in
    the PCI configuration space, such as 144d, a80a and 010802. For a virtual function (SR-IOV), `physical` is the
    address of its physical function.
    """

    address: str
    kind: str
    class_code: str
    vendor_id: str | None = None
    device_id: str | None = None
    driver: str | None = None
    node: int | None = None
    root: str | None = None
    bridges: list[str] = Field(default_factory=list)
    link: str | None = None
    link_max: str | None = None
    names: list[str] = Field(default_factory=list)
    physical: str | None = None


class Mount(Fact):
    """A mounted file system on a device or on the network. Virtual file systems (proc, sysfs) are omitted."""

    source: str
    target: str
    type: str
    options: list[str] = Field(default_factory=list)
    size_bytes: int | None = None
    free_bytes: int | None = None


class Product(Fact):
    """The product names from the firmware (SMBIOS types 1 and 2). Only root can read the serial number and UUID."""

    manufacturer: str | None = None
    name: str | None = None
    version: str | None = None
    family: str | None = None
    serial: str | None = None
    uuid: str | None = None
    board: str | None = None


class Firmware(Fact):
    """The firmware. `description` is the type of hardware description that the Linux kernel uses, and `boot` is the
    boot method."""

    vendor: str | None = None
    version: str | None = None
    release_date: str | None = None
    bmc_version: str | None = None
    boot: Literal["uefi", "bios", "other"] | None = None
    description: Literal["acpi", "device-tree"] | None = None


class System(Fact):
    """The Linux kernel, the distribution and the account. `virtualization` is the hypervisor below the kernel, and
    `container` is the container around asct, both with the names used by systemd-detect-virt (`none` if there is none).

    `cloud` is the provider (`aws`, `azure`, `gcp`, ...), and `instance_type` is its name for this type of machine.
    `kernel_options` contains the build options of the Linux kernel that affect measurements (`CONFIG_HZ`: `250`).
    """

    hostname: str | None = None
    arch: str | None = None
    byte_order: Literal["little", "big"] | None = None
    kernel: str | None = None
    kernel_version: str | None = None
    kernel_options: dict[str, str] = Field(default_factory=dict)
    command_line: str | None = None
    os: str | None = None
    libc: str | None = None
    uid: int | None = None
    uptime_s: float | None = None
    virtualization: str | None = None
    container: str | None = None
    cloud: str | None = None
    instance_type: str | None = None
    product: Product = Field(default_factory=Product)
    firmware: Firmware = Field(default_factory=Firmware)
    clock_source: str | None = None
    clock_sources: list[str] = Field(default_factory=list)
    security_modules: list[str] = Field(default_factory=list)
    lockdown: str | None = None
    mitigations: dict[str, str] = Field(default_factory=dict)
    """CPU vulnerabilities, with the Linux kernel's mitigation for each."""
    resctrl: bool | None = None
    irq_default_affinity: list[int] = Field(default_factory=list)
    irqbalance: bool | None = None
    """Whether the irqbalance daemon, which moves interrupts between CPUs, is running."""


class Load(Fact):
    """The load averages and pressure when the facts were read."""

    load1: float | None = None
    load5: float | None = None
    load15: float | None = None
    cpu_pressure_avg10: float | None = None
    memory_pressure_avg10: float | None = None
    io_pressure_avg10: float | None = None
    running: int | None = None
    """Number of runnable tasks at that time."""


class Thermal(Fact):
    """A temperature sensor: its name in the Linux kernel, its temperature and its critical temperature, both in degrees
    Celsius."""

    name: str
    celsius: float | None = None
    critical_celsius: float | None = None


class Perf(Fact):
    """The hardware and software available for performance monitoring. `pmus` lists the event sources of the Linux
    kernel, `counters` is the number of general-purpose counters per CPU, `interconnects` lists the PMUs of a mesh
    (arm_cmn_0), and `trace` lists the instruction tracers (cs_etm, intel_pt)."""

    paranoid: int | None = None
    kptr_restrict: int | None = None
    user_access: bool | None = None
    pmus: list[str] = Field(default_factory=list)
    counters: int | None = None
    sampling: list[str] = Field(default_factory=list)
    """Instruction samplers, such as arm_spe_0 or ibs_op."""
    trace: list[str] = Field(default_factory=list)
    interconnects: list[str] = Field(default_factory=list)
    kcore: bool | None = None
    devmem: bool | None = None
    bpf: bool | None = None
    btf: bool | None = None


class Interconnect(Fact):
    """A mesh design that connects cores and memory: its name (`CMN-700`), the number of meshes of this design, and the
    source of this information."""

    name: str
    count: int
    source: str


class ToolFact(Fact):
    """A program on the host: its path and the version that it prints. `features` lists the features that asct found by
    testing (for fio: its engines). `options` lists fio's options; an option of an engine is written as `engine.option`.
    Both are empty if asct did not query the program."""

    path: str
    version: str | None = None
    banner: str | None = None
    """The first line of the program's version output, if the program exited with status 0. The compiler's banner is
    part of the key of a cached build."""
    features: list[str] = Field(default_factory=list)
    options: list[str] = Field(default_factory=list)


class HostFacts(Fact):
    """The facts of one host."""

    schema_: Literal["asct.facts/1"] = Field("asct.facts/1", alias="schema")
    host: str
    collected_at: str
    dated_by_file: bool = False
    """Whether `collected_at` is the modification time of the snapshot's file, which is used if the snapshot itself
    contains no time."""
    system: System = Field(default_factory=System)
    cpu: Cpu = Field(default_factory=Cpu)
    caches: list[Cache] = Field(default_factory=list)
    cache_levels: list[CacheLevel] = Field(default_factory=list)
    """All caches of the machine, whereas `caches` contains only those of the first CPU."""
    nodes: list[NumaNode] = Field(default_factory=list)
    memory: Memory = Field(default_factory=Memory)
    interconnects: list[Interconnect] = Field(default_factory=list)
    block_devices: list[BlockDevice] = Field(default_factory=list)
    pci: list[PciDevice] = Field(default_factory=list)
    mounts: list[Mount] = Field(default_factory=list)
    network: Network = Field(default_factory=Network)
    perf: Perf = Field(default_factory=Perf)
    thermal: list[Thermal] = Field(default_factory=list)
    load: Load = Field(default_factory=Load)
    tools: dict[str, ToolFact] = Field(default_factory=dict)
    io_uring: bool | None = None
    """Whether this account can create an io_uring (subject to kernel.io_uring_disabled and other limits)."""
    io_uring_disabled: int | None = None
    """The value of kernel.io_uring_disabled; null before Linux 6.6, which introduced it."""
    work_free_bytes: int | None = None
    """Free space in the file system of the work folder, in bytes."""
    work_filesystem: str | None = None
    limits: dict[str, int | None] = Field(default_factory=dict)
    """Resource limits of the account (`memlock` in bytes, `nofile`, `nproc`); null means unlimited."""
    unknown: dict[str, str] = Field(default_factory=dict)
    not_applicable: dict[str, str] = Field(default_factory=dict)
    """Fields that are null because they do not apply to this machine (SVE on x86), each with the reason."""
    contradictions: list[str] = Field(default_factory=list)
    """Contradictions in what the Linux kernel or the firmware reports, such as nodes that share CPUs."""
    notes: list[str] = Field(default_factory=list)
    """Notes about data missing from the snapshot that the facts were parsed from. Empty if the snapshot is complete or
    the facts were read on the host itself."""

    def seen_from(self, cpu: int) -> HostFacts:
        """Return the facts with the caches of this CPU, if they are known, instead of those of the first CPU. On hybrid
        machines, their sizes differ."""
        mine = [
            Cache(**level.model_dump(exclude={"sets", "instances"}), shared_cpus=cpus)
            for level in self.cache_levels
            for cpus in level.instances
            if cpu in cpus and level.size_bytes
        ]
        return self.model_copy(update={"caches": mine}) if len(mine) == len(self.caches) else self

    def data_caches(self) -> list[Cache]:
        """Return the data and unified caches, smallest level first."""
        return sorted((c for c in self.caches if c.type != "Instruction"), key=lambda c: c.level)
