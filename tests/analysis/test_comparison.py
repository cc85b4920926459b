"""Comparisons of the values of two runs, based on their visits: which values are reported as changed, and why."""

from __future__ import annotations

import random
import re
from typing import Any

import pytest

from asct.analysis.comparison import Change, adjusted, compare, in_common
from asct.analysis.groups import MetricGroup
from asct.sdk.record import Stats
from tests.analysis.sampled import NOISES, Noise, correlated, repeated, single


def group(values: list[float], **changes: Any) -> MetricGroup:
    """Return a value with these visits."""
    middle = sorted(values)[len(values) // 2]
    spread = (min(values), max(values))
    stats = Stats(
        n=21, median=middle, mad=0.0, ci95=spread, min=spread[0], max=spread[1], visits=len(values),
        visit_values=tuple(values),
    )  # fmt: skip
    return single(stats, **changes)


def around(middle: float, count: int = 8, seed: int = 1, spread: float = 0.01) -> list[float]:
    rng = random.Random(f"{seed} {middle}")
    return [middle * (1.0 + rng.gauss(0.0, spread)) for _ in range(count)]


def of(base: list[float], new: list[float], limit: float = 0.05, **changes: Any) -> Change:
    (change,) = adjusted([compare(group(base, **changes), group(new, **changes), limit)])
    return change


def test_a_clear_change_is_called_in_the_direction_of_the_metric() -> None:
    assert of(around(100e-9), around(120e-9)).outcome == "regressed"
    assert of(around(100e-9), around(80e-9)).outcome == "improved"
    assert of(around(1e9), around(0.8e9), better="higher", unit="B/s").outcome == "regressed"
    assert of(around(1e9), around(1.2e9), better="higher", unit="B/s").outcome == "improved"
    assert of(around(100e-9), around(103e-9)).outcome == "same"


def test_the_message_has_the_change_its_interval_and_the_limits() -> None:
    text = of(around(100e-9), around(120e-9)).describe("s")
    assert re.match(r"[\d.]+ % worse \(95 %: [\d.]+ to [\d.]+ %\) than the baseline, [\d.]+ ns; ", text)
    assert "limit 5 %, noise floor" in text


@pytest.mark.parametrize("better", ["lower", "higher"])
@pytest.mark.parametrize("factor", [0.8, 1.2])
def test_the_interval_of_a_change_has_its_sign_and_follows_it(better: str, factor: float) -> None:
    found = of(around(100.0), around(100.0 * factor), better=better, unit="B/s").describe("B/s")
    size, word, low, high = re.match(r"([\d.]+) % (\w+) \(95 %: ([\d.]+) to ([\d.]+) %\) than", found).groups()  # type: ignore[union-attr]
    assert float(low) < float(size) < float(high)
    assert word == ("worse" if (factor > 1) == (better == "lower") else "better")


def test_large_changes_are_not_told_as_powers_of_ten() -> None:
    text = of(around(100e-9), around(2e-6), limit=12.0).describe("s")
    assert re.match(r"1,9\d\d % worse \(95 %: 1,\d{3} to 1,9\d\d %\) than", text), text
    assert "limit 1,200 %" in text


@pytest.mark.parametrize("tiny", [5e-7, 1e-12])
def test_tiny_changes_are_not_told_as_powers_of_ten(tiny: float) -> None:
    found = Change(1.0, 1.0 + tiny, "lower", 0.0, change=tiny, interval=(-tiny, 0.0015), noise=tiny)
    text = found.describe("s")
    assert text.startswith("<0.001 % worse (95 %: <0.001 to 0.15 %) than the baseline")
    assert "; limit 0 %, noise floor <0.001 %" in text


def test_a_change_within_the_noise_floor_is_no_regression() -> None:
    base, new = around(100e-9, spread=0.001), around(110e-9, spread=0.001)
    noisy = [*new[:-1], 160e-9]
    assert of(base, new).outcome == "regressed"
    found = of(base, noisy)
    assert (found.outcome, found.noise > 0.2) == ("same", True)
    assert found.describe("s").endswith("it may be due to chance")


def test_far_beyond_the_limit_but_perhaps_chance_is_inconclusive() -> None:
    apart = [100e-9 * (1.0 + 0.15 * step) for step in (0, -1, 1, -0.5, 0.5)]
    base = group(around(100e-9))

    def found(middle: float, limit: float = 0.05, spread: float = 0.01) -> bool:
        (change,) = adjusted([compare(base, group(around(middle, spread=spread)), limit, 2 * apart)])
        return change.inconclusive

    assert found(120e-9)
    assert found(120e-9, limit=0.01)
    assert not found(120e-9, limit=0.0), "runs differ that much without a change"
    assert found(125e-9, spread=0.15), "within the noise floor, but by more than twice the limit"
    assert not found(120e-9, limit=0.25)
    assert not found(100.1e-9, limit=0.0)
    assert not found(80e-9)


def test_too_few_visits_are_told_with_the_number_that_suffices() -> None:
    found = of(around(100e-9, 3), around(120e-9, 3))
    assert found.outcome == "too few visits"
    assert "; 3 visits in each run are too few" in found.describe("s")
    assert found.describe("s").endswith("measure 5 in each run (`visits`)")
    assert of(around(100e-9, 3), around(101e-9, 3)).outcome == "same"  # nothing to prove
    assert "; 3 and 4 visits are too few" in of(around(100e-9, 3), around(120e-9, 4)).describe("s")
    assert "; 1 repeat in each run is too few" in of([100e-9], [120e-9]).describe("s")


def test_a_value_that_did_not_change_is_called_equal() -> None:
    same = around(100e-9)
    assert of(same, same).describe("s").startswith("equal to the baseline, ")
    assert "-0 " not in of([1.0, *[2.0] * 9], [1.0, *[2.0 - 1e-9] * 9]).describe("s")


def test_more_values_need_more_visits() -> None:
    changes = [compare(group(around(1e-7, 6, n)), group(around(1e-7, 6, n + 99)), 0.05) for n in range(63)]
    slow = compare(group(around(1e-7, 6)), group(around(1.2e-7, 6)), 0.05)
    *_, found = adjusted([*changes, slow])
    assert found.outcome == "too few visits"
    assert "64 values are compared: measure 8 in each run" in found.describe("s")


def test_metrics_that_record_the_same_numbers_are_one_test() -> None:
    """A read job reports its rate as `iops` and as `read_iops`."""
    base, new, other = around(1e5, 5), around(0.8e5, 5), around(0.9e5, 5)

    def rate(metric: str, values: list[float], **changes: Any) -> Change:
        same = {"metric": metric, "better": "higher", "unit": "ops/s", **changes}
        return compare(group(base, **same), group(values, **same), 0.05)

    alike = adjusted([rate("iops", new), rate("read_iops", new)])
    assert [(item.outcome, item.tests) for item in alike] == [("regressed", 1)] * 2
    for second in (rate("read_iops", other), rate("iops", new, host="b"), rate("iops", new, coords={"cpu": 1})):
        assert [item.tests for item in adjusted([rate("iops", new), second])] == [2, 2]


@pytest.mark.parametrize(
    ("base", "new", "reason"),
    [
        ({"version": "2"}, {}, "the baseline was measured with version 2 of `bench`, this run with version 1"),
        ({"benchmark": "other"}, {}, "the baseline was measured with `other`"),
        ({"unit": "cycles"}, {}, "the unit changed from cycles to s"),
        ({"point_id": "p2"}, {}, "the baseline was measured with different settings"),
        ({"flags": ["invalid-x"]}, {}, "the baseline value is flagged invalid-x"),
        ({"flags": ["invalid-x", "noisy-y", "noisy-z"]}, {}, "is flagged invalid-x, noisy-y and noisy-z"),
        ({"value": 0.0}, {}, "a value is not positive"),
    ],
)
def test_what_cannot_be_compared_says_why(base: dict[str, Any], new: dict[str, Any], reason: str) -> None:
    found = compare(group(around(1e-7), **base), group(around(1e-7), **new), 0.05)
    assert found.outcome == "not comparable"
    assert reason in found.describe("s")


def test_a_value_without_counterpart_cannot_be_compared() -> None:
    assert compare(None, group(around(1e-7)), 0.05).reason == "the baseline has no value for this point"


def test_repeats_without_visits_are_the_samples() -> None:
    def repeats(middle: float) -> MetricGroup:
        one = group([middle])
        values = around(middle, 6)
        records = [
            one.records[0].model_copy(update={"value": v, "stats": None, "repeat": n}) for n, v in enumerate(values, 1)
        ]
        return MetricGroup(one.host, one.id, one.metric, one.at, tuple(records))

    found = compare(repeats(1e-7), repeats(1.3e-7), 0.05)
    assert found.samples == (6, 6)
    assert found.outcome == "regressed"
    assert found.interval is not None


@pytest.mark.parametrize("repeats", [2, 3, 5])
@pytest.mark.parametrize("noise", NOISES)
def test_visits_of_several_repeats_do_not_count_as_independent(noise: Noise, repeats: int) -> None:
    """The test simulates 100 gates of one value, with a limit of 0 and a fixed seed. If visits were pooled, one in six
    gates of runs with two repeats would fail."""
    rng = random.Random(f"{noise} {repeats}")
    pairs = [[correlated(noise, repeats, 8, rng) for _ in ("base", "new")] for _ in range(100)]
    failed = sum(adjusted([compare(base, new, 0.0)])[0].outcome == "regressed" for base, new in pairs)
    assert failed <= 1


def test_repeats_of_visits_are_the_samples_until_the_spread_of_runs_is_known() -> None:
    base, new = (repeated([around(middle, 8, seed) for seed in (1, 2, 3)]) for middle in (100e-9, 120e-9))
    (alone,) = adjusted([compare(base, new, 0.05)])
    assert (alone.outcome, alone.samples) == ("too few visits", (3, 3))
    text = alone.describe("s")
    assert (
        "3 repeats in each run are too few to tell whether this is due to chance, because 1 value is compared" in text
    )
    assert text.endswith("measure 5 in each run (`repeats`), or add unchanged runs of the plan (5 in total)")
    (known,) = adjusted([compare(base, new, 0.05, [100e-9, 101e-9, 99e-9, 100.5e-9, 99.5e-9])])
    assert (known.outcome, known.samples) == ("regressed", (24, 24))
    five = [repeated([around(middle, 8, seed) for seed in range(5)]) for middle in (100e-9, 120e-9)]
    assert adjusted([compare(*five, 0.05)])[0].outcome == "regressed"


def test_the_visits_of_few_repeats_do_not_make_the_spread_well_known() -> None:
    """Repeats differ by 2 %, whereas the unchanged runs agree to 0.1 %, perhaps by chance. With the 46 degrees of
    freedom of 48 independent visits, an increase by 5 % would be a regression. With the 4 degrees of freedom of six
    repeats, the result is uncertain."""
    base, new = (
        repeated([around(middle * share, 8, 1, spread=0.001) for share in (0.98, 1.0, 1.02)])
        for middle in (100e-9, 105e-9)
    )
    alike = [100e-9 * (1.0 + 0.001 * step) for step in (0, -1, 1, -0.5, 0.5)]
    (found,) = adjusted([compare(base, new, 0.0, alike)])
    assert (found.outcome, found.samples) == ("noisy", (24, 24))


def test_the_spread_of_unchanged_runs_decides_what_visits_cannot() -> None:
    """The visits agree to 1 %. The runs also agree to 1 %, or differ by 15 %."""
    base, new = group(around(100e-9)), group(around(120e-9))
    alike = [100e-9 * (1.0 + 0.01 * step) for step in (0, -1, 1, -0.5, 0.5)]
    apart = [100e-9 * (1.0 + 0.15 * step) for step in (0, -1, 1, -0.5, 0.5)]
    (clear,) = adjusted([compare(base, new, 0.05, alike)])
    (few,) = adjusted([compare(base, new, 0.05, apart)])
    (lost,) = adjusted([compare(base, new, 0.05, 2 * apart)])
    assert (clear.outcome, few.outcome, lost.outcome) == ("regressed", "noisy", "same")
    assert "spread of 5 unchanged runs 0.791 %" in clear.describe("s")
    assert "5 unchanged runs are too few to determine their spread (11.9 %)" in few.describe("s")
    assert "spread of 10 unchanged runs 11.2 %; it may be due to chance" in lost.describe("s")
    (better,) = adjusted([compare(new, base, 0.05, [1.2 * value for value in alike])])
    assert better.outcome == "improved"


@pytest.mark.parametrize("disturbed", ["base", "new"])
def test_disturbed_visits_do_not_hide_a_change_from_runs_that_agree(disturbed: str) -> None:
    """Two of twelve visits take twice as long, which does not change either median."""
    alike = [100e-9 * (1.0 + 0.001 * step) for step in (0, -1, 1, -0.5, 0.5)]
    visits = {"base": around(100e-9, 12, spread=0.001), "new": around(105e-9, 12, spread=0.001)}
    visits[disturbed] = [*visits[disturbed][:-2], 200e-9, 210e-9]
    base, new = group(visits["base"]), group(visits["new"])
    (found,) = adjusted([compare(base, new, 0.0, 2 * alike)])
    assert (found.outcome, found.noise < 0.01) == ("regressed", True)
    (few,) = adjusted([compare(base, new, 0.0, alike)])
    assert (few.outcome, few.noise > 0.2) == ("same", True), "five runs may agree by chance"


def test_equal_samples_do_not_make_a_value_precise() -> None:
    """All values are multiples of 0.1 ns. The interval of the median has a width of zero, and so does that of the
    runs."""
    base, new = ([first] * 10 + [second] * 2 for first, second in ((98.1e-9, 98.2e-9), (98.2e-9, 98.1e-9)))
    (found,) = adjusted([compare(group(base), group(new), 0.0, [98.1e-9] * 10)])
    assert found.noise == pytest.approx(2**0.5 * 0.05 / 98.1, rel=0.01)
    assert found.p_worse > found.p_visits, "another run might be rounded up"


@pytest.mark.parametrize("unchanged", [[], [98.1e-9] * 10])
def test_the_noise_floor_of_equal_samples_is_their_resolution(unchanged: list[float]) -> None:
    """Values that are printed as 98.1 ns and 98.2 ns may differ by much less than 0.1 ns."""

    def found(new: float, count: int = 12) -> Change:
        (change,) = adjusted([compare(group([98.1e-9] * count), group([new] * count), 0.0, unchanged)])
        return change

    assert found(98.2e-9).noise == pytest.approx(2**0.5 * 0.1 / 98.1, rel=0.01)
    assert found(98.2e-9).outcome == "same"
    assert found(99.1e-9).outcome == "regressed"
    assert found(98.123456e-9).noise < 1e-7, "the base was printed with as many digits, which happen to be zeros"
    assert compare(group([98.1e-9]), group([98.2e-9]), 0.0).noise == 0.0, "a single sample has no known noise"
    repeats = [repeated([[value] for value in 12 * [middle]]) for middle in (98.1e-9, 98.2e-9)]
    assert adjusted([compare(*repeats, 0.0)])[0].outcome == "same"


def test_equal_samples_do_not_hide_the_spread_of_runs() -> None:
    wide = Stats(n=12, median=98.1e-9, mad=0.0, ci95=(97e-9, 99e-9), min=98.1e-9, max=98.1e-9, visits=12,
                 visit_values=(98.1e-9,) * 12)  # fmt: skip
    found = compare(single(wide), group([98.2e-9] * 12), 0.0)
    assert found.noise > 1 / 98.1


@pytest.mark.parametrize("flag", ["drift", "two-states"])
def test_the_noise_floor_spans_visits_that_are_not_independent(flag: str) -> None:
    def value(middle: float, *flags: str) -> MetricGroup:
        return group([middle * (1.0 + 0.001 * step) for step in range(-6, 6)], flags=list(flags))

    def noise(base: MetricGroup, new: MetricGroup) -> float:
        return compare(base, new, 0.0, [100e-9 * (1.0 + 0.0001 * step) for step in (-1, 1) * 5]).noise

    usual = noise(value(100e-9), value(103e-9))
    assert usual < noise(value(100e-9, flag), value(103e-9))
    assert usual < noise(value(100e-9), value(103e-9, flag))
    assert usual == noise(value(100e-9), value(103e-9, "noisy-host"))


def test_the_noise_floor_of_few_repeats_is_their_range() -> None:
    """The median of fewer than 6 values has no interval, no matter how many unchanged runs are known."""
    base, new = (repeated([[middle * share] for share in (0.98, 1.0, 1.02)]) for middle in (100e-9, 105e-9))
    assert compare(base, new, 0.0, [100e-9] * 10).noise == pytest.approx(2**0.5 * 0.02)


def test_the_noise_floor_includes_what_varies_from_run_to_run() -> None:
    base, new = group(around(100e-9, spread=0.001)), group(around(103e-9, spread=0.001))
    apart = [100e-9 * (1.0 + 0.01 * step) for step in (-1, 1) * 5]
    (found,) = adjusted([compare(base, new, 0.0, apart)])
    assert (found.outcome, found.inconclusive) == ("same", False)
    assert found.noise == pytest.approx(2**0.5 * 2.262 * found.spread)


def test_no_value_is_lower_by_more_than_100_percent() -> None:
    base, new = (group(around(middle), better="higher", unit="B/s") for middle in (1e9, 1e6))
    (found,) = adjusted([compare(base, new, 1.5, [1e9, 1.01e9, 0.99e9])])
    assert found.outcome == "same"


def test_a_change_on_a_noisy_host_is_unknown_unless_the_spread_is_known() -> None:
    noisy = group(around(120e-9), flags=["noisy-host"])
    alike = [100e-9, 101e-9, 99e-9, 100.5e-9, 99.5e-9]
    (alone,) = adjusted([compare(group(around(100e-9)), noisy, 0.05)])
    (known,) = adjusted([compare(group(around(100e-9)), noisy, 0.05, alike)])
    assert (alone.outcome, known.outcome) == ("noisy", "regressed")
    assert "flagged noisy-host, and the spread of unchanged runs is unknown: add" in alone.describe("s")


def test_zeros_are_equal_and_do_not_hide_other_values() -> None:
    """fio reports a CPU time of 0 for some repeats."""
    assert of([0.0] * 8, [0.0] * 8).outcome == "same"
    found = of([0.0, *around(1.0, 7)], around(2.0))
    assert (found.outcome, found.interval) == ("regressed", None)
    assert of([0.0] * 8, around(1.0)).outcome == "not comparable"


def test_values_near_the_limits_of_floating_point_are_not_compared() -> None:
    assert of([1e-300] * 8, [1e300] * 8).outcome == "not comparable"
    assert of([1e308] * 8, [1.5e308] * 8).outcome == "not comparable"


def test_values_that_move_together_blame_the_host() -> None:
    def moved(count: int, factor: float) -> list[Change]:
        pairs = [(around(1e-7, 12, n), around(factor * 1e-7, 12, n + 50)) for n in range(count)]
        return [compare(group(base), group(new), 0.05) for base, new in pairs]

    together = in_common(adjusted(moved(8, 1.2)), ["a"] * 8)
    assert "8 of 8 values on this host became worse together" in together[0].describe("s")
    mixed = in_common(adjusted([*moved(4, 1.2), *moved(4, 1.0)]), ["a"] * 8)
    assert "together" not in mixed[0].describe("s")
    assert "together" not in in_common(adjusted(moved(2, 1.2)), ["a"] * 2)[0].describe("s")


CONSTANT = [4.0] * 12


def test_constant_values_do_not_make_the_correction_stricter() -> None:
    slow = compare(group(around(1e-7, 6)), group(around(1.2e-7, 6)), 0.05)
    constant = [compare(group(values), group(values), 0.05) for values in (CONSTANT, [0.0] * 12, [-1.0] * 12)]
    *others, found = adjusted([*63 * constant, slow])
    assert (found.outcome, found.tests) == ("regressed", 1)
    assert {item.outcome for item in others} == {"same"}
    assert [item.outcome for item in adjusted(constant)] == ["same"] * 3


@pytest.mark.parametrize(
    ("base", "new", "unchanged"),
    [(CONSTANT, [*CONSTANT[1:], 4.1], []), ([*CONSTANT[1:], 3.9], CONSTANT, []), (CONSTANT, CONSTANT, [4.0, 4.1])],
)
def test_values_that_could_have_changed_are_counted(
    base: list[float], new: list[float], unchanged: list[float]
) -> None:
    same = compare(group(base), group(new), 0.05, unchanged)
    slow = compare(group(around(1e-7)), group(around(1.2e-7)), 0.05)
    assert [item.tests for item in adjusted([same, slow])] == [2, 2]


def test_constant_values_do_not_hide_that_the_others_moved_together() -> None:
    moved = [compare(group(around(1e-7, 12, n)), group(around(1.2e-7, 12, n + 50)), 0.05) for n in range(6)]
    constant = [compare(group(CONSTANT), group(CONSTANT), 0.05) for _ in range(6)]
    *_, found = in_common(adjusted([*constant, *moved]), ["a"] * 12)
    assert "6 of 6 values on this host became worse together" in found.describe("s")


@pytest.mark.parametrize("kind", ["normal", "heavy-tailed", "bimodal"])
def test_at_most_one_gate_in_a_hundred_fails_without_a_change(kind: str) -> None:
    """The test simulates 1,000 gates of eight values each, with the strictest limit (0) and a fixed seed."""
    rng = random.Random(f"{kind} gates")

    def draw() -> float:
        noise = rng.gauss(0.0, 0.02)
        if kind == "heavy-tailed":
            noise = 0.01 * rng.gauss(0.0, 1.0) / max(0.1, abs(rng.gauss(0.0, 1.0)))
        if kind == "bimodal":
            noise += rng.choice((0.0, 0.2))
        return 1e-7 * (1.0 + max(-0.9, noise))

    failed = 0
    for _ in range(1000):
        gate = [compare(group([draw() for _ in range(8)]), group([draw() for _ in range(8)]), 0.0) for _ in range(8)]
        failed += any(change.outcome == "regressed" for change in adjusted(gate))
    assert failed <= 12
