"""Machines of many shapes, created with made.py."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from tests.facts.made import Cached, Made, blocks, tree

X86 = {
    "vendor_id": "GenuineIntel", "cpu family": "6", "model": "143", "model name": "Intel(R) Xeon(R)", "stepping": "8"
}  # fmt: skip


def power() -> dict[str, str]:
    """2 sockets of 4 cores with 8 threads, of which 4 per core are offline. Two cores share a level-2 and a level-3
    cache."""
    cpus = [Made(cpu=n, core=n // 8, socket=n // 32, node=n // 32 * 8, online=n % 8 < 4) for n in range(64)]
    caches = [
        Cached(1, "Data", "32K", lambda it: it.core, 128), Cached(1, "Instruction", "32K", lambda it: it.core, 128),
        Cached(2, "Unified", "512K", lambda it: it.core // 2, 128),
        Cached(3, "Unified", "10240K", lambda it: it.core // 2, 128),
    ]  # fmt: skip
    info = blocks(
        cpus, {"cpu": "POWER9, altivec supported", "clock": "3800.000000MHz", "revision": "2.2 (pvr 004e 1202)"}
    )
    return tree(cpus, caches, info + "\ntimebase\t: 512000000\nplatform\t: PowerNV\n", bare_nodes=(252,))


def power_without_numbers() -> dict[str, str]:
    """As with older Linux kernels on Power: no package numbers, and only masks."""
    cpus = [Made(cpu=n, core=n // 4, socket=n // 16) for n in range(32)]
    info = blocks(cpus, {"cpu": "POWER7 (architected), altivec supported", "revision": "2.1 (pvr 003f 0201)"})
    return tree(cpus, (), info, masks_only=True, ids=False)


def s390() -> dict[str, str]:
    """2 drawers of 2 books of 2 sockets of 2 cores with 2 threads. Socket and book numbers are repeated."""
    cpus = [
        Made(cpu=n, core=n // 2, core_id=n // 2, socket=n // 4 % 2, book=n // 8 % 2, drawer=n // 16) for n in range(32)
    ]
    caches = [
        Cached(level, kind, size, lambda it: it.core, 256)
        for level, kind, size in (
            (1, "Instruction", "128K"), (1, "Data", "128K"), (2, "Instruction", "2048K"), (2, "Data", "4096K"),
        )
    ]  # fmt: skip
    lines = [
        "vendor_id       : IBM/S390", "# processors    : 32", "bogomips per cpu: 21881.00", "max thread id   : 1",
        "features\t: esan3 zarch stfle msa", "facilities      : 0 1 2 3",
        "cache0          : level=1 type=Data scope=Private size=128K line_size=256 associativity=8",
        "cache4          : level=3 type=Unified scope=Shared size=131072K line_size=256 associativity=32",
        "cache5          : level=4 type=Unified scope=Shared size=688128K line_size=256 associativity=42",
        *(f"processor {n}: version = 00,  identification = 1133E8,  machine = 3906" for n in range(32)), "",
    ]  # fmt: skip
    for one in cpus:
        lines += [f"cpu number      : {one.cpu}", "cpu MHz dynamic : 5208", "cpu MHz static  : 5208", ""]
    return tree(cpus, caches, "\n".join(lines))


def loongarch() -> dict[str, str]:
    """2 sockets of 2 nodes of 4 cores with 2 threads."""
    cpus = [Made(cpu=n, core=n // 2, core_id=n // 2 % 8, socket=n // 16, node=n // 8) for n in range(32)]
    caches = [
        Cached(1, "Instruction", "64K", lambda it: it.core), Cached(1, "Data", "64K", lambda it: it.core),
        Cached(2, "Unified", "256K", lambda it: it.core), Cached(3, "Unified", "16384K", lambda it: it.node, 64, 16),
    ]  # fmt: skip
    info = blocks(
        cpus, {
            "package": lambda it: str(it.socket), "core": lambda it: str(it.core % 8), "CPU Family": "Loongson-64bit",
            "Model Name": "Loongson-3C6000/S", "CPU Revision": "0x11", "ISA": "loongarch32 loongarch64",
            "CPU MHz": "2200.00",
        },
    )  # fmt: skip
    return tree(cpus, caches, f"system type\t\t: generic-loongson-machine\n\n{info}")


def arm_server() -> dict[str, str]:
    """128 cores: 2 sockets of 16 clusters of 4 cores, with a level-2 cache in each core and a level-3 cache in each
    cluster."""
    cpus = [Made(cpu=n, core=n, core_id=n % 64, socket=n // 64, cluster=n // 4 % 16, node=n // 32) for n in range(128)]
    caches = [
        Cached(1, "Data", "64K", lambda it: it.cpu, ways=4), Cached(1, "Instruction", "64K", lambda it: it.cpu, ways=4),
        Cached(2, "Unified", "1M", lambda it: it.cpu), Cached(3, "Unified", "32M", lambda it: (it.socket, it.cluster)),
    ]  # fmt: skip
    info = blocks(
        cpus, {
            "BogoMIPS": "50.00",
            "Features": "fp asimd aes atomics fphp asimdhp cpuid asimdrdm lrcpc dcpop asimddp ssbs",
            "CPU implementer": "0x41", "CPU architecture": "8", "CPU variant": "0x3", "CPU part": "0xd0c",
            "CPU revision": "1",
        },
    )  # fmt: skip
    return tree(cpus, caches, info)


def hybrid() -> dict[str, str]:
    """6 performance cores with 2 threads, and 8 efficient cores. Each group of 4 efficient cores shares a level-2
    cache."""
    big = [Made(cpu=n, core=n // 2, core_id=n // 2 * 4, kind=0) for n in range(12)]
    little = [Made(cpu=n, core=n, core_id=n + 12, kind=1) for n in range(12, 20)]
    caches = [
        Cached(1, "Data", "48K", lambda it: None if it.kind else it.core, ways=12),
        Cached(1, "Instruction", "32K", lambda it: None if it.kind else it.core),
        Cached(2, "Unified", "1280K", lambda it: None if it.kind else it.core, ways=10),
        Cached(1, "Data", "32K", lambda it: it.core if it.kind else None),
        Cached(1, "Instruction", "64K", lambda it: it.core if it.kind else None),
        Cached(2, "Unified", "2048K", lambda it: (it.cpu // 4 if it.kind else None), ways=16),
        Cached(3, "Unified", "25600K", lambda it: 0, ways=10),
    ]  # fmt: skip
    files = tree([*big, *little], caches, blocks([*big, *little], {**X86, "model": "151", "stepping": "2"}))
    return files | {"/sys/devices/cpu_core/cpus": "0-11", "/sys/devices/cpu_atom/cpus": "12-19"}


def holes() -> dict[str, str]:
    """2 sockets of 4 cores with 2 threads, with repeated core numbers. Some CPUs are offline, and more are possible."""
    off = {3, 8, 9, 13}
    cpus = [Made(cpu=n, core=n % 8, core_id=n % 4, socket=n % 8 // 4, node=n % 8 // 4) for n in range(16)]
    caches = [
        Cached(1, "Data", "32K", lambda it: it.core), Cached(1, "Instruction", "32K", lambda it: it.core),
        Cached(2, "Unified", "256K", lambda it: it.core), Cached(3, "Unified", "30720K", lambda it: it.socket, ways=20),
    ]  # fmt: skip
    made = [replace(one, online=one.cpu not in off) for one in cpus]
    return tree(made, caches, blocks(made, X86), possible=128)


def sparse() -> dict[str, str]:
    """Nodes whose numbers have gaps, two of them without CPUs, with an old Linux kernel."""
    cpus = [Made(cpu=n, core=n, core_id=n % 4, socket=n // 4, node=(0, 3, 8, 17)[n // 4]) for n in range(16)]
    return tree(cpus, [Cached(2, "Unified", "512K", lambda it: it.cpu)], blocks(cpus, X86), masks_only=True,
                bare_nodes=(2, 40))  # fmt: skip


def virtual() -> dict[str, str]:
    """Each CPU is its own socket, as is common with hypervisors. 4 of 240 possible CPUs are present."""
    cpus = [Made(cpu=n, core=n, core_id=0, socket=n * 2) for n in range(4)]
    caches = [Cached(1, "Data", "32K", lambda it: it.cpu), Cached(3, "Unified", "36608K", lambda it: it.cpu, ways=11)]
    return tree(cpus, caches, blocks(cpus, X86), possible=240)


SHAPES = {
    shape.__name__: shape
    for shape in (power, power_without_numbers, s390, loongarch, arm_server, hybrid, holes, sparse, virtual)
}


@dataclass(frozen=True)
class Size:
    """The number of each part within the part above it. `order` specifies how CPUs are numbered, and `off` which of
    them are offline."""

    sockets: int
    clusters: int
    cores: int
    threads: int
    nodes_per_socket: int
    order: Sequence[int]
    off: frozenset[int]
    masks_only: bool
    repeated_ids: bool


def sized(size: Size) -> dict[str, str]:
    """Return a machine of this size. The parts of a socket are numbered from 0 if IDs are repeated, otherwise across
    the machine."""
    cpus = []
    per_socket = size.clusters * size.cores * size.threads
    for position, number in enumerate(size.order):
        socket, rest = divmod(position, per_socket)
        core, within = position // size.threads, rest // size.threads
        cpus.append(
            Made(
                cpu=number, core=core, core_id=within if size.repeated_ids else core, socket=socket * 3,
                cluster=within // size.cores,
                node=(socket * size.nodes_per_socket + within % size.nodes_per_socket) * 2,
                online=number not in size.off,
            )
        )  # fmt: skip
    caches = [
        Cached(1, "Data", "32K", lambda it: it.core), Cached(1, "Instruction", "64K", lambda it: it.core),
        Cached(2, "Unified", "1M", lambda it: (it.socket, it.cluster)),
        Cached(3, "Unified", "33M", lambda it: it.socket),
    ]  # fmt: skip
    cpus.sort(key=lambda one: one.cpu)
    return tree(
        cpus, caches, blocks(cpus, X86), masks_only=size.masks_only, possible=size.order and max(size.order) + 9
    )
