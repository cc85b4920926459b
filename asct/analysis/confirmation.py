"""Confirm regressions: a value that seems to have regressed is measured again before it fails the run.

The first comparison with the baseline fails at most 1 of 100 unchanged runs. A regression remains a failure only if the
second measurement alone also differs from the baseline at the same significance level. A second measurement can only
remove failures, so the limit of 1 in 100 also holds for both comparisons together (an intersection-union test: Berger,
Technometrics 24, 1982).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

from asct.analysis.baseline import Baseline, key_of
from asct.analysis.comparison import Change, adjusted, compare
from asct.analysis.groups import MetricGroup
from asct.sdk.record import is_invalid
from asct.store.layout import PointKey
from asct.store.model import SecondValue, Verdict
from asct.values.quantity import format_quantity


@dataclass(frozen=True, slots=True)
class Suspect:
    """A value that seems to have regressed. Its verdict fails the run unless a second measurement refutes the
    regression. `index` is the position of this verdict among all verdicts."""

    index: int
    place: MetricGroup
    limit: float

    @property
    def point(self) -> PointKey:
        """The host, entry and point id of the point that measures the value."""
        return self.place.host, self.place.id, self.place.record.point_id


def suspects(verdicts: Sequence[Verdict], places: Iterable[MetricGroup]) -> list[Suspect]:
    """Return the values that regressed according to verdicts of severity `fail`."""
    by_place = {(place.host, place.id, place.metric, str(dict(place.at))): place for place in places}
    found = []
    for index, verdict in enumerate(verdicts):
        place = by_place.get((verdict.host or "", verdict.id, verdict.metric, str(verdict.at)))
        if verdict.outcome == verdict.severity == "fail" and verdict.baseline is not None and place is not None:
            found.append(Suspect(index, place, verdict.baseline.limit or 0.0))
    return found


def confirmed(
    verdicts: Sequence[Verdict],
    found: Sequence[Suspect],
    again: Iterable[MetricGroup],
    baseline: Baseline,
    problems: Mapping[PointKey, str],
) -> list[Verdict]:
    """Return the verdicts after comparing the second measurement of each suspect with the baseline.

    `again` contains the values of the second measurement alone, and `problems` the reasons why points were not measured
    again. A regression that could not be measured again remains a failure.
    """
    values = {key_of(group): group for group in again}
    result, sound, raw = list(verdicts), list[Suspect](), list[Change]()
    for suspect in found:
        place, group = suspect.place, values.get(key_of(suspect.place))
        reason = problems.get(suspect.point) or _shortage(suspect, group)
        if group is None or reason:
            result[suspect.index] = _with_reason(verdicts[suspect.index], f"it could not be measured again: {reason}")
            continue
        change = compare(baseline.counterpart(place), group, suspect.limit, baseline.spread(place))
        sound.append(suspect)
        raw.append(replace(change, gate=True))
    # The p-values are adjusted for the number of suspects, not for the number of all values.
    for suspect, change in zip(sound, adjusted(raw), strict=True):
        result[suspect.index] = _judged(verdicts[suspect.index], change)
    return result


def _shortage(suspect: Suspect, group: MetricGroup | None) -> str:
    """Return the reason why the second measurement cannot be judged, or an empty string if it can. With fewer repeats
    than the first, it would be weaker evidence."""
    if group is None or is_invalid(group.doubts):
        return "the second measurement contains no valid values"
    done, planned = len(group.records), len(suspect.place.records)
    return f"only {done} of {planned} repeats have values" if done < planned else ""


def _judged(verdict: Verdict, change: Change) -> Verdict:
    """Return the verdict after the second measurement."""
    unit = verdict.unit or "1"
    value = format_quantity(change.new, unit)
    if change.undecided:
        return _with_reason(
            verdict,
            f"measured again: {value}, which neither confirms nor refutes the regression: {change.describe(unit)}",
        )
    regressed = change.outcome == "regressed"
    second = SecondValue(value=change.new, change=change.change, ci95=change.interval, confirmed=regressed)
    first = format_quantity(verdict.value or 0.0, unit)
    text = (
        f"measured again: confirmed, {value}"
        if regressed
        else f"measured again: not confirmed (first {first}, then {value})"
    )
    base = verdict.baseline.model_copy(update={"again": second}) if verdict.baseline else None
    outcome = "fail" if regressed else "pass"
    return _with_reason(verdict, text).model_copy(update={"outcome": outcome, "baseline": base})


def _with_reason(verdict: Verdict, text: str) -> Verdict:
    return verdict.model_copy(update={"reason": f"{text}; {verdict.reason}" if verdict.reason else text})
