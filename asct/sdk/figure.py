"""Figures and tables as data. Values are in base units (s, B/s, ops/s); the renderer chooses the scale for display."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

if TYPE_CHECKING:
    from asct.sdk.metric import Better
    from asct.sdk.record import Scalar

Scale = Literal["linear", "log2", "log10", "category"]


@dataclass(frozen=True, slots=True)
class Axis:
    """An axis. `unit` is the unit of the data. If it is "B", the ticks on a log2 scale are in KiB and MiB."""

    title: str
    unit: str = ""
    scale: Scale = "linear"
    from_zero: bool = True
    """Whether a linear y axis starts at 0. If not, it covers only the values."""


@dataclass(frozen=True, slots=True)
class Detail:
    """What is known about one y value of a series: the values that it summarizes, and their circumstances."""

    values: tuple[float, ...]
    """The value of each visit or, if there are several repeats, of each repeat. In a figure of many hosts, the value of
    each host."""
    kind: Literal["visit", "repeat", "host"] = "repeat"
    states: tuple[float, ...] = ()
    """The values of the two states, if the visits fall into two groups."""
    flags: tuple[str, ...] = ()
    setting: str = ""
    """The swept settings of the point as text."""
    count: int = 0
    """The number of values if `values` does not contain them."""


@dataclass(frozen=True, slots=True)
class Backdrop:
    """Values with which those of a series are compared, such as those of an earlier run. They are drawn pale behind the
    series. `name` says what they are."""

    name: str
    x: tuple[Scalar, ...]
    y: tuple[float | None, ...]


@dataclass(frozen=True, slots=True)
class Series:
    """The points of a line, or a group of bars. `low` and `high` are the bounds of the interval of each y value.

    `details` and `labels` are empty or as long as `y`. A label is written beside its mark, such as the load of a point
    on a curve of latency over bandwidth.
    """

    name: str
    x: tuple[Scalar, ...]
    y: tuple[float | None, ...]
    low: tuple[float | None, ...] = ()
    high: tuple[float | None, ...] = ()
    host: str = ""
    details: tuple[Detail | None, ...] = ()
    labels: tuple[str, ...] = ()
    panel: str = ""
    """The panel that contains the series if the chart is drawn as several panels and all of its series name one."""
    backdrop: Backdrop | None = None


@dataclass(frozen=True, slots=True)
class Marker:
    """A vertical line at x with a short label, such as a level bound or a cache size."""

    x: float
    label: str
    kind: Literal["bound", "hint"] = "bound"


@dataclass(frozen=True, slots=True)
class Rated:
    """A labeled horizontal line at the rated value y."""

    y: float
    label: str


@dataclass(frozen=True, slots=True)
class Band:
    """A labeled range of y values, such as the permitted range of a steady state, from x `start` to `end`."""

    low: float
    high: float
    start: float
    end: float
    label: str


@dataclass(frozen=True, slots=True)
class _Chart:
    slug: str
    title: str
    caption: str
    x: Axis
    y: Axis
    series: tuple[Series, ...]


@dataclass(frozen=True, slots=True)
class Line(_Chart):
    """A line chart."""

    markers: tuple[Marker, ...] = ()
    better: Better = "neither"
    rated: tuple[Rated, ...] = ()
    bands: tuple[Band, ...] = ()


@dataclass(frozen=True, slots=True)
class Bars(_Chart):
    """A chart of grouped or stacked bars."""

    stacked: bool = False
    better: Better = "neither"
    rated: tuple[Rated, ...] = ()


@dataclass(frozen=True, slots=True)
class Heatmap:
    """A matrix shown as colors: `values[row][column]` in `unit`, or None if nothing was measured.

    `ceiling` is the upper end of the color scale; larger values have the color of this end, so that one outlier does
    not hide the rest. `groups` are the rows (and columns, if they have the same names) at which a block of the topology
    begins. A `diverging` matrix contains changes: its color scale is centered at 0 and shows the worse direction in
    orange. The color scale of a `logarithmic` matrix shows ratios, if its values span at least a decade.
    """

    slug: str
    title: str
    caption: str
    x_title: str
    y_title: str
    columns: tuple[str, ...]
    rows: tuple[str, ...]
    values: tuple[tuple[float | None, ...], ...]
    unit: str
    ceiling: float | None = None
    groups: tuple[int, ...] = ()
    host: str = ""
    better: Better = "neither"
    diverging: bool = False
    logarithmic: bool = False


Chart = Line | Bars
"""A figure that shows series over an axis."""
Figure = Chart | Heatmap


@dataclass(frozen=True, slots=True)
class Column:
    """A table column. `title` is the same as in Arm's ASCT; values are divided by `scale` and displayed with `digits`
    decimals.

    The `format` "size" shows bytes as 32.06K; "text" shows the value unchanged. A column without values
    is omitted unless `kept` is set.
    """

    key: str
    title: str
    scale: float = 1.0
    digits: int = 1
    format: Literal["number", "size", "text", "integer"] = "number"
    help: str = ""
    kept: bool = False


@dataclass(frozen=True, slots=True)
class Table:
    """A table. Each row maps column keys to raw values in base units.

    A `bulk` table has too many rows to read and appears only in the CSV and JSON exports. `flags` contains the flags of
    the values; a report explains each flag once for all tables.
    """

    slug: str
    title: str
    columns: tuple[Column, ...]
    rows: tuple[dict[str, Scalar | None], ...]
    notes: tuple[str, ...] = ()
    flags: tuple[str, ...] = ()
    bulk: bool = False
