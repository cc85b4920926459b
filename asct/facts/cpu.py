"""CPUs and caches, from /sys/devices/system/cpu and /proc/cpuinfo."""

from __future__ import annotations

import re
from typing import Literal, cast

from asct.facts.armparts import IMPLEMENTERS, PARTS
from asct.facts.gaps import Gaps, fields, real, whole
from asct.facts.snapshot import Snapshot
from asct.facts.sources import CPU
from asct.sdk.facts import Cache, Cpu
from asct.values.cpulist import parse_cpulist

_SIZE = re.compile(r"(\d{1,12})([KMG]?)")
_SCALE = {"": 1, "K": 1 << 10, "M": 1 << 20, "G": 1 << 30}


def cpu(found: Snapshot, gaps: Gaps) -> Cpu:
    """Counts, names and the governor. `cpus` counts the present CPUs, as lscpu's `CPU(s)` does, offline ones too."""
    info = fields(found.text("/proc/cpuinfo"))
    online = gaps.cpus("cpu.online", found.text(f"{CPU}/online"), f"{CPU}/online")
    present = gaps.cpus("cpu.cpus", found.text(f"{CPU}/present") or found.text(f"{CPU}/online"), f"{CPU}/present")
    status = fields(found.text("/proc/self/status"))
    sockets, cores, threads = _counts(found, online, gaps)
    vendor, model = _names(info, gaps)
    return Cpu(
        cpus=len(present) or None,
        online=online,
        allowed=gaps.cpus("cpu.allowed", status.get("Cpus_allowed_list"), "Cpus_allowed_list of /proc/self/status"),
        model=model,
        vendor=vendor,
        sockets=sockets,
        cores=cores,
        threads_per_core=threads,
        flags=(info.get("flags") or info.get("Features") or "").split(),
        governor=_governor(found, gaps),
        microcode=_microcode(info, gaps),
        frequency_hz=_frequency(found, info, online, gaps),
    )


def _counts(found: Snapshot, online: list[int], gaps: Gaps) -> tuple[int | None, int | None, int | None]:
    """Sockets, cores, and the most threads that a core has, over the online CPUs."""
    packages: set[str] = set()
    siblings: set[tuple[int, ...]] = set()
    for match, text in found.matching(rf"{CPU}/cpu(\d{{1,6}})/topology/(physical_package_id|thread_siblings_list)"):
        if online and int(match[1]) not in online:
            continue
        if match[2] == "physical_package_id":
            packages.add(text.strip())
            continue
        try:
            siblings.add(tuple(parse_cpulist(text.strip())))
        except ValueError:
            gaps.note("cpu.cores", f"odd list of siblings of cpu{match[1]}")
    siblings.discard(())
    if not siblings:
        for name in ("cores", "threads_per_core"):
            gaps.note(f"cpu.{name}", f"no topology in {CPU}")
    if not packages:
        gaps.note("cpu.sockets", f"no topology in {CPU}")
    threads = max((len(one) for one in siblings), default=None)
    return len(packages) or None, len(siblings) or None, threads


def _names(info: dict[str, str], gaps: Gaps) -> tuple[str | None, str | None]:
    """Vendor and model: as x86 prints them, or from the numbers that Arm prints."""
    implementer, part = _hex(info.get("CPU implementer")), _hex(info.get("CPU part"))
    vendor: str | None
    model: str | None
    if implementer is not None:
        vendor = IMPLEMENTERS.get(implementer, f"0x{implementer:02x}")
        model = None if part is None else PARTS.get((implementer, part), f"{vendor} part 0x{part:03x}")
    else:
        vendor = info.get("vendor_id") or info.get("mvendorid")
        model = info.get("model name") or info.get("uarch") or info.get("cpu model")
    for name, value in (("vendor", vendor), ("model", model)):
        if not value:
            gaps.note(f"cpu.{name}", "/proc/cpuinfo does not say it")
    return vendor or None, model or None


def _hex(text: str | None) -> int | None:
    return int(text, 16) if text and re.fullmatch(r"0x[0-9a-fA-F]{1,8}", text) else None


def _governor(found: Snapshot, gaps: Gaps) -> str | None:
    """The governor, or all of them when CPUs differ (`performance, powersave`)."""
    pattern = rf"{CPU}/(cpufreq/policy\d+|cpu\d+/cpufreq)/scaling_governor"
    governors = sorted({text.strip() for _, text in found.matching(pattern) if text.strip()})
    if not governors:
        gaps.note("cpu.governor", "the kernel offers no cpufreq")
        return None
    return ", ".join(governors)


def _microcode(info: dict[str, str], gaps: Gaps) -> str | None:
    """The revision of the first CPU's microcode."""
    if not info.get("microcode"):
        gaps.note("cpu.microcode", "/proc/cpuinfo does not say it")
    return info.get("microcode") or None


def _frequency(found: Snapshot, info: dict[str, str], online: list[int], gaps: Gaps) -> float | None:
    """The highest clock of the first CPU from cpufreq, else the clock that /proc/cpuinfo prints."""
    first = online[0] if online else 0
    places = (f"{CPU}/cpu{first}/cpufreq", f"{CPU}/cpufreq/policy{first}")
    khz = next((one for place in places if (one := whole(found.text(f"{place}/cpuinfo_max_freq")))), None)
    if khz:
        return khz * 1e3
    mhz = real(info.get("cpu MHz"))
    if mhz:
        return mhz * 1e6
    gaps.note("cpu.frequency_hz", "neither cpufreq nor /proc/cpuinfo says it")
    return None


def caches(found: Snapshot, gaps: Gaps) -> list[Cache]:
    """The caches of the first online CPU, smallest level first. Those without a size are left out and noted."""
    indexes: dict[tuple[int, int], dict[str, str]] = {}
    for match, text in found.matching(rf"{CPU}/cpu(\d{{1,6}})/cache/index(\d{{1,3}})/(\w+)"):
        indexes.setdefault((int(match[1]), int(match[2])), {})[match[3]] = text.strip()
    first = min((number for number, _ in indexes), default=None)
    made = [_cache(index, values, gaps) for (number, index), values in indexes.items() if number == first]
    kept = sorted((one for one in made if one is not None), key=lambda one: (one.level, one.type))
    if not kept:
        gaps.note("caches", f"{CPU} lists no caches with sizes")
    return kept


def _cache(index: int, values: dict[str, str], gaps: Gaps) -> Cache | None:
    level, size = whole(values.get("level")), cache_size(values.get("size"))
    kind = values.get("type")
    if level is None or not size or kind not in ("Data", "Instruction", "Unified"):
        gaps.note(f"caches.index{index}", "level, type or size is missing")
        return None
    try:
        shared = parse_cpulist(values.get("shared_cpu_list", ""))
    except ValueError:
        shared = []
    return Cache(
        level=level,
        type=cast(Literal["Data", "Instruction", "Unified"], kind),
        size_bytes=size,
        line_bytes=whole(values.get("coherency_line_size")) or None,
        ways=whole(values.get("ways_of_associativity")) or None,
        shared_cpus=shared,
    )


def cache_size(text: str | None) -> int | None:
    """`32K`, `3072K` in bytes; None for anything else."""
    match = _SIZE.fullmatch((text or "").strip())
    return int(match[1]) * _SCALE[match[2]] if match else None
