"""Compare corresponding values of two runs: how much they differ, and whether chance could explain the difference.

The samples of a value are its visits (processes with fresh memory), or its repeats if a repeat has no visits. The
visits of one repeat are close together in time, so they do not show what varies from repeat to repeat. Therefore, if
there are several repeats, each one is a single sample, regardless of its number of visits, until the spread of
unchanged runs shows how much repeats differ.

A value has regressed if all of these conditions hold:

- It is worse than `limit` allows, according to a Mann-Whitney test against the base's values made worse by `limit`.
- If there are several unchanged runs, it is worse than could be expected of another unchanged run.
- The change exceeds the noise floor.

Both tests account for all values that are compared together (Holm). The noise floor combines the intervals of both
values or, for samples that are all equal, the resolution of the values (see `_noise`). With ten or more unchanged runs,
it is at least the change that the spread of these runs explains.

Sources: see `statistics/ranks.py`, `statistics/shift.py`, `statistics/prediction.py` and, for the interval of a median,
`statistics/quantiles.py`.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from statistics import fmean, stdev
from typing import Final, Literal

from asct.analysis.groups import MetricGroup
from asct.sdk.record import is_invalid
from asct.statistics.bootstrap import Nested, ratio_interval
from asct.statistics.prediction import Prior, next_p
from asct.statistics.quantiles import median_interval
from asct.statistics.ranks import can_reach, greater_p, holm, least_each
from asct.statistics.rounding import resolution
from asct.statistics.shift import shift_interval
from asct.statistics.visits import t_975
from asct.values.grouping import grouped
from asct.values.quantity import format_quantity
from asct.values.text import counted, listed

LEVEL: Final = 0.01
"""The probability that at least one of the values compared together is mistakenly reported as changed."""
_FEWEST_IN_COMMON: Final = 5
_MOST: Final = 0.8
"""Minimum number of values on a host, and the share of them that must be worse, for the host to be suspected as their
common cause."""
LEAST_RUNS: Final = 5
"""Minimum number of unchanged runs whose spread is used. The spread of fewer runs is not known precisely enough."""
_ENOUGH_RUNS: Final = 10
"""With fewer unchanged runs than this, their spread is uncertain. Therefore, a regression shown by the visits is
treated as undecided rather than as chance, and the intervals of the values must allow for differences between runs."""
_EXTREME: Final = 1e100
"""Ratios could overflow if a value is above this limit, or below the inverse of this limit. No measurement returns such
values."""
Outcome = Literal["regressed", "improved", "same", "too few visits", "noisy", "not comparable"]
_LEAST_PERCENT: Final = 0.001
"""Smallest percentage that is shown as a number. With three significant digits, smaller ones would need an exponent."""
_DEPENDENT: Final = ("drift", "two-states")
"""The flags of a value whose visits are not independent samples."""
_FAR: Final = 2.0
"""A value that is worse by more than this multiple of the limit is considered far beyond the limit."""
_UNDECIDED: Final[tuple[Outcome, ...]] = ("too few visits", "noisy", "not comparable")


@dataclass(frozen=True, slots=True)
class Change:
    """The difference between two values of the same metric with the same settings and coordinates.

    `change` is relative to the base (0.05 means 5 % more), and `interval` is its 95 % interval, or None if there are
    too few samples. `noise` is the noise floor, as a fraction. `samples` contains the number of samples of each value.
    `p_worse` and `p_better` are one-sided p-values, and `p_visits` is `p_worse` computed without the unchanged runs;
    `adjusted` corrects them for all values that are compared together. If `reason` is not empty, the values cannot be
    compared, and the other fields have no meaning.
    """

    base: float
    new: float
    better: str
    limit: float
    samples: tuple[int, int] = (0, 0)
    sampled: Literal["visits", "repeats"] = "repeats"
    change: float = 0.0
    interval: tuple[float, float] | None = None
    noise: float = 0.0
    p_worse: float = 1.0
    p_better: float = 1.0
    p_visits: float = 1.0
    tests: int = 1
    reason: str = ""
    runs: int = 0
    """The number of unchanged runs, including the base, whose spread is used."""
    spread: float = 0.0
    """The standard deviation of the unchanged runs' values, as a fraction."""
    gate: bool = False
    """Whether the result can make a run fail. If so, no value is reported as regressed until the spread of unchanged
    runs is known: in a virtual machine, memory latencies differed by a factor of 2 between unchanged runs, but by only
    5 % between visits."""
    noisy: str = ""
    """The flags that mark one of the values as measured on a noisy host."""
    clustered: bool = False
    """Whether each sample is a repeat that consists of several visits."""
    constant: bool = False
    """Whether there is nothing to test: all samples of both values and all unchanged runs are equal, or both values are
    equal and not positive."""
    shared: str = ""
    """A note on a regression, set if most of the host's values became worse in the same run."""
    test: tuple[object, ...] = ()
    """The key that identifies the test: settings, coordinates, samples and limit. Metrics that record the same numbers,
    such as `iops` and `read_iops` of a read job, share one test. If the key is empty, the change is tested on its
    own."""

    @property
    def informative(self) -> bool:
        """Whether the values can be compared and are not constant."""
        return not (self.reason or self.constant)

    @property
    def worse_by(self) -> float:
        """The fraction by which the new value is worse than the base; negative if it is better."""
        return self.change if self.better == "lower" else -self.change

    @property
    def outcome(self) -> Outcome:
        """The outcome: whether the value regressed, improved or stayed the same, or why this cannot be decided."""
        if self.reason:
            return "not comparable"
        if abs(self.change) <= max(self.limit, self.noise):
            return "same"
        if not can_reach(*self.samples, LEVEL, self.tests):
            return "too few visits"
        worse = self.worse_by > 0.0
        if (self.p_worse if worse else self.p_better) <= LEVEL:
            if self.runs < LEAST_RUNS and (self.noisy or self.gate):
                return "noisy"
            return "regressed" if worse else "improved"
        return "noisy" if worse and self.p_visits <= LEVEL and self.runs < _ENOUGH_RUNS else "same"

    @property
    def undecided(self) -> bool:
        """Whether a regression can be neither shown nor ruled out. An improvement rules it out."""
        return self.outcome in _UNDECIDED and bool(self.reason or self.worse_by > 0.0)

    @property
    def inconclusive(self) -> bool:
        """Whether the value is far worse than the limit allows (by more than the noise floor, or by more than twice the
        limit), although the difference may be due to chance."""
        worse = self.worse_by
        return self.outcome == "same" and worse > self.limit and (worse > self.noise or worse > _FAR * self.limit > 0.0)

    def describe(self, unit: str) -> str:
        """Return the change as text: `21 % worse (95 %: 18 to 25 %) than the baseline, 182 ns; ...`."""
        if self.reason:
            return self.reason
        word = "worse" if self.worse_by > 0.0 else "better"
        share = f"{_percent(abs(self.change))} % {word}{self._span()} than" if self.change else "equal to"
        found = f"{share} the baseline, {format_quantity(self.base, unit)}"
        if self.outcome == "too few visits":
            values = counted(self.tests, "value is", "values are")
            more = f", or add unchanged runs of the plan ({LEAST_RUNS} in total)" if self.clustered else ""
            return (
                f"{found}; {self._sampled()} too few to tell whether this is due to chance, because {values} compared: "
                f"measure {least_each(LEVEL, self.tests)} in each run (`{self.sampled}`){more}"
            )
        if self.outcome == "noisy":
            why = (
                f"{self.runs} unchanged runs are too few to determine their spread ({_percent(self.spread)} %)"
                if self.runs >= LEAST_RUNS
                else f"one of the values is flagged {self.noisy}, and the spread of unchanged runs is unknown"
                if self.noisy
                else "visits do not show how much values vary between runs, and the spread of unchanged runs is unknown"
            )
            total = LEAST_RUNS if self.runs < LEAST_RUNS and not self.noisy else _ENOUGH_RUNS
            added = f"add unchanged runs of the plan ({total} in total)"
            return f"{found}; it may be due to chance, because {why}: {added}"
        limits = f"limit {_percent(self.limit)} %, noise floor {_percent(self.noise)} %"
        if self.runs >= LEAST_RUNS:
            limits += f", spread of {self.runs} unchanged runs {_percent(self.spread)} %"
        chance = "; it may be due to chance" if self.outcome == "same" and abs(self.change) > self.limit else ""
        return f"{found}; {limits}{chance}{self.shared}"

    def _sampled(self) -> str:
        """Return the numbers of samples as the subject of a sentence, such as `2 repeats in each run are`."""
        first, second = self.samples
        if first == second == 1:
            return f"1 {self.sampled.removesuffix('s')} in each run is"
        return (
            f"{first} {self.sampled} in each run are" if first == second else f"{first} and {second} {self.sampled} are"
        )

    def _span(self) -> str:
        """Return the interval as text, with the sign of the change: if a value is 21 % worse, both ends are positive
        (18 to 25 %), whether lower or higher values are better."""
        if self.interval is None:
            return ""
        low, high = sorted(math.copysign(1.0, self.change) * end for end in self.interval)
        return f" (95 %: {_percent(low)} to {_percent(high)} %)"


