"""Shorten the host names of a fleet for tables, key results and figures."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from itertools import takewhile
from typing import Final

from asct.analysis.grid import TableCell, TextTable, plain
from asct.analysis.report import ReportSection
from asct.sdk.figure import SEPARATOR, Figure, Heatmap, Series
from asct.values.text import listed

_LONG: Final = 16
"""The names of a fleet are shortened only if at least one of them is longer than this."""
_PREFIX: Final = re.compile(r".*[-_.]")
_SUFFIX: Final = re.compile(r"[-_.].*")
_CUT: Final = "\N{HORIZONTAL ELLIPSIS}"


def short_forms(names: Sequence[str]) -> dict[str, str]:
    """Return a short form of each name, without the domain, the beginning and the end that all names share:
    `rack07-node-01-mem.lab.example.com` becomes `…node-01…`.

    If all names are short, they remain unchanged; IP addresses are never shortened.
    """
    start, end, domain = _left_out(names)

    def short(name: str) -> str:
        rest = name.removesuffix(domain).removeprefix(start).removesuffix(end)
        return f"{_CUT * bool(start)}{rest}{_CUT * bool(end)}"

    return {name: short(name) for name in names}


def shortening(names: Sequence[str]) -> str:
    """Return what the short forms leave out, such as "without `rack07-` and `-mem.lab.example.com`", or an empty string
    if the names remain unchanged."""
    start, end, domain = _left_out(names)
    parts = [f"`{plain(part)}`" for part in (start, end + domain) if part]
    return f"without {listed(parts)}" if parts else ""


def _left_out(names: Sequence[str]) -> tuple[str, str, str]:
    """Return the beginning, the end and the domain that short forms leave out. Each may be empty."""
    if len(names) < 2 or max(map(len, names)) <= _LONG:
        return "", "", ""
    domain = _domain(names)
    hosts = [name.removesuffix(domain) for name in names]
    start = _start(hosts)
    return start, _end([host.removeprefix(start) for host in hosts]), domain


def _domain(names: Sequence[str]) -> str:
    """Return the domain that all names share, with its leading dot, or an empty string if there is none or if a name
    would be empty without it. The last label of a domain is not a number."""
    shared = _shared([name.split(".")[:0:-1] for name in names])
    domain = f".{'.'.join(reversed(shared))}"
    return domain if shared and not shared[0].isdigit() and domain not in names else ""


def _start(hosts: Sequence[str]) -> str:
    """Return the longest common beginning that ends with a separator and is followed by a letter in every name."""
    start = "".join(_shared(hosts))
    while found := _PREFIX.match(start):
        if all(host[found.end() : found.end() + 1].isalpha() for host in hosts):
            return found[0]
        start = start[: found.end() - 1]
    return ""


def _end(rests: Sequence[str]) -> str:
    """Return the longest common ending that begins with a separator, or an empty string if a name would be empty
    without it."""
    found = _SUFFIX.search("".join(_shared(rest[::-1] for rest in rests))[::-1])
    return found[0] if found and found[0] not in rests else ""


def _shared(texts: Iterable[Sequence[str]]) -> list[str]:
    """Return the leading elements that all sequences share."""
    return [same[0] for same in takewhile(lambda same: len(set(same)) == 1, zip(*texts, strict=False))]


def with_short_hosts(grid: TextTable, forms: Mapping[str, str]) -> TextTable:
    """Return a table whose host column contains short forms, with the full names as notes."""
    columns = {number for number, head in enumerate(grid.heads) if head.title == "Host"}

    def short_cell(number: int, cell: TableCell) -> TableCell:
        short = forms.get(cell.text, cell.text) if number in columns else cell.text
        return cell if short == cell.text else replace(cell, text=short, note=cell.text)

    rows = tuple(tuple(short_cell(number, cell) for number, cell in enumerate(row)) for row in grid.rows)
    return replace(grid, rows=rows) if columns else grid


def section_with_short_hosts(section: ReportSection, forms: Mapping[str, str]) -> ReportSection:
    """Return a section whose tables and figures contain short forms of the host names."""
    shorten_grid, shorten_figure = partial(with_short_hosts, forms=forms), partial(with_short_series, forms=forms)
    return replace(
        section,
        grids=tuple(map(shorten_grid, section.grids)),
        figures=tuple(map(shorten_figure, section.figures)),
        parts=tuple(replace(part, figures=tuple(map(shorten_figure, part.figures))) for part in section.parts),
    )


def with_short_series(figure: Figure, forms: Mapping[str, str]) -> Figure:
    """Return a figure whose series have short forms of the host names."""
    if isinstance(figure, Heatmap):
        return figure
    return replace(figure, series=tuple(_short_series(series, forms) for series in figure.series))


def _short_series(series: Series, forms: Mapping[str, str]) -> Series:
    short = forms.get(series.host, series.host)
    host, rest = series.host_and_rest
    return replace(series, name=SEPARATOR.join(filter(None, (host and short, rest))), host=short)
