"""The means of observation on the host: performance monitors, tracers, BPF.

Source: Linux Documentation/admin-guide/sysctl/kernel.rst (perf_event_paranoid, kptr_restrict, perf_user_access),
Documentation/ABI/testing/sysfs-bus-event_source-devices*, arch/x86/events/core.c (rdpmc, the log's `generic`),
drivers/perf/arm_pmu.c (the log's `counters available`).
"""

from __future__ import annotations

import re

from asct.facts.snapshot import Snapshot
from asct.facts.sources import EVENTS
from asct.facts.unknown import NEEDS_ROOT, UnknownFacts, cpu_mask, folders, present, whole
from asct.sdk.facts import Perf

_SAMPLING = ("arm_spe", "ibs_")
_TRACE = ("cs_etm", "intel_pt", "intel_bts")
_MESHES = ("arm_cmn", "arm-ccn", "ccn")
_SIGNED = re.compile(r"-?\d{1,9}", re.ASCII)
_GENERIC = re.compile(r"\.\.\. generic (registers|counters|bitmap): +([0-9a-f]{1,16})\b")
_ARM = re.compile(r"enabled with \S+ PMU driver, (\d{1,3})(?: \(([0-9a-f,]+)\))? counters available")
_CYCLE_COUNTER = 31  # ARMV8_PMU_CYCLE_IDX of include/linux/perf/arm_pmuv3.h


def perf(found: Snapshot, kernel_options: dict[str, str], gaps: UnknownFacts) -> Perf:
    """The access of the account: `kcore` and `devmem` tell whether it may read these files."""
    pmus = sorted(folders(found, EVENTS))
    if not pmus:
        gaps.note("perf.pmus", f"{EVENTS} is empty")
    there = present(found)
    if there is None:
        for field in ("kcore", "devmem", "btf"):
            gaps.note(f"perf.{field}", "not checked")
    return Perf(
        paranoid=_sysctl(found, "perf_event_paranoid", "paranoid", gaps),
        kptr_restrict=_sysctl(found, "kptr_restrict", "kptr_restrict", gaps),
        user_access=_user_access(found, gaps),
        pmus=pmus,
        counters=counters(found, gaps),
        sampling=[name for name in pmus if name.startswith(_SAMPLING)],
        trace=[name for name in pmus if name.startswith(_TRACE)],
        interconnects=[name for name in pmus if name.startswith(_MESHES)],
        kcore=None if there is None else there.get("/proc/kcore", False),
        devmem=None if there is None else there.get("/dev/mem", False),
        bpf=_bpf(found, kernel_options, gaps),
        btf=None if there is None else "/sys/kernel/btf/vmlinux" in there,
    )


def _sysctl(found: Snapshot, name: str, field: str, gaps: UnknownFacts) -> int | None:
    text = (found.text(f"/proc/sys/kernel/{name}") or "").strip()
    if not _SIGNED.fullmatch(text):
        gaps.note(f"perf.{field}", f"there is no /proc/sys/kernel/{name}")
        return None
    return int(text)


def _user_access(found: Snapshot, gaps: UnknownFacts) -> bool | None:
    """Whether programs may read counters without a call of the kernel: `rdpmc` of x86 (0: never), a sysctl of Arm."""
    texts = [text for path, text in sorted(found.files.items()) if path.startswith(EVENTS) and path.endswith("/rdpmc")]
    values = [whole(text) for text in (*texts, found.text("/proc/sys/kernel/perf_user_access"))]
    known = [value for value in values if value is not None]
    if not known:
        gaps.note("perf.user_access", "neither rdpmc nor perf_user_access reports it")
        return None
    return all(value > 0 for value in known)


def counters(found: Snapshot, gaps: UnknownFacts) -> int | None:
    """Counters of one CPU that can count any event; of the kind of CPU that has the fewest. The one of Arm that counts
    cycles alone is none of them."""
    said = found.command_output("counters") or ""
    numbers = [int(text, 16).bit_count() if word == "bitmap" else whole(text) for word, text in _GENERIC.findall(said)]
    for total, mask in _ARM.findall(said):
        bits = cpu_mask(mask)
        numbers.append(int(total) - 1 if bits is None else sum(bit < _CYCLE_COUNTER for bit in bits))
    known = [number for number in numbers if number]
    if not known:
        denied = "not permitted" in said and whole(found.command_output("id")) != 0
        reason = "no file reports it, and the kernel log no longer does"
        gaps.note("perf.counters", NEEDS_ROOT if denied else reason)
    return min(known, default=None)


def _bpf(found: Snapshot, kernel_options: dict[str, str], gaps: UnknownFacts) -> bool | None:
    """Whether the kernel has the system call bpf(2)."""
    if found.text("/proc/sys/kernel/unprivileged_bpf_disabled") is not None:
        return True
    built = kernel_options.get("CONFIG_BPF_SYSCALL")
    if built is None:
        gaps.note("perf.bpf", "neither a sysctl nor the kernel configuration reports it")
        return None
    return built == "y"