def compare(base: MetricGroup | None, new: MetricGroup, limit: float, unchanged: Sequence[float] = ()) -> Change:
    """Return the change from `base` to `new`, with p-values that are not adjusted yet; see `adjusted`.

    `limit` is the smallest relative change of interest. `unchanged` contains the values that the base and other
    unchanged runs measured.
    """
    better = new.record.better
    if base is None:
        return Change(new.value, new.value, better, limit, reason="the baseline has no value for this point")
    change = Change(base.value, new.value, better, limit, test=_test(base, new, limit, unchanged))
    reason = difference(base, new)
    if reason or base.value == new.value <= 0.0:
        return replace(change, reason=reason, constant=not reason, samples=(len(base.records), len(new.records)))
    before, after = _nested(base), _nested(new)
    unchanged = [value for value in unchanged if value > 0.0]
    several_repeats = max(len(before), len(after)) > 1
    nested = several_repeats and any(len(visits) > 1 for visits in (*before, *after))
    clustered = nested and len(unchanged) < LEAST_RUNS
    first, second = (base.values, new.values) if clustered else (_flat(before), _flat(after))
    up, down = 1.0 + limit, 1.0 - limit
    rises, falls = (
        greater_p([value * up for value in first], second),
        greater_p(second, [value * down for value in first]),
    )
    by_visits = rises if better == "lower" else falls
    known = len(unchanged) >= _ENOUGH_RUNS
    step = resolution((base.value, new.value, *unchanged))
    noise = math.hypot(*(_noise(group, step, known=known) for group in (base, new)))
    spread = stdev(unchanged) / fmean(unchanged) if len(unchanged) > 1 else 0.0
    noisy = sorted({flag for flag in (*base.doubts, *new.doubts) if flag.startswith("noisy")})
    if len(unchanged) >= LEAST_RUNS:
        # Half of the noise is about one standard deviation, estimated from all repeats, or all visits of one repeat.
        count = len(before) + len(after) if nested else len(first) + len(second)
        prior = Prior(noise / 2.0, count - 2)
        rises = max(rises, _next_p(unchanged, new.value / up, prior))
        falls = max(falls, _next_p([1.0 / value for value in unchanged], down / new.value, prior))
    if known:
        noise = max(noise, math.sqrt(2.0) * t_975(len(unchanged) - 1) * spread)
    return replace(
        change,
        samples=(len(first), len(second)),
        sampled="repeats" if (len(first), len(second)) == (len(before), len(after)) else "visits",
        clustered=clustered,
        constant=base.value == new.value and len({*_flat(before), *_flat(after), *unchanged}) == 1,
        change=new.value / base.value - 1.0,
        interval=_interval(before, after),
        noise=noise,
        p_worse=rises if better == "lower" else falls,
        p_better=falls if better == "lower" else rises,
        p_visits=by_visits,
        runs=len(unchanged),
        spread=spread,
        noisy=listed(noisy),
    )


