"""Other programs that measure memory. Each returns one value per round: GB/s (1e9 bytes loaded and stored) or ns."""

from __future__ import annotations

import functools
import re
import shutil
import subprocess
from collections.abc import Sequence
from pathlib import Path

from tests.bench.harness import scratch
from tests.bench.table import Subject

SOURCE = Path(__file__).with_name("peers.c")
OPTIMISED = (
    *("gcc", "-O3", "-march=native", "-ffast-math", "-pthread", "-D_GNU_SOURCE"),
    "-fno-tree-loop-distribute-patterns",  # no memcpy, which stores large blocks non-temporally in glibc
)
PROGRAMS = ("likwid-bench", "sysbench", "mbw")
LIKWID = {
    "all-reads": ("load_avx512", "load_avx", "load_sse"),
    "write": ("store_avx512", "store_avx", "store_sse"),
    "copy": ("copy_avx512", "copy_avx", "copy_sse"),
    "triad": ("stream_avx512_fma", "stream_avx_fma", "stream_sse"),
    "nt-write": ("store_mem_avx512", "store_mem_avx", "store_mem_sse"),
    "nt-copy": ("copy_mem_avx512", "copy_mem_avx", "copy_mem_sse"),
    "nt-triad": ("stream_mem_avx512", "stream_mem_avx_fma", "stream_mem_sse"),
}
"""Tests of likwid-bench by kind of traffic, widest first. Its test `stream` computes a(i) = b(i) * c + d(i), the triad
of STREAM."""
LOOPS = {"all-reads": "read", "write": "write", "copy": "copy", "triad": "triad"}
WIDTHS = ("avx512f", "avx2", "sse2")


def missing() -> list[str]:
    """Return the peers that are not installed."""
    return [name for name in PROGRAMS if shutil.which(name) is None]


def bandwidth_peers(traffic: str, size: int, cpus: Sequence[int]) -> dict[str, Subject]:
    """Return the peers for a kind of traffic over `size` bytes per thread, with one thread on each CPU."""
    found: dict[str, Subject] = {}
    if shutil.which("likwid-bench"):
        test = likwid_test(traffic)
        found[f"likwid {test}"] = lambda: likwid(test, size, cpus)
    if traffic in LOOPS:
        found["gcc loop"] = lambda: loop(LOOPS[traffic], size, cpus)
    return found


def memory_peers(traffic: str, cpus: Sequence[int]) -> dict[str, Subject]:
    """Return the peers that measure only large blocks of memory."""
    found: dict[str, Subject] = {}
    if traffic in ("all-reads", "write") and shutil.which("sysbench"):
        found["sysbench 64M blocks"] = lambda: sysbench("read" if traffic == "all-reads" else "write", cpus)
    if traffic == "nt-copy" and len(cpus) == 1 and shutil.which("mbw"):
        found["mbw memcpy"] = lambda: mbw(cpus[0])
    return found


def likwid_test(traffic: str) -> str:
    """Return the widest test for a kind of traffic that this processor supports."""
    flags = set(_cpu_flags())
    return next(test for test, width in zip(LIKWID[traffic], WIDTHS, strict=True) if width in flags)


@functools.cache
def _cpu_flags() -> tuple[str, ...]:
    lines = Path("/proc/cpuinfo").read_text().splitlines()
    return tuple(next((line.split() for line in lines if line.startswith(("flags", "Features"))), ()))


def likwid(test: str, size: int, cpus: Sequence[int]) -> float:
    """Return the bandwidth of one run of about 2 GB per thread, which likwid-bench computes from core cycles. Raises
    RuntimeError if the bandwidth is 0, which means that the clock is unknown."""
    turns = max(10, (2 << 30) // size)
    group = f"N:{size * len(cpus) // 1000}kB:{len(cpus)}"
    command = ["likwid-bench", "-t", test, "-w", group, "-i", str(turns)]
    text = _ran(["taskset", "-c", ",".join(map(str, cpus)), *command])
    value = float(_found(r"MByte/s:\s+([0-9.]+)", text, "likwid-bench")) / 1e3
    if value == 0.0:
        raise RuntimeError("likwid-bench reports no clock for this machine")
    return value


def loop(kind: str, size: int, cpus: Sequence[int]) -> float:
    """Measure the plain loop in peers.c, as optimized by gcc."""
    return float(_ran([str(_built()), kind, str(size), ",".join(map(str, cpus))]))


def chase(size: int, pages: str, cpu: int) -> float:
    """Measure the plain chain in peers.c, in ns per load."""
    return float(_ran([str(_built()), "chase", str(size), pages, str(cpu)]))


def sysbench(operation: str, cpus: Sequence[int]) -> float:
    """Measure blocks of 64 MiB. With its default of 1 KiB, sysbench measures the cost of its own events."""
    options = [f"--threads={len(cpus)}", f"--memory-oper={operation}", "--memory-block-size=64M"]
    command = ["sysbench", "memory", *options, "--memory-total-size=8G", "--time=5", "run"]
    text = _ran(["taskset", "-c", ",".join(map(str, cpus)), *command])
    return float(_found(r"\(([0-9.]+) MiB/sec\)", text, "sysbench")) * 1.048576e-3


def mbw(cpu: int) -> float:
    """Measure memcpy over 256 MiB, for which glibc uses non-temporal stores. Bytes are loaded and stored, so they count
    twice here, although mbw counts them once."""
    text = _ran(["taskset", "-c", str(cpu), "mbw", "-q", "-t0", "-n", "3", "256"])
    rates = [float(rate) for rate in re.findall(r"Copy: ([0-9.]+) MiB/s", text)]
    return 2 * max(rates) * 1.048576e-3


@functools.cache
def _built() -> Path:
    target = scratch() / "peers"
    _ran([*OPTIMISED, str(SOURCE), "-o", str(target)])
    return target


def _ran(command: Sequence[str]) -> str:
    done = subprocess.run(command, capture_output=True, text=True, timeout=120, check=False)
    if done.returncode != 0:
        raise RuntimeError(f"{' '.join(command)} ended with {done.returncode}: {(done.stderr or done.stdout)[-300:]}")
    return done.stdout


def _found(pattern: str, text: str, program: str) -> str:
    found = re.search(pattern, text)
    if found is None:
        raise RuntimeError(f"{program} printed no {pattern}")
    return found.group(1)
