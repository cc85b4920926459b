"""The files that asct reads from a host and the programs that it looks for. exchange.py combines them in one script.

FILES contains shell patterns, each of which matches only a few files. FOLDERS contains sets of files that exist in many
folders. All lines of a file are read, up to a limit. One process reads all files, so prefer files to the commands in
commands.sh and lasting.sh, each of which needs at least one process. Links are followed. The output separates a path
from the content of its file with a colon; if the path itself contains a colon, use a link whose path does not. Binary
files are read by commands (`od`, `tr`).
"""

from __future__ import annotations

from dataclasses import dataclass

BLOCK = "/sys/block"
CLOCKS = "/sys/devices/system/clocksource/clocksource0"
CPU = "/sys/devices/system/cpu"
DMI = "/sys/class/dmi/id"
EVENTS = "/sys/bus/event_source/devices"
HWMON = "/sys/class/hwmon"
MESH_MAPS = "/sys/kernel/debug/arm-cmn"
MM = "/sys/kernel/mm"
NET = "/sys/class/net"
NODE = "/sys/devices/system/node"
NVME = "/sys/class/nvme"
SECURITY = "/sys/kernel/security"
BIG_ENDIAN = frozenset({"s390x", "s390", "ppc64", "ppc", "mips", "mips64", "sparc64", "parisc", "aarch64_be"})
"""Big-endian architectures, whose most significant byte comes first."""
VULNERABILITIES = f"{CPU}/vulnerabilities"
ZONES = "/sys/class/thermal"


@dataclass(frozen=True, slots=True)
class FolderSet:
    """The same files in many folders, such as the folders of all CPUs or block devices.

    The shell patterns in `patterns` select the folders, in reading order; `files` are names or patterns in each folder.
    At most `most` folders are read; folders with a `device` (hardware) come first. The facts record the number of
    omitted folders under `field`.
    """

    field: str
    patterns: tuple[str, ...]
    files: tuple[str, ...]
    most: int


def _in(folder: str, names: str) -> tuple[str, ...]:
    """Return the paths of `names` (a space-separated list) in a folder."""
    return tuple(f"{folder}/{name}" for name in names.split())


_FIRST = tuple(f"{CPU}/cpu{digits}" for digits in ("[0-9]", "[1-3][0-9]"))
"""CPUs whose values are read in full. They suffice, because machines with several kinds of cores have only a few cores
of each kind, and on other machines, these CPUs represent all others."""

FILES: tuple[str, ...] = (
    "/etc/os-release",
    "/run/systemd/container",
    *_in("/proc", "cpuinfo iomem irq/default_smp_affinity loadavg meminfo uptime"),
    *_in("/proc/pressure", "cpu io memory"),
    *_in("/proc/self", "limits mountinfo mounts status"),
    "/proc/sys/abi/sve_default_vector_length",
    *_in("/proc/sys/kernel", "io_uring_disabled kptr_restrict numa_balancing perf_event_paranoid perf_user_access"),
    "/proc/sys/kernel/randomize_va_space",
    "/proc/sys/kernel/unprivileged_bpf_disabled",
    *_in("/proc/sys/vm", "swappiness zone_reclaim_mode"),
    # the machine and its firmware
    *_in(DMI, "bios_date bios_vendor bios_version board_name board_vendor chassis_asset_tag"),
    *_in(DMI, "product_family product_name product_serial product_uuid product_version sys_vendor"),
    "/sys/devices/platform/ipmi_bmc.*/firmware_revision",
    *_in("/sys/firmware", "acpi/pm_profile efi/fw_platform_size"),
    "/sys/hypervisor/type",
    # the kernel
    "/sys/kernel/cpu_byteorder",
    *_in(CLOCKS, "available_clocksource current_clocksource"),
    f"{VULNERABILITIES}/*",
    *_in(SECURITY, "lockdown lsm"),
    # processors; the nominal clock of only one, because each query may call the firmware
    *_in("/sys/devices", "cpu_atom/cpus cpu_core/cpus cpu_lowpower/cpus"),
    *_in(CPU, "isolated nohz_full online possible present types/*/cpulist cpu0/acpi_cppc/nominal_freq cpufreq/boost"),
    *_in(f"{CPU}/cpuidle", "current_driver current_governor current_governor_ro"),
    *_in(CPU, "intel_pstate/no_turbo smt/active smt/control"),
    *(path for cpu in _FIRST for path in (
        *_in(f"{cpu}/cache/index[0-9]", "coherency_line_size number_of_sets ways_of_associativity"),
        *_in(f"{cpu}/cpuidle/state[0-9]*", "desc latency name residency"),
    )),
    # memory
    f"{NODE}/online",
    *_in(f"{MM}/hugepages/hugepages-*", "free_hugepages nr_hugepages"),
    *_in(f"{MM}/transparent_hugepage", "defrag enabled"),
    # performance monitors; meshes: PMUs and maps of the arm_cmn driver
    f"{EVENTS}/cpu*/rdpmc",
    *_in(f"{EVENTS}/arm_cmn*", "cpumask format/* identifier type"),
    "/sys/bus/platform/drivers/arm-cmn/*/uevent",
    *_in(MESH_MAPS, "map* */map"),
)  # fmt: skip