def _percent(share: float) -> str:
    """Return a fraction as a percentage with three significant digits, or with all integer digits if there are more;
    never in exponential notation. A percentage between -0.001 and 0.001 is returned as `<0.001`, unless it is 0."""
    percent = 100.0 * share + 0.0  # adding 0.0 turns -0.0 into 0.0
    if 0.0 < abs(percent) < _LEAST_PERCENT:
        return f"<{_LEAST_PERCENT}"
    return f"{percent:.3g}" if abs(percent) < 999.5 else f"{percent:,.0f}"


def _test(base: MetricGroup, new: MetricGroup, limit: float, unchanged: Sequence[float]) -> tuple[object, ...]:
    """Return the key of a test. Two metrics with the same settings and coordinates have the same key if and only if
    comparing them is the same test."""
    host, job_id, _, point_id, coords = new.key
    samples = (tuple(map(tuple, _nested(group))) for group in (base, new))
    return host, job_id, point_id, coords, new.record.better, limit, tuple(unchanged), *samples


def _interval(before: Nested, after: Nested) -> tuple[float, float] | None:
    """Return the 95 % interval of the relative change, or None if there are too few samples or if a sample is not
    positive."""
    first, second = _flat(before), _flat(after)
    if min(*first, *second) <= 0.0:
        return None
    ends = ratio_interval(before, after) or shift_interval(first, second)
    return None if ends is None else (ends[0] - 1.0, ends[1] - 1.0)


def _next_p(unchanged: Sequence[float], value: float, prior: Prior) -> float:
    """Return the probability that an unchanged run measures `value` or more."""
    if value <= 0.0:  # if the limit is 100 % or more, no fall can exceed it
        return 1.0
    return next_p([math.log(item) for item in unchanged], math.log(value), prior)


