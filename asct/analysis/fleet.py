"""The figures for one benchmark entry on many hosts: all hosts together in one figure, and each host by itself."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import repeat
from statistics import NormalDist, quantiles
from typing import Final, Literal

from asct.analysis.combined import bands_of, combined, figure_key, is_stacked, markers_of, rated_of, share_categories
from asct.sdk.figure import Backdrop, Bars, Chart, Detail, Figure, Heatmap, Series
from asct.sdk.record import Scalar
from asct.statistics.robust import NORMAL_CONSISTENCY, mad, median
from asct.values.grouping import grouped, shortened

FEW_HOSTS: Final = 8
"""Maximum number of hosts that a figure shows individually: the number of available colors and markers."""
MEDIAN: Final = "median of hosts"
"""The name of the series that represents all hosts."""
_MOST_HOSTS: Final = 7
"""Maximum number of hosts that a figure shows in addition to the median."""
_FALSE_ALARM: Final = 0.05
"""The probability that a figure singles out a host although all values come from the same normal distribution."""
_LEAST_SPREAD: Final = 0.01
"""Lower limit for the assumed standard deviation between hosts, as a fraction of their median. Without this minimum,
insignificant deviations would stand out if most hosts had the same value."""
_TWENTIETHS: Final = 20
_MOST_COMMON: Final = 0.5
"""Minimum fraction of the hosts that share a band."""

_Owned = tuple[str, Chart]
"""A host and its figure."""


@dataclass(frozen=True, slots=True)
class _Mark:
    """A value measured on one host. `key` identifies corresponding values across hosts."""

    host: str
    key: Scalar
    x: Scalar
    y: float


@dataclass(frozen=True, slots=True)
class _SharedMark:
    """The values of all hosts at one mark. `key_field` states what identifies the mark: its label or one of its
    coordinates."""

    key_field: Literal["label", "x", "y"]
    marks: tuple[_Mark, ...]

    @property
    def values(self) -> list[float]:
        """The measured coordinate of the mark on each host, in the order of `marks`."""
        return [float(mark.x) if self.key_field == "y" else mark.y for mark in self.marks]

    def middle(self) -> tuple[Scalar, float]:
        """Return the coordinates of the mark. The measured coordinate is the median over all hosts."""
        first = self.marks[0]
        x = first.x if self.key_field == "x" else median([float(mark.x) for mark in self.marks])
        return x, first.y if self.key_field == "y" else median([mark.y for mark in self.marks])

    def deviations(self) -> dict[str, float]:
        """Return, for each host, the number of standard deviations by which its value is above the median. The standard
        deviation is estimated from the MAD, which outliers cannot distort unless they make up more than half of the
        hosts."""
        values = self.values
        centre = median(values)
        spread = max(NORMAL_CONSISTENCY * mad(values), _LEAST_SPREAD * abs(centre))
        return {mark.host: (value - centre) / spread if spread else 0.0
                for mark, value in zip(self.marks, values, strict=True)}  # fmt: skip


def fleet_figures(by_host: Mapping[str, Sequence[Figure]]) -> list[Figure]:
    """Return the figures of many hosts in order. Each figure covers all hosts.

    A chart shows the median over all hosts, and the hosts that are far from it. A matrix shows the median for each
    cell. Figures that exist for only a few hosts are combined as usual. Charts without common categories are left out.
    """
    figures = [(host, figure) for host, items in by_host.items() for figure in items]
    found: list[Figure] = []
    for group in grouped(figures, lambda item: figure_key(item[1])).values():
        if len(group) <= FEW_HOSTS:
            found += combined(group, several=True)
        elif isinstance(group[0][1], Heatmap):
            found += _median_maps([(host, figure) for host, figure in group if isinstance(figure, Heatmap)])
        else:
            charts = [(host, one) for host, one in group if not isinstance(one, Heatmap)]
            found += [_median_chart(charts)] if share_categories(chart for _, chart in charts) else []
    return found


def host_figures(host: str, own: Sequence[Figure], fleet: Sequence[Figure]) -> tuple[Figure, ...]:
    """Return the figures of one host, with the medians of all hosts in `fleet` as a backdrop."""
    medians = {
        (figure_key(figure), item.panel): Backdrop(MEDIAN, item.x, item.y)
        for figure in fleet
        if not isinstance(figure, Heatmap)
        for item in figure.series
        if item.host == MEDIAN
    }

    def with_backdrop(figure: Figure) -> Figure:
        if isinstance(figure, Heatmap):
            return replace(figure, host=host)
        key = figure_key(figure)
        return replace(
            figure,
            series=tuple(
                replace(item, host=host, backdrop=None if is_stacked(figure) else medians.get((key, item.name)))
                for item in figure.series
            ),
        )

    return tuple(with_backdrop(figure) for figure in own)


def without_visits(figures: Iterable[Figure], most: int) -> list[Figure]:
    """Return the figures. If all figures together contain more than `most` values of visits and repeats, these values
    are replaced with their number."""
    figures = list(figures)
    details = [detail for figure in figures for detail in _details(figure)]
    if sum(len(detail.values) for detail in details) <= most:
        return figures

    def summary(detail: Detail | None) -> Detail | None:
        return detail and replace(detail, values=(), count=len(detail.values) or detail.count)

    return [
        figure
        if isinstance(figure, Heatmap)
        else replace(
            figure, series=tuple(replace(item, details=tuple(map(summary, item.details))) for item in figure.series)
        )
        for figure in figures
    ]


def _details(figure: Figure) -> Iterator[Detail]:
    series = () if isinstance(figure, Heatmap) else figure.series
    return (detail for item in series for detail in item.details if detail is not None)


def _median_chart(charts: Sequence[_Owned]) -> Chart:
    """Return the median of the charts, and the hosts that are far from it. Stacked bars are placed side by side,
    because medians do not add up."""
    first, names = charts[0][1], dict.fromkeys(item.name for _, chart in charts for item in chart.series)
    marks = {name: _shared_marks(charts, name) for name in names}
    has_outliers, hosts = _shown_hosts([mark for own in marks.values() for mark in own])
    series: list[Series] = []
    labels_name = next((item.labels_name for item in first.series), "")
    for name in names:
        series.append(replace(_median_series(name, marks[name], several=len(names) > 1), labels_name=labels_name))
        series += [
            replace(item, name=f"{host}, {name}" if len(names) > 1 else host, host=host, panel=name)
            for host, chart in charts
            if host in hosts
            for item in chart.series
            if item.name == name
        ]
    caption = f"{first.caption} {_sentence(len(charts), has_outliers, hosts)}"
    common = replace(first, caption=caption, series=tuple(series), rated=rated_of(charts))
    if isinstance(common, Bars):
        return replace(common, stacked=False)
    return replace(common, markers=markers_of(charts), bands=bands_of(charts, _MOST_COMMON))


def _shared_marks(charts: Sequence[_Owned], name: str) -> list[_SharedMark]:
    """Return the marks of the series `name` that at least half of the hosts have."""
    found = [(host, item) for host, chart in charts for item in chart.series if item.name == name]
    key_field = _key_field([item for _, item in found])
    marks = [
        _Mark(host, {"label": label, "x": x, "y": y}[key_field], x, y)
        for host, item in found
        for x, y, label in zip(item.x, item.y, item.labels or ("",) * len(item.x), strict=True)
        if y is not None
    ]
    shared = [own for own in grouped(marks, lambda mark: mark.key).values() if 2 * len(own) >= len(found)]
    if all(isinstance(own[0].key, int | float) for own in shared):
        shared.sort(key=lambda own: float(own[0].key))
    return [_SharedMark(key_field, tuple(own)) for own in shared]


def _key_field(series: Sequence[Series]) -> Literal["label", "x", "y"]:
    """Return what identifies a mark on all hosts: its label or the coordinate with fewer distinct values. The other
    coordinate is a measured value."""
    if any(item.labels for item in series):
        return "label"
    xs, ys = {x for item in series for x in item.x}, {y for item in series for y in item.y}
    return "x" if len(xs) <= len(ys) or any(isinstance(x, str) for x in xs) else "y"


def _shown_hosts(marks: Sequence[_SharedMark]) -> tuple[bool, list[str]]:
    """Return whether any hosts are far from the median, and the hosts to show: those that are farthest from it or, if
    none are far from it, the lowest and the highest.

    A host is far from the median if one of its values deviates so much that, among the same number of values drawn from
    a single normal distribution, such a deviation would occur with a probability below `_FALSE_ALARM`. Source of the
    estimate: Iglewicz and Hoaglin, How to Detect and Handle Outliers, 1993 (modified z-scores).
    """
    deviations: dict[str, list[float]] = {}
    for mark in marks:
        for host, deviation in mark.deviations().items():
            deviations.setdefault(host, []).append(deviation)
    count = sum(map(len, deviations.values()))
    if not count:
        return False, []
    limit = NormalDist().inv_cdf(1 - _FALSE_ALARM / 2 / count)
    most = {host: max(map(abs, own)) for host, own in deviations.items()}
    outliers = sorted((host for host in most if most[host] > limit), key=lambda host: -most[host])
    if outliers:
        return True, outliers[:_MOST_HOSTS]
    order = sorted(deviations, key=lambda host: median(deviations[host]))
    return False, list(dict.fromkeys((order[0], order[-1])))


def _sentence(count: int, has_outliers: bool, hosts: Sequence[str]) -> str:
    names = shortened(hosts, _MOST_HOSTS)
    start = f"Median of {count} hosts, with the range of the middle 90 %."
    if has_outliers:
        return f"{start} Hosts far from the median: {names}."
    return f"{start} No host is far from the median; shown: {names}."


def _median_series(name: str, marks: Sequence[_SharedMark], several: bool) -> Series:
    middles = [mark.middle() for mark in marks]
    ends = [_middle_range(mark.values) for mark in marks]
    lows, highs = tuple(low for low, _ in ends), tuple(high for _, high in ends)
    over_x = any(mark.key_field == "y" for mark in marks)
    return Series(
        f"{MEDIAN}, {name}" if several else MEDIAN,
        tuple(x for x, _ in middles),
        tuple(y for _, y in middles),
        () if over_x else lows,
        () if over_x else highs,
        host=MEDIAN,
        details=tuple(
            Detail(() if mark.key_field == "y" else tuple(mark.values), "host", count=len(mark.marks)) for mark in marks
        ),
        labels=tuple(str(mark.marks[0].key) for mark in marks if mark.key_field == "label"),
        panel=name,
        x_low=lows if over_x else (),
        x_high=highs if over_x else (),
    )


def _middle_range(values: Sequence[float]) -> tuple[float, float]:
    """Return the ends of the middle 90 % of the values."""
    if len(values) < 2:
        return values[0], values[0]
    cuts = quantiles(values, n=_TWENTIETHS, method="inclusive")
    return cuts[0], cuts[-1]


def _median_maps(maps: Sequence[tuple[str, Heatmap]]) -> Iterator[Heatmap]:
    """Yield the median matrix of the hosts whose matrices have the same rows and columns."""
    shapes = grouped(maps, lambda item: (item[1].rows, item[1].columns, item[1].groups))
    for number, same in enumerate(shapes.values()):
        first, hosts = same[0][1], [host for host, _ in same]
        cells = zip(*(figure.values for _, figure in same), strict=True)
        rows = [[_known(cell) for cell in zip(*values, strict=True)] for values in cells]
        medians = tuple(tuple(median(cell) if cell else None for cell in row) for row in rows)
        ceilings = [figure.ceiling for _, figure in same if figure.ceiling is not None]
        yield replace(
            first,
            slug=f"{first.slug}-{number + 1}" if len(shapes) > 1 else first.slug,
            caption=f"{first.caption} Median of {len(hosts)} hosts: {shortened(hosts, _MOST_HOSTS)}.",
            values=medians,
            ceiling=median(ceilings) if ceilings else None,
            series=tuple(map(_median_row, first.rows, repeat(first.columns), medians, rows)),
        )


def _known(values: Sequence[float | None]) -> list[float]:
    return [value for value in values if value is not None]


def _median_row(
    name: str, columns: Sequence[str], medians: Sequence[float | None], cells: Sequence[Sequence[float]]
) -> Series:
    """Return a row of a median matrix. For each column, `cells` contains the values of the hosts that have one."""
    ends = [_middle_range(values) if values else (None, None) for values in cells]
    return Series(
        name,
        tuple(columns),
        tuple(medians),
        tuple(low for low, _ in ends),
        tuple(high for _, high in ends),
        details=tuple(Detail((), "host", count=len(values)) if values else None for values in cells),
    )
