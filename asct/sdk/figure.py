"""Figures and tables as data. Values are in base units (s, B/s, ops/s); the renderer chooses the scale for display."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, Literal

if TYPE_CHECKING:
    from asct.sdk.metric import Better
    from asct.sdk.record import Scalar

Scale = Literal["linear", "log2", "log10", "category"]
SEPARATOR: Final = ", "
"""The text that separates the parts of a series name, such as the host and the settings."""


@dataclass(frozen=True, slots=True)
class Axis:
    """An axis.

    `unit` is the unit of the data. If it is "B", the ticks on a log2 scale are written as `4K`, `1M` and so on.
    """

    title: str
    unit: str = ""
    scale: Scale = "linear"
    from_zero: bool = True
    """Whether a linear y axis starts at 0. Otherwise, the axis covers only the range of the values."""
    counts: bool = False
    """Whether the axis shows counts, such as numbers of rounds, so that all ticks are whole numbers."""
    better: Better = "neither"
    """Whether lower or higher values are better, if the axis shows a measured quantity."""

    @property
    def logarithmic(self) -> bool:
        return self.scale in ("log2", "log10")


@dataclass(frozen=True, slots=True)
class Detail:
    """Details about one y value in a series: the values that it summarizes, and how they were measured."""

    values: tuple[float, ...]
    """The summarized values. These are the values of the visits or, if there are several repeats, of the repeats. In a
    figure that covers many hosts, they are the values of the hosts. The latency between two CPUs may summarize the
    values of several memory nodes."""
    kind: Literal["visit", "repeat", "memory node", "host"] = "repeat"
    states: tuple[float, ...] = ()
    """The values of the two states, if the visits fall into two groups."""
    flags: tuple[str, ...] = ()
    setting: str = ""
    """The swept settings of the point as text."""
    count: int = 0
    """The number of values that are summarized, if `values` does not contain them."""


@dataclass(frozen=True, slots=True)
class Backdrop:
    """Values that a series is compared with, such as values from an earlier run. They are drawn in a pale color behind
    the series. `name` describes them."""

    name: str
    x: tuple[Scalar, ...]
    y: tuple[float | None, ...]


@dataclass(frozen=True, slots=True)
class Series:
    """The points of a line, or a group of bars. `low` and `high` are the bounds of the interval of each y value.

    `details` and `labels` are either empty or as long as `y`. A label, such as the load at a point on a curve of
    latency against bandwidth, is shown next to its data point.
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
    """The panel that shows the series. This field is used only if the chart is split into panels and every series
    specifies a panel."""
    backdrop: Backdrop | None = None
    labels_name: str = ""
    """The quantity that the labels give, such as `NOPs`."""
    x_low: tuple[float | None, ...] = ()
    x_high: tuple[float | None, ...] = ()
    """The bounds of the interval of each x value, if x is a measured quantity."""

    @property
    def host_and_rest(self) -> tuple[str, str]:
        """The host at the beginning of the name, if any, and the rest of the name."""
        if self.host and self.name == self.host:
            return self.host, ""
        prefix = f"{self.host}{SEPARATOR}"
        if self.host and self.name.startswith(prefix):
            return self.host, self.name.removeprefix(prefix)
        return "", self.name


@dataclass(frozen=True, slots=True)
class Marker:
    """A vertical line at x with a short label, such as a level bound or a cache size. The label consists of a `name`,
    which is the same on all hosts, and a measured `value`."""

    x: float
    name: str
    kind: Literal["bound", "hint"] = "bound"
    value: str = ""

    @property
    def label(self) -> str:
        """The text above the line: the name, followed by the value."""
        return f"{self.name} {self.value}".strip()


@dataclass(frozen=True, slots=True)
class Rated:
    """A labeled horizontal line that marks a rated value y."""

    y: float
    label: str


@dataclass(frozen=True, slots=True)
class Band:
    """A labeled range of y values between the x values `start` and `end`, such as the permitted range of a steady
    state. If `low` and `high` are None, the band is as high as the figure."""

    low: float | None
    high: float | None
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
    """A line chart, optionally with vertical markers, rated values and bands."""

    markers: tuple[Marker, ...] = ()
    rated: tuple[Rated, ...] = ()
    bands: tuple[Band, ...] = ()


@dataclass(frozen=True, slots=True)
class Bars(_Chart):
    """A bar chart. The bars at the same x are stacked if `stacked` is set; otherwise, they are side by side.

    A logarithmic y axis has no zero at which a bar could begin. On such an axis, points replace the bars, and stacked
    bars are an error.
    """

    stacked: bool = False
    rated: tuple[Rated, ...] = ()

    def __post_init__(self) -> None:
        """Raise ValueError for stacked bars on a logarithmic y axis."""
        if self.stacked and self.y.logarithmic:
            raise ValueError(f"{self.slug}: stacked bars need a linear y axis")


@dataclass(frozen=True, slots=True)
class Compared:
    """One of the runs that a matrix of changes compares: its name, and the rows of its own matrix as series, with the
    columns of the matrix of changes."""

    name: str
    unit: str
    rows: tuple[Series, ...]


@dataclass(frozen=True, slots=True)
class Heatmap:
    """A matrix shown as colors. `values[row][column]` is a value in `unit`, or None if nothing was measured.

    `ceiling` is the upper end of the color scale. Larger values are shown in the color at that end, so that a single
    outlier does not hide the differences between the other values. `groups` contains the rows at which a block of the
    topology begins (and the columns, if they have the same names). A `diverging` matrix contains changes: its color
    scale is centered at 0 and shows changes for the worse in orange. A `logarithmic` matrix has a logarithmic color
    scale if its values span at least a decade.
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
    series: tuple[Series, ...] = ()
    """The rows as series, from which tooltips take the interval and the details of each cell. Empty if these are
    unknown."""
    compared: tuple[Compared, ...] = ()
    """The values that a matrix of changes compares."""


Chart = Line | Bars
"""A figure that plots series along an x axis."""
Figure = Chart | Heatmap


@dataclass(frozen=True, slots=True)
class Column:
    """A table column. Use the same `title` as Arm's ASCT. Values are divided by `scale` and displayed with `digits`
    decimals, from 10,000 on without decimals. With the `format` "size", bytes are shown as 32.06K; with "text", values
    are shown unchanged. A column that contains no values is omitted unless `kept` is set.
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

    A `bulk` table has too many rows to read and appears only in the CSV and JSON exports. `flags` lists all flags in
    the table; a report explains each flag once for all tables.
    """

    slug: str
    title: str
    columns: tuple[Column, ...]
    rows: tuple[dict[str, Scalar | None], ...]
    notes: tuple[str, ...] = ()
    flags: tuple[str, ...] = ()
    bulk: bool = False
