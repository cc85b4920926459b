"""Idle states (Documentation/admin-guide/pm/cpuidle.rst)."""

from __future__ import annotations

import re

from asct.facts.cores import Cpus
from asct.facts.cpusets import Texts
from asct.facts.gaps import Gaps, whole
from asct.facts.snapshot import Snapshot
from asct.facts.sources import CPU
from asct.sdk.facts import IdleState

Key = tuple[str, int | None]

_STATE = re.compile(r"cpuidle/state([0-9]{1,3})/(name|desc|latency|residency|disable)")
_NONE: Key = ("", None)


def driver(found: Snapshot, gaps: Gaps) -> str | None:
    """The driver of the machine; null where there is none."""
    return _said(found, "driver", ("current_driver",), gaps)


def governor(found: Snapshot, gaps: Gaps) -> str | None:
    """The governor; older kernels have it read-only under another name."""
    return _said(found, "governor", ("current_governor", "current_governor_ro"), gaps)


def _said(found: Snapshot, what: str, names: tuple[str, ...], gaps: Gaps) -> str | None:
    texts = [(found.text(f"{CPU}/cpuidle/{name}") or "").strip() for name in names]
    said = next((text for text in texts if text and text != "none"), None)
    if said is None:
        if "none" in texts:
            gaps.lacks(f"cpu.idle_{what}", "the kernel has none")
        else:
            gaps.note(f"cpu.idle_{what}", "the kernel offers no cpuidle")
    return said


def states(cpus: Cpus, gaps: Gaps) -> list[IdleState]:
    """The states of each kind of core, in the order in which CPUs have them, the shallowest first.

    CPUs of several designs have states of their own; those of one name and latency are one. Of the names only those of
    the first CPUs are read, so a CPU without any has those of the first.
    """
    texts: dict[Key, Texts] = {}
    first: dict[int, Key] = {}
    disabled: dict[Key, list[int]] = {}
    for cpu in cpus.online:
        for number, state in sorted(_folders(cpus.of(cpu)).items()):
            if "name" in state:
                key = (state["name"], whole(state.get("latency")))
                first.setdefault(number, key)
                texts.setdefault(key, state)
            else:
                key = first.get(number, _NONE)
            if whole(state.get("disable")):
                disabled.setdefault(key, []).append(cpu)
    if not texts:
        gaps.note("cpu.idle_states", "the kernel offers no cpuidle")
    return [
        IdleState(
            name=name,
            description=state.get("desc") or None,
            latency_us=latency,
            residency_us=whole(state.get("residency")),
            disabled_cpus=disabled.get((name, latency), []),
        )
        for (name, latency), state in texts.items()
    ]


def _folders(files: Texts) -> dict[int, dict[str, str]]:
    """The texts of a CPU's states by their number."""
    found: dict[int, dict[str, str]] = {}
    for name, text in files.items():
        if match := _STATE.fullmatch(name):
            found.setdefault(int(match[1]), {})[match[2]] = text
    return found
