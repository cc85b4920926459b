"""The build and boot options of the kernel, its protections, its clock, and what balances interrupts."""

from __future__ import annotations

import re
from typing import Any

from asct.facts.snapshot import Snapshot
from asct.facts.sources import CLOCKS, KERNEL_OPTIONS, SECURITY, VULNERABILITIES
from asct.facts.unknown import UnknownFacts, chosen, cpu_mask, present

MASK = "***"
_SECRET = re.compile(
    r"passw|passphr|pwd|secret|token|credential|(?:auth|pass|psk|pw)=|keys?[=._-]", re.IGNORECASE | re.ASCII
)
"""Applied to the text up to the last equals sign of a word, because a value may contain a name itself."""
_LOGIN = re.compile(r"=.*:.*@")
_OPTION = re.compile(rf"(?:# )?(CONFIG_(?:{KERNEL_OPTIONS}))(?:=(.*)| is not set)")
_SECURITYFS = f"there is no {SECURITY}/lsm: securityfs is not mounted"


def masked(line: str) -> str:
    """A kernel command line with possible passwords and keys masked: `rd.luks.key=***`.

    Every account of the host can read /proc/cmdline, but results travel further. The exchange masks it in the same way
    before it leaves the host (`sources.kernel`). A quoted value may contain blanks.
    """
    words: list[str] = []
    within = False
    for word in line.split():
        name, equals, _ = word.partition("=")
        if within:
            within = '"' not in word
        elif equals and (_SECRET.search(word[: word.rindex("=") + 1]) or _LOGIN.search(word)):
            within = word.count('"') == 1
            words.append(f"{name}={MASK}" + ('"' if '"' in name else ""))
        else:
            words.append(word)
    return " ".join(words)


def kernel(found: Snapshot, container: str | None, gaps: UnknownFacts) -> dict[str, Any]:
    """The fields of sdk.facts.System that are about the kernel."""
    return {
        "kernel_options": _options(found, gaps),
        "command_line": _command_line(found, gaps),
        "clock_source": _clock_source(found, gaps),
        "clock_sources": (found.text(f"{CLOCKS}/available_clocksource") or "").split(),
        "security_modules": _security_modules(found, gaps),
        "lockdown": _lockdown(found, gaps),
        "mitigations": _mitigations(found, gaps),
        "resctrl": _resctrl(found, gaps),
        "irq_default_affinity": _irq_affinity(found, gaps),
        "irqbalance": _irqbalance(found, container, gaps),
    }


def _command_line(found: Snapshot, gaps: UnknownFacts) -> str | None:
    line = found.command_output("command-line") or found.text("/proc/cmdline")
    if not line:
        gaps.note("system.command_line", "/proc/cmdline does not report it")
    return masked(line) if line else None


def _options(found: Snapshot, gaps: UnknownFacts) -> dict[str, str]:
    """`CONFIG_HZ`: `250`; `n` for what is not set. Texts without their quotes."""
    made: dict[str, str] = {}
    for line in (found.command_output("kernel-options") or "").split("\n"):
        if match := _OPTION.fullmatch(line.strip()):
            made[match[1]] = "n" if match[2] is None else match[2].strip('"')
    if not made:
        gaps.note("system.kernel_options", "neither /proc/config.gz nor a file in /boot or /lib/modules reports it")
    return dict(sorted(made.items()))


def _clock_source(found: Snapshot, gaps: UnknownFacts) -> str | None:
    text = (found.text(f"{CLOCKS}/current_clocksource") or "").strip()
    if not text:
        gaps.note("system.clock_source", f"{CLOCKS} does not report it")
    return text or None


def _security_modules(found: Snapshot, gaps: UnknownFacts) -> list[str]:
    text = found.text(f"{SECURITY}/lsm")
    if text is None:
        gaps.note("system.security_modules", _SECURITYFS)
    return [name for name in (text or "").strip().split(",") if name]


def _lockdown(found: Snapshot, gaps: UnknownFacts) -> str | None:
    """`none`, `integrity` or `confidentiality` (kernel_lockdown(7))."""
    mode = chosen(found.text(f"{SECURITY}/lockdown"))
    if mode is None:
        built = found.text(f"{SECURITY}/lsm") is not None
        if built:
            gaps.not_applicable("system.lockdown", "the kernel has no lockdown support")
        else:
            gaps.note("system.lockdown", _SECURITYFS)
    return mode


def _mitigations(found: Snapshot, gaps: UnknownFacts) -> dict[str, str]:
    folder = f"{VULNERABILITIES}/"
    made = {path[len(folder) :]: text.strip() for path, text in found.files.items() if path.startswith(folder)}
    if not made:
        gaps.note("system.mitigations", f"there is no {VULNERABILITIES}")
    return dict(sorted(made.items()))


def _resctrl(found: Snapshot, gaps: UnknownFacts) -> bool | None:
    """Whether caches and memory bandwidth can be shared out: the kernel makes /sys/fs/resctrl where the CPU has it
    (Intel RDT, AMD PQoS, Arm MPAM; Documentation/filesystems/resctrl.rst)."""
    there = present(found)
    if there is None:
        gaps.note("system.resctrl", "/sys/fs/resctrl was not checked")
        return None
    return "/sys/fs/resctrl" in there


def _irq_affinity(found: Snapshot, gaps: UnknownFacts) -> list[int]:
    """The CPUs that new interrupts go to (Documentation/core-api/irq/irq-affinity.rst)."""
    cpus = cpu_mask(found.text("/proc/irq/default_smp_affinity"))
    if cpus is None:
        gaps.note("system.irq_default_affinity", "/proc/irq/default_smp_affinity does not report it")
    return cpus or []


def _irqbalance(found: Snapshot, container: str | None, gaps: UnknownFacts) -> bool | None:
    """By the control group of its service, its pid file or socket, or because nothing like it is installed. A container
    does not see the daemons of its host."""
    answer = found.command_output("irqbalance")
    if answer == "running":
        return True
    if answer in ("stopped", "absent") and container == "none":
        return False
    gaps.note("system.irqbalance", "neither a service manager nor a pid file reports it")
    return None
