"""Signs of noise, and their effect on a value."""

from __future__ import annotations

from typing import Any

import pytest

from asct.instruments.memory.kernel_flags import NOISE_FLAGS, noise_flags
from asct.sdk.record import doubtful

SECOND = 1_000_000_000
QUIET: dict[str, Any] = {
    "cpus": 2, "elapsed_ns": SECOND, "own_ns": 2 * SECOND, "others_ns": 10_000_000, "steal_ns": 0,
    "pressure_us": 900_000, "group_pressure_us": None, "voluntary_switches": 4000, "involuntary_switches": 12,
    "frequency_begin_hz": None, "frequency_end_hz": None, "cycle_fs_min": 333_000, "cycle_fs_max": 340_000,
    "throttles": None,
}  # fmt: skip
SIGNS: list[tuple[dict[str, Any], str]] = [
    ({"steal_ns": 50_000_000}, "steal"),
    ({"others_ns": 110_000_000}, "pressure"),
    ({"group_pressure_us": 60_000}, "pressure"),
    ({"others_ns": None}, "pressure"),
    ({"involuntary_switches": 202}, "switches"),
    ({"cycle_fs_max": 350_000}, "frequency"),
    ({"throttles": 1}, "frequency"),
]


def end(**changed: Any) -> dict[str, Any]:
    return {"t": "end", "ok": True, "noise": QUIET | changed}


@pytest.mark.parametrize(("changed", "reason"), SIGNS)
def test_each_sign_alone(changed: dict[str, Any], reason: str) -> None:
    assert noise_flags(end(**changed)) == (f"noisy-{reason}",)


@pytest.mark.parametrize(
    "changed",
    [
        {},
        {"steal_ns": 40_000_000},
        {"others_ns": -10_000_000},
        {"others_ns": 90_000_000},
        {"involuntary_switches": 200},
        {"cycle_fs_max": 349_000},
        {"throttles": 0, "group_pressure_us": 40_000},
        {"cycle_fs_min": None, "cycle_fs_max": None, "steal_ns": None, "others_ns": None, "pressure_us": None},
    ],
)
def test_what_any_host_shows_is_no_sign(changed: dict[str, Any]) -> None:
    assert noise_flags(end(**changed)) == ()


def test_the_share_is_that_of_all_cpus_but_a_tick_or_two_is_none() -> None:
    assert noise_flags(end(steal_ns=30_000_000, cpus=4)) == ()
    assert noise_flags(end(steal_ns=20_000_000, cpus=1, elapsed_ns=SECOND // 10, involuntary_switches=2)) == ()


@pytest.mark.parametrize("told", [None, 7, {}])
def test_a_kernel_that_tells_nothing(told: Any) -> None:
    for without in ({"t": "end"}, {"t": "end", "noise": told}):
        assert noise_flags(without) == ()


def test_every_sign_questions_the_value() -> None:
    found = noise_flags(end(steal_ns=SECOND, involuntary_switches=900))
    assert found == ("noisy-steal", "noisy-switches")
    assert all(doubtful(flag) for flag in found)


def test_every_flag_has_a_meaning() -> None:
    for changed, _ in SIGNS:
        assert {*noise_flags(end(**changed))} <= {*NOISE_FLAGS}
