"""Assign each name a color and a marker that are the same in all figures of a report."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from asct.figures import theme
from asct.figures.panels import MOST_SERIES, Panel, panels
from asct.sdk.figure import Figure, Heatmap, Series


@dataclass(frozen=True, slots=True)
class Style:
    """The appearance of a series: its color on a light background, marker, dash and pattern. The last three are names
    that plotly defines."""

    colour: str
    marker: str
    dash: str
    pattern: str


@dataclass(frozen=True, slots=True)
class Palette:
    """The index assigned to each host and to each series name; the index determines the color and marker."""

    hosts: Mapping[str, int]
    names: Mapping[str, int]

    def styles(self, panel: Panel) -> list[Style]:
        """Return the style of each series in a panel.

        If the panel shows several hosts, or a single series of one of several hosts, the color represents the host, and
        the marker and dash represent the rest of the name. Otherwise, the color and marker represent the name.
        """
        rests = [self.names.get(_rest(item), 0) for item in panel.series]
        if not by_host(panel, self.hosts):
            return [_style(rest) for rest in rests]
        counts = Counter(item.host for item in panel.series)
        return [
            _style(self.hosts[item.host], None if counts[item.host] == 1 else rest)
            for item, rest in zip(panel.series, rests, strict=True)
        ]


def palette(figures: Iterable[Figure], hosts: Sequence[str] = ()) -> Palette:
    """Return the palette of a report. `hosts` contains all hosts of the run, in order.

    Names that appear in the same panel have different colors as long as there are enough colors. The same applies to
    hosts if there are more hosts than colors.
    """
    found = [panel for figure in figures if not isinstance(figure, Heatmap) for panel in panels(figure)]
    order = list(dict.fromkeys((*hosts, *(item.host for panel in found for item in panel.series if item.host))))
    numbers = {host: number for number, host in enumerate(order)} if len(order) > 1 else {}
    if len(order) > MOST_SERIES:
        numbers = {host: 0 for host in order} | _numbered(
            [tuple(dict.fromkeys(item.host for item in panel.series if item.host)) for panel in found]
        )
    together = [tuple(dict.fromkeys(_rest(item) for item in panel.series)) for panel in found]
    return Palette(numbers, _numbered(together))


def by_host(panel: Panel, hosts: Mapping[str, int]) -> bool:
    """Return whether the colors of a panel represent hosts."""
    names = [item.host for item in panel.series]
    return bool(hosts) and all(name in hosts for name in names) and (len(set(names)) > 1 or len(names) == 1)


def _rest(item: Series) -> str:
    """Return a series name without its host."""
    host, rest = item.host_and_rest
    return rest if host else item.name


def _numbered(together: Sequence[Sequence[str]]) -> dict[str, int]:
    """Assign numbers to the names so that names that appear together have different numbers modulo the number of
    colors.

    Names with the most neighbors are numbered first, each with the lowest number that fits.
    """
    neighbours: dict[str, set[str]] = {}
    for group in together:
        for name in group:
            neighbours.setdefault(name, set()).update(other for other in group if other != name)
    first = {name: number for number, name in enumerate(neighbours)}
    numbers: dict[str, int] = {}
    count = len(theme.LIGHT)
    for name in sorted(neighbours, key=lambda name: (-len(neighbours[name]), first[name])):
        near = [numbers[other] for other in neighbours[name] if other in numbers]
        numbers[name] = min(range(count), key=lambda number: (near.count(number), number))
    return numbers


def _style(number: int, rest: int | None = None) -> Style:
    """Return the style with the color for `number` and the marker and dash for `rest`. If `rest` is None, `number`
    determines the marker as well, and colors that are used again have a different dash."""
    mark, dash = (number, number // len(theme.LIGHT)) if rest is None else (rest, rest)
    return Style(_at(theme.LIGHT, number), _at(theme.MARKERS, mark), _at(theme.DASHES, dash), _at(theme.PATTERNS, mark))


def _at(items: Sequence[str], number: int) -> str:
    return items[number % len(items)]