_CLOCK = (
    "affected_cpus base_frequency boost cpb cpuinfo_max_freq cpuinfo_min_freq energy_performance_preference"
    " scaling_driver scaling_governor scaling_max_freq scaling_min_freq"
)
_CLOCK_DUMPED = "related_cpus scaling_cur_freq"
_EACH_CPU = tuple(f"{CPU}/cpu{'[0-9]' * digits}" for digits in range(1, 6))

FOLDERS: tuple[FolderSet, ...] = (
    # Files of one line. Lines that many CPUs share cost little: they are printed once, after the list of these CPUs.
    FolderSet("cpu.logical", _EACH_CPU, (
        *_in("cache/index[0-9]", "level shared_cpu_list size type"),
        "cpu_capacity",
        *_in("cpufreq", _CLOCK),
        "cpuidle/state[0-9]*/disable",
        "regs/identification/midr_el1",
        *_in("topology", "book_id cluster_id core_siblings_list die_id physical_package_id thread_siblings_list"),
    ), 4096),
    FolderSet("nodes", (f"{NODE}/node[0-9]*",), (
        *_in("access[01]/initiators", "read_bandwidth read_latency write_bandwidth write_latency"),
        "cpulist", "cpumap", "distance", "meminfo", "memory_side_cache/index[0-9]/size",
        *_in("hugepages/hugepages-*", "free_hugepages nr_hugepages"),
    ), 1024),
    FolderSet("network.interfaces", (f"{NET}/*",), (
        "address", "device/uevent", "duplex", "ifindex", "iflink", "master/uevent", "mtu", "operstate", "speed",
        "tun_flags", "type", "uevent", "wireless/status",
    ), 256),
    FolderSet("perf.pmus", (f"{EVENTS}/*",), ("type",), 2048),
    FolderSet("thermal", (f"{HWMON}/hwmon*",), (
        "name", "temp[0-9]*_crit", "temp[0-9]*_input", "temp[0-9]*_label",
    ), 128),
    FolderSet("thermal.zones", (f"{ZONES}/thermal_zone*",), (
        "temp", "trip_point_[0-9]*_temp", "trip_point_[0-9]*_type", "type",
    ), 128),
    FolderSet("block_devices", (f"{BLOCK}/*",), (
        "dev", "dm/name", "hidden", "loop/backing_file", "md/level", "removable", "ro", "serial", "size",
        *_in("device", "firmware_rev fwrev model name rev serial subsysnqn uevent"),
        *_in("queue", "discard_max_bytes logical_block_size nr_requests optimal_io_size physical_block_size"),
        *_in("queue", "read_ahead_kb rotational scheduler write_cache"),
        *_in("*", "dev partition ro size"),
        "slaves/*/dev",
    ), 512),
    FolderSet("block_devices.nvme", (f"{NVME}/nvme*",), (
        "firmware_rev", "model", "numa_node", "serial", "subsysnqn", "transport",
    ), 256),
)  # fmt: skip

DUMPED: tuple[FolderSet, ...] = (
    FolderSet("cpu.logical", _EACH_CPU, (
        "acpi_cppc/highest_perf",
        *_in("cache/index[0-9]", "coherency_line_size number_of_sets shared_cpu_map ways_of_associativity"),
        *_in("cpufreq", _CLOCK_DUMPED),
        *_in("cpuidle/state[0-9]*", "desc latency name residency"),
        "online",
        *_in("topology", "book_siblings core_cpus core_cpus_list core_id core_siblings package_cpus package_cpus_list"),
        "topology/thread_siblings",
    ), 4096),
    FolderSet("cpu.policies", (f"{CPU}/cpufreq/policy[0-9]*",), (*_CLOCK.split(), *_CLOCK_DUMPED.split()), 4096),
    FolderSet("cpu.quota", ("/proc/self",), ("cgroup", "cpuset"), 1),
    FolderSet("cpu.quota", ("/proc",), ("bus/pci/devices", "mounts"), 1),
    FolderSet("cpu.allowed", tuple(f"/dev/cpuset{'/*' * depth}" for depth in range(5)), ("cpus", "cpuset.cpus"), 4096),
)  # fmt: skip
"""Additional files that are read from dumps: masks as an alternative to lists, and files that are slow to read on a
host."""

