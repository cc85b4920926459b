"""Flags for the values that a memory kernel measures: disturbances during the measurement, and unexpected pages.

The flags are derived from `noise` in the kernel's `end` line and `pages...` in its `meta` line (kernels/kit/noise.h). A
kernel drops disturbed batches and counts them, but the same disturbance also slows other batches, so every value is
questionable.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from asct.sdk.record import Measurement

_REASONS: Final = {
    "steal": "the hypervisor withheld the CPUs for more than 2 % of the time",
    "pressure": "other processes ran on the CPUs, or waited for them, for more than 5 % of the time",
    "switches": "the threads were preempted more than 100 times per second",
    "frequency": "core cycles were more than 5 % longer for part of the time (because of the clock, the "
    "temperature, or a busy sibling hyperthread)",
}
NOISE_FLAGS: Final[dict[str, str]] = {f"noisy-{word}": text for word, text in _REASONS.items()}
"""All flags that `noise_flags` may return, with their meanings, for the table notes and READMEs of the benchmarks."""
PAGE_FLAGS: Final = {
    "unverified-pages": "the measurement kernel could not verify the page size (an emulator hides it)",
    "other-pages": "the memory does not have pages of the requested size",
    "smaller-pages": "larger pages were not available (see `pages_lost` in the measurement kernel's output), so the "
    "value includes more TLB misses",
}
"""The flags that `page_flags` may return, with their meanings."""
MOVED: Final = "moved"
"""Flag for a value that was measured while a virtual CPU moved. If any visit has this flag, so does the combined
value."""
ABOVE_THEORETICAL: Final = "above-theoretical"
_BANDWIDTHS: Final = ("bandwidth", "bus_bandwidth", "peak_bandwidth", "knee_bandwidth", "bandwidth_at_115")
ABOVE_THEORETICAL_FLAGS: Final = {
    ABOVE_THEORETICAL: "the bandwidth exceeds the theoretical peak: the DIMM data or the setting is wrong, or the "
    "caches served part of the traffic",
}

# On virtual machines without a busy neighbor, the share is up to 1 %. A share below the limit affects so few batches
# that the median of a visit does not change. If it affects some visits more than others, the interval over the visits
# is wider.
STEAL_LIMIT: Final = 0.02
"""Limit for the share of CPU time that the hypervisor withholds."""
# Housekeeping uses less than 2 % on an idle host; a competing job uses 20 to 50 %.
_OTHERS: Final = 0.05
"""Limit for the share of CPU time that other processes use."""
# On an idle host, there are up to 60 involuntary context switches per second if the kernel uses all CPUs, and otherwise
# fewer than 10. A competing job causes 150 to 300 (time slices of 3 ms).
_SWITCHES_A_SECOND: Final = 100.0
"""Limit on the number of involuntary context switches per second per CPU."""
# Under load, clocks vary by 1 to 2 %. A step by a governor, or a turbo bin lost to other cores, changes them by 3 to 10
# %.
CLOCK_LIMIT: Final = 0.05
"""Limit for the relative increase in core cycle length."""
# CPU times have a resolution of 10 ms; below three ticks, a share is meaningless. Processes are judged together, so the
# limit applies to their sum.
_GRAINS_NS: Final = 25_000_000
# If a quarter is dropped, the median over all batches is still between the quartiles of those kept (`dropped_bounds` in
# statistics/visits.py).
_MANY_DROPPED: Final = 0.25


def many_dropped(kept: float, dropped: float) -> bool:
    """Return whether more than a quarter of the batches or windows were dropped because a thread was descheduled."""
    return dropped > _MANY_DROPPED * (kept + dropped)


def noise_flags(end: Mapping[str, Any]) -> tuple[str, ...]:
    """Return the `noisy-...` flags for the signs of noise in a kernel's `end` line, or an empty tuple if the line does
    not contain `noise`.

    Threads that wait for one another are not a sign of noise, because they sleep, or spin on separate CPUs.
    """
    noise = end.get("noise")
    if not isinstance(noise, Mapping):
        return ()
    signs = {
        "steal": _exceeds(noise, "steal_ns", STEAL_LIMIT),
        "pressure": _exceeds(noise, "others_ns", _OTHERS) or _waited(noise),
        "switches": _count(noise, "involuntary_switches") > _SWITCHES_A_SECOND * _cpu_ns(noise) * 1e-9 + 1.0,
        "frequency": _clock_moved(noise) or _count(noise, "throttles") > 0,
    }
    return tuple(f"noisy-{reason}" for reason, holds in signs.items() if holds)


def _count(noise: Mapping[str, Any], key: str) -> float:
    """Return a number reported by the measurement kernel, or 0 if the host does not provide it."""
    value = noise.get(key)
    return float(value) if isinstance(value, int | float) and not isinstance(value, bool) else 0.0


def _cpu_ns(noise: Mapping[str, Any]) -> float:
    """Return the total time that all CPUs provided during the measurement."""
    return _count(noise, "elapsed_ns") * max(_count(noise, "cpus"), 1.0)


def _exceeds(noise: Mapping[str, Any], key: str, share: float) -> bool:
    return _count(noise, key) > max(share * _cpu_ns(noise), _GRAINS_NS)


def _waited(noise: Mapping[str, Any]) -> bool:
    """Return whether the control group was under pressure.

    The pressure on the whole system is used only if the CPU times are unknown: on a large host, other processes may
    compete for CPUs that the measurement kernel does not use.
    """
    waited = _count(noise, "group_pressure_us")
    if noise.get("others_ns") is None:
        waited = max(waited, _count(noise, "pressure_us"))
    return waited * 1e3 > max(_OTHERS * _count(noise, "elapsed_ns"), _GRAINS_NS)


def _clock_moved(noise: Mapping[str, Any]) -> bool:
    fastest, slowest = _count(noise, "cycle_fs_min"), _count(noise, "cycle_fs_max")
    return 0.0 < fastest * (1.0 + CLOCK_LIMIT) < slowest


def above_theoretical(found: Sequence[Measurement], theoretical: float | None) -> list[Measurement]:
    """Return the measurements, flagging bandwidths that exceed the theoretical peak of the memory, if it is known."""
    if theoretical is None:
        return list(found)
    limits = {**dict.fromkeys(_BANDWIDTHS, theoretical), "share_of_theoretical": 100.0}
    return [
        replace(item, flags=(*item.flags, ABOVE_THEORETICAL))
        if item.value > limits.get(item.metric, math.inf)
        else item
        for item in found
    ]


def page_flags(meta: Mapping[str, Any]) -> tuple[str, ...]:
    """Return the flags for pages that differ from the requested ones or could not be verified, according to a kernel's
    `meta` line."""
    flags = {
        "other-pages": meta.get("pages_asked") not in ("auto", meta.get("pages")),
        "smaller-pages": isinstance(meta.get("pages_lost"), str),
        "unverified-pages": meta.get("pages_verified") is False,
    }
    return tuple(flag for flag, holds in flags.items() if holds)
