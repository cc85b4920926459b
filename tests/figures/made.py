"""Synthetic charts: with visits, states and flags, many series and hosts, and narrow and wide ranges."""

from __future__ import annotations

from typing import Any

from hypothesis import strategies as st

from asct.sdk.figure import Axis, Band, Bars, Detail, Line, Marker, Rated, Scale, Series

DEPTHS = (1, 2, 4, 8, 16, 32, 64, 128)


def detail(value: float, visits: int = 8, **changes: Any) -> Detail:
    """Return details with visits that differ from the value by at most 2 %."""
    values = tuple(value * (1 + (number - visits / 2) / 100 / visits) for number in range(visits))
    return Detail(**{"values": values, "kind": "visit", **changes})


def sweep(names: tuple[str, ...], hosts: tuple[str, ...] = ("",), **changes: Any) -> Line:
    """Return rates plotted against the queue depth: a line for each name and host, with intervals and eight visits for
    each value."""
    series = []
    for host_number, host in enumerate(hosts):
        for number, name in enumerate(names):
            y = tuple(3e3 * depth**0.6 * (1 + 0.3 * number + 0.1 * host_number) for depth in DEPTHS)
            series.append(
                Series(
                    ", ".join(filter(None, (host, name))), DEPTHS, y, tuple(v * 0.98 for v in y),
                    tuple(v * 1.02 for v in y), host, tuple(detail(v) for v in y),
                )
            )  # fmt: skip
    body: dict[str, Any] = {
        "slug": "rate", "title": "IOPS", "caption": "Requests per second.", "x": Axis("Queue depth", "", "log2"),
        "y": Axis("IOPS", "ops/s", better="higher"), "series": tuple(series),
    }  # fmt: skip
    return Line(**{**body, **changes})


def loaded(host: str = "") -> Line:
    """Return latency plotted against the bandwidth of a saturated memory, with the number of NOPs next to the marks,
    and a knee."""
    nops = (3000, 900, 500, 180, 100, 80, 70, 50, 40, 30, 20, 10, 0)
    x = (10.7, 35.2, 61.4, 175.3, 306.5, 385.0, 441.8, 603.9, 753.7, 912.7, 918.3, 918.3, 920.7)
    y = (115.5, 115.8, 117.6, 122.2, 129.2, 134.1, 138.3, 158.8, 193.9, 250.7, 266.5, 281.0, 305.4)
    series = Series(
        "latency", tuple(v * 1e9 for v in x), tuple(v * 1e-9 for v in y), tuple(v * 0.99e-9 for v in y),
        tuple(v * 1.01e-9 for v in y), host, tuple(detail(v * 1e-9) for v in y), tuple(map(str, nops)),
        labels_name="NOPs",
    )  # fmt: skip
    return Line(
        "loaded", "Latency under load", "Numbers are injected NOPs.", Axis("Bandwidth", "B/s", better="higher"),
        Axis("Latency", "s", better="lower"), (series,), markers=(Marker(753.7e9, "knee: 194 ns"),),
    )  # fmt: skip


def steady() -> Line:
    """Return rates by round, with the permitted range of a steady state."""
    rounds = tuple(range(1, 14))
    y = tuple(52e3 if number > 6 else 90e3 - 6e3 * number for number in rounds)
    series = Series("randwrite 4 KiB", rounds, y)
    bands = (Band(0.9 * 52e3, 1.1 * 52e3, 9, 13, "range within 20 % of the mean"),)
    return Line(
        "steady", "Steady state", "c", Axis("Round", counts=True),
        Axis("IOPS", "ops/s", from_zero=False, better="higher"), (series,), bands=bands,
        rated=(Rated(60e3, "reference 60k ops/s"), Rated(59e3, "reference 59k ops/s")),
    )  # fmt: skip


def bars(stacked: bool = False, scale: Scale = "linear") -> Bars:
    """Return the bandwidth by access pattern, useful and on the bus. The first value has two states."""
    kinds = ("All Reads", "3:1 Reads-Writes", "2:1 Reads-Writes", "1:1 Reads-Writes", "2:1 Rd-Wr (Non-Temporal)")
    series = []
    for number, name in enumerate(("Useful", "On the memory bus")):
        y = tuple((918.9 - 40 * at + 30 * number) * 1e9 for at in range(5))
        details = tuple(
            detail(v, states=(v * 0.8, v) if not at else (), flags=("two-states",) if not at else ())
            for at, v in enumerate(y)
        )
        series.append(Series(name, kinds, y, tuple(v * 0.97 for v in y), tuple(v * 1.02 for v in y), "", details))
    return Bars(
        "peak", "Peak memory bandwidth", "c", Axis("Traffic", scale="category"),
        Axis("Bandwidth", "B/s", scale, better="higher"), tuple(series), stacked,
    )  # fmt: skip


units = st.sampled_from(["s", "B/s", "ops/s", "%", "1", "cycles", ""])
sizes = st.floats(1e-9, 1e12)


@st.composite
def charts(draw: st.DrawFn) -> Line | Bars:
    """Draw any chart: scales, units, few or many points and series, equal values, gaps, and values over many
    decades."""
    names = draw(st.lists(st.text("ab1 ,<&", max_size=12), min_size=1, max_size=24, unique=True))
    xs = draw(st.lists(st.integers(1, 2**30), min_size=1, max_size=20, unique=True).map(sorted))
    base, spread = draw(sizes), draw(st.sampled_from([0.0, 1e-6, 0.01, 1.0, 100.0, 1e6]))
    shares = st.floats(0, 1)
    series = []
    for name in names:
        ys = tuple(draw(st.one_of(st.none(), shares.map(lambda part: base * (1 + part * spread)))) for _ in xs)
        details = tuple(None if y is None else detail(y) for y in ys)
        series.append(Series(name, tuple(xs), ys, details=details if draw(st.booleans()) else ()))
    x = Axis("Size", draw(st.sampled_from(["", "B", "s", "B/s"])), draw(st.sampled_from(["linear", "log2", "log10"])))
    y = Axis("Value", draw(units), draw(st.sampled_from(["linear", "log10"])), draw(st.booleans()))
    if draw(st.booleans()):
        return Bars("b", "t", "c", x, y, tuple(series), not y.logarithmic and draw(st.booleans()))
    return Line("l", "t", "c", x, y, tuple(series))
