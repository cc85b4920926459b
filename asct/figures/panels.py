"""Small multiples: a chart with many series is drawn as several panels with the same axes and at most eight series
each."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import combinations, pairwise
from typing import Final

from asct.sdk.figure import SEPARATOR, Bars, Chart, Series
from asct.values.grouping import grouped

MOST_SERIES: Final = 8
"""Maximum number of series in a panel, which is also the number of colors and of markers."""
PANEL_WIDTH: Final = 230
PANEL_HEIGHT: Final = 150
"""The minimum width and the height of a panel, in pixels."""
_MOST_WORDS: Final = 5
_MOST_TIMES: Final = 3
"""Maximum number of panels when series are grouped by words, as a multiple of the number needed when they are divided
in order. Above this limit, most of the panels would contain only one series."""


@dataclass(frozen=True, slots=True)
class Panel:
    """Series that are drawn in the same axes. `title` is the part that all series names share, or empty if there is
    none; the names within the panel omit it."""

    title: str
    series: tuple[Series, ...]


def panels(chart: Chart) -> tuple[Panel, ...]:
    """Return the panels of a chart: a single one with an empty title unless it has more than eight series.

    If all series specify their panels, they are divided accordingly. Otherwise, series names consist of words, such as
    the host and the settings, separated by commas. Series that share some of these words form a panel; the words are
    chosen so that there are as few panels as possible. If no words divide the series into a reasonable number of
    panels, they are divided in order. Stacked bars have one panel for each host, because the parts of a stack must
    remain together.
    """
    series = chart.series
    if isinstance(chart, Bars) and chart.stacked:
        return _host_panels(series)
    if len(series) <= MOST_SERIES:
        return (Panel("", series),)
    if all(item.panel for item in series):
        return _named_panels(series)
    ordered, by_words = tuple(Panel("", part) for part in _parts(series)), _by_words(series)
    return by_words if 0 < len(by_words) <= _MOST_TIMES * len(ordered) else ordered


def _host_panels(series: Sequence[Series]) -> tuple[Panel, ...]:
    """Return one panel for each host or, if there are not several hosts, a single panel with an empty title."""
    by_host = grouped(series, lambda item: item.host)
    if len(by_host) <= 1:
        return (Panel("", tuple(series)),)
    return tuple(
        Panel(host, tuple(replace(item, name=item.host_and_rest[1] or item.name) for item in own))
        for host, own in by_host.items()
    )


def _named_panels(series: Sequence[Series]) -> tuple[Panel, ...]:
    """Return the panels that the series specify. Within a panel, series names omit the panel title."""
    return tuple(
        Panel(name, tuple(replace(item, name=item.name.removesuffix(f"{SEPARATOR}{name}")) for item in part))
        for name, own in grouped(series, lambda item: item.panel).items()
        for part in _parts(own)
    )


def legend_names(found: Sequence[Panel]) -> tuple[str, ...]:
    """Return the names in the legend that all panels share, or an empty tuple if each panel needs its own names.

    A chart with a single series needs no legend.
    """
    names = tuple(dict.fromkeys(series.name for panel in found for series in panel.series))
    return names if 1 < len(names) <= MOST_SERIES else ()


def columns_of(count: int, width: float) -> int:
    """Return the number of columns for `count` panels in a figure of `width` pixels, so that rows are filled evenly."""
    most = max(1, min(count, int(width // PANEL_WIDTH), 4))
    rows = -(-count // most)
    return -(-count // rows)


def _words(series: Series) -> tuple[str, ...]:
    """Return the words of a name. A host name may contain commas, but counts as one word."""
    host, rest = series.host_and_rest
    return tuple(filter(None, (host, *(rest.split(SEPARATOR) if rest else ()))))


def _by_words(series: Sequence[Series]) -> tuple[Panel, ...]:
    words = [_words(item) for item in series]
    count = len(words[0])
    if len({len(item) for item in words}) > 1 or not 1 < count <= _MOST_WORDS:
        return ()
    choices = [at for size in range(1, count) for at in combinations(range(count), size)]
    divided = [_divided(series, words, at) for at in choices]
    fitting = [found for found in divided if max(len(panel.series) for panel in found) <= MOST_SERIES]
    return min(fitting, key=len, default=())


def _divided(series: Sequence[Series], words: Sequence[tuple[str, ...]], at: tuple[int, ...]) -> tuple[Panel, ...]:
    """Return the panels formed by grouping series that have the same words at the positions `at`."""
    pairs = list(zip(series, words, strict=True))
    groups = grouped(pairs, lambda pair: tuple(pair[1][position] for position in at))
    return tuple(
        Panel(
            SEPARATOR.join(key),
            tuple(
                replace(item, name=SEPARATOR.join(word for number, word in enumerate(own) if number not in at))
                for item, own in group
            ),
        )
        for key, group in groups.items()
    )


def _parts(series: Sequence[Series]) -> Iterator[tuple[Series, ...]]:
    """Yield parts of about equal size with at most eight series each."""
    count = -(-len(series) // MOST_SERIES)
    ends = [len(series) * number // count for number in range(count + 1)]
    yield from (tuple(series[start:end]) for start, end in pairwise(ends))
