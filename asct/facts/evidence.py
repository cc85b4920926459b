"""Explain why facts are unknown in a dump. A file that is missing from the dump may exist on the machine."""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import cache

from asct.facts.snapshot import Snapshot
from asct.facts.sources import BLOCK, CPU, DMI, EVENTS, HWMON, MM, NET, NODE, SECURITY, ZONES

ABSENT = "the snapshot does not contain it"
_EVIDENCE: tuple[tuple[str, tuple[str, ...]], ...] = (
    (r"block_devices", (f"{BLOCK}/",)),
    (r"block_devices\..*\.nvme", ("nvme-health",)),
    (r"block_devices\..*", ("udev",)),
    (r"cache_levels|caches", ("/cache/index",)),
    (r"cpu\.(boost|governor|policies)", ("/cpufreq/",)),
    (r"cpu\.idle_.*", ("/cpuidle/",)),
    (r"cpu\.quota|memory\.limit_bytes", ("/proc/self/cgroup",)),
    (r"cpu\.allowed", ("/proc/self/status", "/cpuset")),
    (r"cpu\.sve_bits", ("/proc/sys/abi/",)),
    (r"cpu\.(smt|isolated|nohz_full)", (f"{CPU}/smt/", f"{CPU}/isolated")),
    (r"cpu\..*", ("/proc/cpuinfo", f"{CPU}/cpu")),
    (r"interconnects", ("/proc/iomem", f"{EVENTS}/")),
    (r"io_uring", ("io_uring", "/proc/sys/kernel/io_uring_disabled")),
    (r"pci", ("pci",)),
    (r"limits\..*", ("/proc/self/limits",)),
    (r"load\..*_pressure_.*", ("/proc/pressure/",)),
    (r"load\..*", ("/proc/loadavg",)),
    (r"memory\.(modules|ecc|channels|theoretical_bandwidth)", ("memory-devices",)),
    (r"memory\.(numa_balancing|swappiness|zone_reclaim)", ("/proc/sys/vm/", "/proc/sys/kernel/")),
    (r"memory\.address_randomization", ("/proc/sys/kernel/",)),
    (r"memory\.page_bytes", ("page-size",)),
    (r"memory\.thp.*", (f"{MM}/transparent_hugepage/",)),
    (r"memory\..*", ("/proc/meminfo",)),
    (r"mounts", ("/proc/self/mountinfo",)),
    (r"network\.addresses", ("addresses",)),
    (r"network\.(ipv4|ipv6|gateways)", ("routes",)),
    (r"network\.interfaces", (f"{NET}/",)),
    (r"network\.namespace", ("network-namespace",)),
    (r"network\.namespaces", ("network-namespaces",)),
    (r"nodes.*", (f"{NODE}/node",)),
    (r"perf\.(btf|devmem|kcore)|system\.resctrl", ("present",)),
    (r"perf\.counters", ("counters",)),
    (r"perf\.(bpf|kptr_restrict|paranoid|user_access)", ("/proc/sys/kernel/",)),
    (r"perf\..*", (f"{EVENTS}/",)),
    (r"system\.firmware\.bmc_version", ("/sys/devices/platform/ipmi_bmc",)),
    (r"system\.product\.(serial|uuid)", (f"{DMI}/product_serial", f"{DMI}/product_uuid", "device-tree")),
    (r"system\.(product|firmware|cloud|instance_type).*", (f"{DMI}/", "device-tree", "/sys/firmware/")),
    (r"system\.(lockdown|security_modules)", (f"{SECURITY}/",)),
    (r"system\.container", ("container", "namespaces")),
    (r"system\.irqbalance", ("irqbalance",)),
    (r"system\.libc", ("libc",)),
    (r"system\.command_line", ("command-line",)),
    (r"system\.kernel_options", ("kernel-options",)),
    (r"system\.uid", ("id",)),
    (r"system\.virtualization", ("hypervisor", "/sys/hypervisor/", f"{DMI}/")),
    (r"system\.(arch|byte_order|hostname|kernel|kernel_version|mitigations|os|uptime_s)", ()),
    (r"system\.(clock_sources?|irq_default_affinity)", ()),
    (r"thermal", (f"{HWMON}/", f"{ZONES}/")),
    (r"work_.*", ("df",)),
)
"""Patterns of field names, each with the sources of the value: parts of paths, or commands. The first matching pattern
applies. If a dump contains none of the sources, the value is unknown because the dump is incomplete. A field without
sources can never be read from a dump."""


def reasons_of_dump(snapshot: Snapshot, reasons: Mapping[str, str]) -> dict[str, str]:
    """Return all reasons, after replacing those that apply only because the dump lacks the files."""

    @cache
    def has(source: str) -> bool:
        if not source.startswith("/"):
            return source in snapshot.commands
        return any(source in path for path in snapshot.files)

    def reason(field: str, text: str) -> str:
        sources = next((sources for pattern, sources in _EVIDENCE if re.fullmatch(pattern, field)), None)
        return text if sources is None or any(map(has, sources)) else ABSENT

    return {field: reason(field, text) for field, text in reasons.items()}