def adjusted(changes: Sequence[Change]) -> list[Change]:
    """Return the changes with p-values adjusted for all changes that can be compared. Changes that share a test are
    counted once, and constant values are not counted: without any variation, chance cannot make them seem changed."""
    keys = [item.test or (number,) for number, item in enumerate(changes)]
    tests = {key: item for key, item in zip(keys, changes, strict=True) if item.informative}
    found = tests.values()
    worse = dict(zip(tests, holm(item.p_worse for item in found), strict=True))
    better = dict(zip(tests, holm(item.p_better for item in found), strict=True))
    visits = dict(zip(tests, holm(item.p_visits for item in found), strict=True))
    return [
        item
        if not item.informative
        else replace(item, p_worse=worse[key], p_better=better[key], p_visits=visits[key], tests=len(tests))
        for key, item in zip(keys, changes, strict=True)
    ]


def in_common(changes: Sequence[Change], hosts: Sequence[str]) -> list[Change]:
    """Return the changes, with a note on regressions if most values of a host became worse together, which suggests
    that the host itself has changed. `hosts` contains the host of each change. Constant values, such as a queue depth,
    say nothing about the host and are not counted."""
    notes = {}
    comparable = [(item, host) for item, host in zip(changes, hosts, strict=True) if item.informative]
    for host, pairs in grouped(comparable, lambda pair: pair[1]).items():
        own = [item for item, _ in pairs]
        worse = [item for item in own if item.worse_by > item.limit / 2.0]
        if len(own) >= _FEWEST_IN_COMMON and len(worse) >= _MOST * len(own):
            share = f"{len(worse)} of {len(own)} values on this host became worse together"
            notes[host] = f"; {share}: check the host first (clock, governor, firmware, other programs)"
    return [
        replace(item, shared=notes.get(host, "")) if item.outcome == "regressed" else item
        for item, host in zip(changes, hosts, strict=True)
    ]


def difference(base: MetricGroup, new: MetricGroup) -> str:
    """Return the reason why two values cannot be compared, or an empty string if they can."""
    before, after = base.record, new.record
    if before.benchmark != after.benchmark:
        return f"the baseline was measured with `{before.benchmark}`"
    if before.version != after.version:
        return (
            f"the baseline was measured with version {before.version} of `{before.benchmark}`, this run with version "
            f"{after.version}"
        )
    if before.point_id != after.point_id:
        return "the baseline was measured with different settings"
    if before.unit != after.unit:
        return f"the unit changed from {before.unit} to {after.unit}"
    if is_invalid(base.doubts):
        return f"the baseline value is flagged {listed(base.doubts)}"
    if base.value != new.value and min(base.value, new.value) <= 0.0:
        return "there is no relative change, because a value is not positive"
    if any(
        value and not 1.0 / _EXTREME < abs(value) < _EXTREME
        for group in (base, new)
        for value in (group.value, *_flat(_nested(group)))
    ):
        return "the values are too large or too small to be compared"
    return ""


def _nested(group: MetricGroup) -> list[tuple[float, ...]]:
    """Return the visits of each repeat, or the repeat's own value if it has no visits."""
    return [(record.stats and record.stats.visit_values) or (record.value,) for record in group.records]


def _flat(nested: Nested) -> list[float]:
    return [value for visits in nested for value in visits]


def _noise(group: MetricGroup, step: float, *, known: bool) -> float:
    """Return half the width of the value's interval, relative to the value.

    The interval of a single repeat allows for differences between runs; the interval of several repeats is their range.
    If the spread of unchanged runs is `known`, the interval only has to show how precisely the samples determine the
    value, which is their median. A few disturbed visits do not move the median, so they must not widen its interval.
    The median's interval is not used if there are fewer than 6 samples, if they are flagged as not independent, or if
    its width is zero. In the last case, most samples are equal because of rounding, which does not show how precise
    they are. If there are several samples and all of them are equal, half the width is at least `step`, the resolution
    with which the values were printed, because a program that truncates values may be off by that much.
    """
    interval = _median_interval(group) if known else None
    low, high = interval if interval and interval[0] < interval[1] else group.span
    half, samples = (high - low) / 2.0, _samples(group)
    if len(samples) > 1 and len(set(samples)) == 1:
        half = max(half, step)
    return half / abs(group.value)


def _median_interval(group: MetricGroup) -> tuple[float, float] | None:
    """Return the interval for the median of the repeats, or of the visits if there is only one repeat. The result is
    None if there are too few samples, or if they are not independent."""
    if any(flag in record.flags for record in group.records for flag in _DEPENDENT):
        return None
    return median_interval(_samples(group))


def _samples(group: MetricGroup) -> list[float]:
    """Return the values of the repeats, or of the visits if there is only one repeat."""
    return group.values if len(group.records) > 1 else _flat(_nested(group))
