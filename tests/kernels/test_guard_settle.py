"""The rule by which guard stops a program, applied to series for which the right result is known."""

from __future__ import annotations

import random
import subprocess
from collections.abc import Callable, Sequence
from itertools import pairwise
from pathlib import Path

import pytest

from tests.kernels.building import compile_sources, sources_of

pytestmark = pytest.mark.kernels

STEP_S = 0.1
Settled = Callable[..., float | None]


@pytest.fixture(scope="module")
def settled(tmp_path_factory: pytest.TempPathFactory) -> Settled:
    """Return a function that computes after how many seconds a series of requests per 100 ms had settled, or None if it
    never did."""
    parts = [path for path in sources_of("guard") if path.stem == "settle"]
    flags = ("-fsanitize=address,undefined", "-fno-sanitize-recover=all")
    made = tmp_path_factory.mktemp("settle") / "settle"
    program = compile_sources([Path(__file__).with_name("guard_settle.c"), *parts], made, flags=flags)

    def ask(steps: Sequence[float], share: float = 0.02, min_s: float = 3.0, min_ios: int = 0) -> float | None:
        done, lines = 1000.0, [f"{round(share * 1e6)} {round(min_s * 1000)} {min_ios}", "5000000000 1000"]
        for place, step in enumerate(steps, start=1):
            done += step
            lines.append(f"{5_000_000_000 + round(place * STEP_S * 1e9)} {round(done)}")
        ran = subprocess.run([program], input="\n".join(lines), capture_output=True, text=True, check=True)
        assert ran.stderr == ""
        found = int(ran.stdout)
        return None if found < 0 else found * STEP_S

    return ask


def noise(share: float, seconds: float, seed: int = 1, level: float = 400.0) -> list[float]:
    source = random.Random(seed)
    return [max(0.0, source.gauss(level, share * level)) for _ in range(round(seconds / STEP_S))]


def test_a_constant_rate_settles_soon_but_not_before_its_time(settled: Settled) -> None:
    at_once, later, counted = (settled(noise(0.001, 60), **more) for more in ({}, {"min_s": 10.0}, {"min_ios": 80_000}))
    assert at_once is not None and 3.0 <= at_once <= 5.0
    assert later is not None and 10.0 <= later <= 12.0
    assert counted is not None and 19.5 <= counted <= 22.0


def test_a_run_ends_only_at_a_few_times(settled: Settled) -> None:
    """If every moment were a possible end, a run would end in a quiet one, and its interval would be too narrow for the
    next run."""
    ends = sorted({settled(noise(share, 60, seed)) or 60.0 for seed in range(10) for share in (0.03, 0.06, 0.09, 0.12)})
    assert len(ends) >= 4
    assert all(later >= 1.4 * end for end, later in pairwise(ends[:-1])), "the last one is the end of the series"


@pytest.mark.parametrize("seed", range(5))
def test_more_noise_takes_longer_and_the_mean_is_right(settled: Settled, seed: int) -> None:
    series = noise(0.15, 120, seed)
    when = settled(series)
    assert when is not None and when > 4.0
    kept = series[round(when / STEP_S / 4) : round(when / STEP_S)]
    assert sum(kept) / len(kept) == pytest.approx(400, rel=0.04)


@pytest.mark.parametrize("seed", range(5))
def test_too_much_noise_for_the_time_does_not_settle(settled: Settled, seed: int) -> None:
    assert settled(noise(0.8, 20, seed)) is None


def test_a_drift_does_not_settle_however_narrow_the_interval(settled: Settled) -> None:
    falling = [step * (1 - place * STEP_S / 60) for place, step in enumerate(noise(0.01, 30))]
    rising = [step * (1 + place * STEP_S / 60) for place, step in enumerate(noise(0.01, 30))]
    assert settled(falling, share=0.05, min_s=6.0) is None
    assert settled(rising, share=0.05, min_s=6.0) is None


def test_waves_longer_than_a_batch_count_as_few_values(settled: Settled) -> None:
    slow = [400 * (1.3 if round(place * STEP_S / 3) % 2 else 0.7) for place in range(150)]
    assert settled(slow) is None


def test_what_a_throttle_holds_back_and_lets_through_is_no_noise(settled: Settled) -> None:
    source = random.Random(3)
    late = [source.gauss(0, 120) for _ in range(1200)]
    series = [400 + after - before for before, after in zip([0.0, *late], late, strict=False)]
    when = settled(series, share=0.02)
    assert when is not None and when < 60


def test_the_start_is_left_out(settled: Settled) -> None:
    slow_start = [0.0] * 20 + [100.0] * 2 + noise(0.01, 60)
    when = settled(slow_start)
    assert when is not None and 5.0 < when < 15.0


@pytest.mark.parametrize("start", [0.25, 2.0])
def test_a_run_goes_on_until_its_start_no_longer_moves_its_mean(start: float, settled: Settled) -> None:
    """fio reports the mean of the whole run: 2 s at a different rate still account for 2 % of the mean after half a
    minute or more."""
    series = [400.0 * start] * 20 + noise(0.01, 180)
    when = settled(series)
    assert when is not None and when > 30.0
    whole = series[: round(when / STEP_S)]
    assert sum(whole) / len(whole) == pytest.approx(400, rel=0.03)


def test_a_rate_of_nothing_and_a_rule_of_nothing_never_settle(settled: Settled) -> None:
    assert settled([0.0] * 300) is None
    assert settled([400.0] * 40 + [0.0] * 300, min_s=10.0) is None
    assert settled(noise(0.001, 60), share=0.0) is None
