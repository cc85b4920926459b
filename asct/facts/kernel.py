"""Facts about the Linux kernel: build and boot options, protections, clock sources and interrupt balancing."""

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
"""Names of secrets. The pattern is matched against everything before the last equals sign of a word, because a value
can itself contain names (`opts=user=me,password=x`)."""
_LOGIN = re.compile(r"=.*:.*@")
_OPTION = re.compile(rf"(?:# )?(CONFIG_(?:{KERNEL_OPTIONS}))(?:=(.*)| is not set)")
_SECURITYFS = f"there is no {SECURITY}/lsm: securityfs is not mounted"


def masked(line: str) -> str:
    """Mask possible passwords and keys in the Linux kernel's command line: `rd.luks.key=***`.

    Every account on the host can read /proc/cmdline, but results are shared with people who have no account there. The
    `command-line` command masks secrets in the same way before the line leaves the host. A quoted value may contain
    spaces.
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


def kernel(snapshot: Snapshot, container: str | None, gaps: UnknownFacts) -> dict[str, Any]:
    """Return the fields of sdk.facts.System that describe the Linux kernel."""
    line = masked(snapshot.command_output("command-line") or snapshot.text("/proc/cmdline") or "") or None
    clock = snapshot.line(f"{CLOCKS}/current_clocksource")
    irqs = cpu_mask(snapshot.text("/proc/irq/default_smp_affinity"))  # Documentation/core-api/irq/irq-affinity.rst
    if irqs is None:
        gaps.note("system.irq_default_affinity", "not reported by /proc/irq/default_smp_affinity")
    return {
        "kernel_options": _options(snapshot, gaps),
        "command_line": gaps.known("system.command_line", line, "not reported by /proc/cmdline"),
        "clock_source": gaps.known("system.clock_source", clock, f"not reported by {CLOCKS}"),
        "clock_sources": (snapshot.text(f"{CLOCKS}/available_clocksource") or "").split(),
        "security_modules": _security_modules(snapshot, gaps),
        "lockdown": _lockdown(snapshot, gaps),
        "mitigations": _mitigations(snapshot, gaps),
        "resctrl": _resctrl(snapshot, gaps),
        "irq_default_affinity": irqs or [],
        "irqbalance": _irqbalance(snapshot, container, gaps),
    }


def _options(snapshot: Snapshot, gaps: UnknownFacts) -> dict[str, str]:
    """Return the build options (`CONFIG_HZ`: `250`).

    Unset options have the value `n`. The quotes around strings are removed.
    """
    options: dict[str, str] = {}
    for line in (snapshot.command_output("kernel-options") or "").split("\n"):
        if match := _OPTION.fullmatch(line.strip()):
            options[match[1]] = "n" if match[2] is None else match[2].strip('"')
    why = "reported by neither /proc/config.gz nor a file in /boot or /lib/modules"
    return dict(sorted(gaps.known("system.kernel_options", options, why).items()))


def _security_modules(snapshot: Snapshot, gaps: UnknownFacts) -> list[str]:
    text = snapshot.text(f"{SECURITY}/lsm")
    if text is None:
        gaps.note("system.security_modules", _SECURITYFS)
    return [name for name in (text or "").strip().split(",") if name]


def _lockdown(snapshot: Snapshot, gaps: UnknownFacts) -> str | None:
    """Return `none`, `integrity` or `confidentiality` (kernel_lockdown(7))."""
    mode = chosen(snapshot.text(f"{SECURITY}/lockdown"))
    if mode is None and snapshot.text(f"{SECURITY}/lsm") is not None:
        gaps.not_applicable("system.lockdown", "the Linux kernel has no lockdown support")
    elif mode is None:
        gaps.note("system.lockdown", _SECURITYFS)
    return mode


def _mitigations(snapshot: Snapshot, gaps: UnknownFacts) -> dict[str, str]:
    folder = f"{VULNERABILITIES}/"
    mitigations = {path[len(folder) :]: snapshot.files[path].strip() for path in snapshot.beginning(folder)}
    return gaps.known("system.mitigations", mitigations, f"there is no {VULNERABILITIES}")


def _resctrl(snapshot: Snapshot, gaps: UnknownFacts) -> bool | None:
    """Return whether caches and memory bandwidth can be partitioned.

    The Linux kernel creates /sys/fs/resctrl if the CPU supports it (Intel RDT, AMD PQoS, Arm MPAM;
    Documentation/filesystems/resctrl.rst).
    """
    there = present(snapshot)
    if there is None:
        gaps.note("system.resctrl", "/sys/fs/resctrl was not checked")
        return None
    return "/sys/fs/resctrl" in there


def _irqbalance(snapshot: Snapshot, container: str | None, gaps: UnknownFacts) -> bool | None:
    """Return whether irqbalance is running, based on the control group of its service, its PID file or its socket.

    Returns False if irqbalance is not installed. The host's daemons are invisible inside a container.
    """
    answer = snapshot.command_output("irqbalance")
    if answer == "running":
        return True
    if answer in ("stopped", "absent") and container == "none":
        return False
    gaps.note("system.irqbalance", "reported by neither a service manager nor a PID file")
    return None
