"""What disturbed a kernel while it measured, as flags: judges the member `noise` of its `end` line (kit/noise.h).

A sign of noise alone does not make a value doubtful: kernels drop disturbed batches, count them, and take medians of
the rest. Only a value that did not settle is `noisy`, with the signs as reasons.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

_REASONS: Final = {
    "steal": "the hypervisor took the CPUs for more than 1 % of the time",
    "pressure": "other programs had the CPUs, or waited for them, for more than 5 % of the time",
    "switches": "the threads were put off their CPUs more than 50 times a second",
    "frequency": "cycles took more than 5 % longer at times: the clock, heat, or a busy hyperthread beside",
}
NOISE_FLAGS: Final[dict[str, str]] = {
    "noisy": "the value did not settle: its interval did not get narrow enough in time",
    **{f"noisy-{word}": f"the value did not settle, and {text}" for word, text in _REASONS.items()},
    **{f"disturbed-{word}": f"disturbed batches were left out: {text}" for word, text in _REASONS.items()},
}
"""Every flag of `settled_flags` and its meaning; for the table notes and READMEs of the benchmarks."""

STEAL_LIMIT: Final = 0.01
"""Share of the CPU time. Less hits fewer batches than a median and its interval put up with."""
_OTHERS: Final = 0.05
"""Share of the time. The housekeeping of an idle host stays below 2 %; a competing job takes 20 to 50 %."""
_SWITCHES_A_SECOND: Final = 50.0
"""Involuntary ones per CPU: one in 20 ms. An idle host shows below 10, a competing job 150 to 300 (slices of 3 ms)."""
CLOCK_LIMIT: Final = 0.05
"""Share by which a core cycle may grow. Clocks under load hold within 1 to 2 %; a governor's step, or a turbo bin that
others take up, is 3 to 10 %."""
_GRAINS_NS: Final = 25_000_000
"""CPU times come in ticks of 10 ms: below three of them a share says nothing."""


def noise_flags(end: Mapping[str, Any]) -> tuple[str, ...]:
    """The signs of noise in the `end` line of a kernel as `noisy-...` words; empty when there are none or it has no
    member `noise`. Threads that wait for one another are no sign: they sleep or spin on CPUs of their own."""
    return tuple(f"noisy-{reason}" for reason in _reasons(end))


def settled_flags(settled: bool, end: Mapping[str, Any], dropped: int = 0) -> tuple[str, ...]:
    """Flags of one value of a kernel.

    `settled`: whether its interval met the target (not `capped`); `dropped`: how many of its batches or windows were
    left out as disturbed. A value that did not settle gets `noisy-<reason>` for each sign of noise, or `noisy` when
    there is none. One that settled although batches had to be left out gets `disturbed-<reason>`, which does not make
    it doubtful.
    """
    reasons = _reasons(end)
    if not settled:
        return tuple(f"noisy-{reason}" for reason in reasons) or ("noisy",)
    return tuple(f"disturbed-{reason}" for reason in reasons) if dropped > 0 else ()


def _reasons(end: Mapping[str, Any]) -> tuple[str, ...]:
    noise = end.get("noise")
    if not isinstance(noise, Mapping):
        return ()
    signs = {
        "steal": _exceeds(noise, "steal_ns", STEAL_LIMIT),
        "pressure": _exceeds(noise, "others_ns", _OTHERS) or _waited(noise),
        "switches": _count(noise, "involuntary_switches") > _SWITCHES_A_SECOND * _cpu_ns(noise) * 1e-9 + 1.0,
        "frequency": _clock_moved(noise) or _count(noise, "throttles") > 0,
    }
    return tuple(reason for reason, holds in signs.items() if holds)


def _count(noise: Mapping[str, Any], key: str) -> float:
    """A number of the kernel; 0 for what the host does not tell."""
    value = noise.get(key)
    return float(value) if isinstance(value, int | float) and not isinstance(value, bool) else 0.0


def _cpu_ns(noise: Mapping[str, Any]) -> float:
    """Time of all CPUs together."""
    return _count(noise, "elapsed_ns") * max(_count(noise, "cpus"), 1.0)


def _exceeds(noise: Mapping[str, Any], key: str, share: float) -> bool:
    return _count(noise, key) > max(share * _cpu_ns(noise), _GRAINS_NS)


def _waited(noise: Mapping[str, Any]) -> bool:
    """Pressure of the control group; that of the whole system counts only where the CPUs' own times are not told: on a
    large host others may crowd CPUs that have nothing to do with the kernel's."""
    waited = _count(noise, "group_pressure_us")
    if noise.get("others_ns") is None:
        waited = max(waited, _count(noise, "pressure_us"))
    return waited * 1e3 > max(_OTHERS * _count(noise, "elapsed_ns"), _GRAINS_NS)


def _clock_moved(noise: Mapping[str, Any]) -> bool:
    fastest, slowest = _count(noise, "cycle_fs_min"), _count(noise, "cycle_fs_max")
    return 0.0 < fastest * (1.0 + CLOCK_LIMIT) < slowest