GROUPS = FolderSet("cpu.quota", tuple("/*" * depth for depth in range(7)), (
    "cpu.cfs_period_us", "cpu.cfs_quota_us", "cpu.max",
    "cpuset.cpus", "cpuset.cpus.effective", "cpuset.effective_cpus",
    "memory.current", "memory.limit_in_bytes", "memory.max", "memory.stat", "memory.usage_in_bytes",
), 4096)  # fmt: skip
"""Files of control groups that are read from dumps. The patterns follow the mount points of the control groups."""

TOOLS: dict[str, str] = {
    "blkdiscard": "--version", "bpftool": "version", "bpftrace": "--version", "cc": "--version", "clang": "--version",
    "cpupower": "--version", "dmidecode": "--version", "ethtool": "--version", "fio": "--version", "gcc": "--version",
    "hdparm": "-V", "iperf3": "--version", "ipmitool": "-V", "lscpu": "--version", "lspci": "--version",
    "mpstat": "-V", "numactl": "--version", "nvme": "version", "perf": "--version", "sg_format": "--version",
    "sg_sanitize": "--version", "smartctl": "--version", "taskset": "--version", "turbostat": "--version",
}  # fmt: skip
"""The programs to look for, each with the argument that makes it print its version."""

KERNEL_OPTIONS = (
    "HZ|NO_HZ_FULL|NO_HZ_IDLE|PREEMPT|PREEMPT_DYNAMIC|PREEMPT_LAZY|PREEMPT_NONE|PREEMPT_RT|PREEMPT_VOLUNTARY"
    "|NUMA|NUMA_BALANCING|NUMA_BALANCING_DEFAULT_ENABLED|TRANSPARENT_HUGEPAGE|TRANSPARENT_HUGEPAGE_[A-Z]*|HUGETLBFS"
    "|ARM64_[0-9]*K_PAGES|ARM64_LSE_ATOMICS|ARM64_USE_LSE_ATOMICS|ARM64_MPAM|ARM64_SVE|ARM64_SME|PAGE_SIZE_[0-9]*KB"
    "|PPC_[0-9]*K_PAGES|CPU_FREQ_DEFAULT_GOV_[A-Z]*|CPU_IDLE|CPU_ISOLATION|IO_URING|NVME_MULTIPATH|BLK_WBT"
    "|BLK_CGROUP_IOCOST|SCHED_CORE|SCHED_CLUSTER|SCHED_SMT|CFS_BANDWIDTH|PSI|PERF_EVENTS|HW_PERF_EVENTS|ARM_CMN"
    "|ARM_SPE_PMU|ARM_PMU|ARM_PMUV3|ARM_DSU_PMU|CORESIGHT|CORESIGHT_[A-Z0-9_]*ETM[A-Z0-9X]*|X86_CPU_RESCTRL|RESCTRL_FS"
    "|BPF|BPF_SYSCALL|BPF_JIT|DEBUG_INFO_BTF|KPROBES|FTRACE|STRICT_DEVMEM|IO_STRICT_DEVMEM|DEVMEM|PROC_KCORE|LSM"
    "|SECURITY_LOCKDOWN_LSM|RANDOMIZE_BASE|CPU_MITIGATIONS|UNMAP_KERNEL_AT_EL0|MITIGATION_PAGE_TABLE_ISOLATION"
    "|PAGE_TABLE_ISOLATION|INIT_ON_ALLOC_DEFAULT_ON|INIT_ON_FREE_DEFAULT_ON|KASAN|LOCKDEP|PROVE_LOCKING|SLUB_DEBUG_ON"
    "|DEBUG_VM|ACPI_HMAT|CXL_BUS"
)
"""Options of the kernel configuration that affect measurements or determine what can be observed (an extended regular
expression, without the prefix CONFIG_)."""

_SECRETS = ("pass", "pwd", "secret", "token", "credential", "key")
_ANY_CASE = "|".join("".join(f"[{char.upper()}{char}]" for char in word) for word in _SECRETS)
SECRET_OPTION = f"([ ,][A-Za-z0-9_.-]*({_ANY_CASE})[A-Za-z0-9_.-]*)=[^ ]*"
"""A mount option whose value may be a secret, with its name in the first group (an extended regular expression, which
cannot ignore case). The Linux kernel does not escape commas in values, so everything after the option is treated as its
value."""
