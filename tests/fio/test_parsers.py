"""The parsers for fio's document and for mpstat, and merging histograms."""

from __future__ import annotations

import contextlib
import json
import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from asct.instruments.fio.counters import CpuLoad, load_within, read_rows
from asct.instruments.fio.document import read_document
from asct.instruments.fio.histogram import Latency, Quantiles, merged
from tests.fio.samples import CASES, depth_sample, load

BINS = st.dictionaries(st.integers(1, 10**9), st.integers(1, 10**6), min_size=1, max_size=50)


def latency(bins: dict[int, int]) -> Latency:
    """Return the exact statistics of a histogram whose midpoints are taken as the values."""
    n = sum(bins.values())
    mean = sum(value * count for value, count in bins.items()) / n
    square = sum(count * (value - mean) ** 2 for value, count in bins.items())
    return Latency(n, min(bins), max(bins), mean, math.sqrt(square / (n - 1)) if n > 1 else 0.0, bins)


@pytest.mark.parametrize(("package", "case"), CASES)
def test_percentiles_of_bins_are_those_of_fio(package: str, case: str) -> None:
    content = json.loads(load(package, case)["outputs"][0]["files"]["fio.json"].splitlines()[-1])
    seen = 0
    for job in content["jobs"]:
        for part in (
            job[side][kind] for side in ("read", "write", "trim") for kind in ("slat_ns", "clat_ns", "lat_ns")
        ):
            bins = {int(value): count for value, count in part.get("bins", {}).items()}
            assert sum(bins.values()) == part["N"]
            for percent, expected in part.get("percentile", {}).items() if bins else ():
                assert Quantiles(bins).at(float(percent) / 100.0) == expected
                seen += 1
    assert seen


@given(st.lists(BINS, min_size=1, max_size=5))
def test_merging_is_exact(parts: list[dict[int, int]]) -> None:
    together: dict[int, int] = {}
    for part in parts:
        for value, count in part.items():
            together[value] = together.get(value, 0) + count
    found, expected = merged([latency(part) for part in parts]), latency(together)
    assert found is not None
    assert found.bins == expected.bins
    assert (found.n, found.min_ns, found.max_ns) == (expected.n, expected.min_ns, expected.max_ns)
    assert found.mean_ns == pytest.approx(expected.mean_ns)
    assert found.stddev_ns == pytest.approx(expected.stddev_ns, rel=1e-6, abs=1e-3)


def test_jobs_without_requests_do_not_pull_the_minimum_to_zero() -> None:
    idle = Latency(0, 0.0, 0.0, 0.0, 0.0)
    found = merged([idle, latency({100: 5})])
    assert found is not None
    assert found.min_ns == 100
    assert merged([idle]) is None


@pytest.mark.parametrize(
    ("n", "percent", "given_"),
    [
        (20, 50.0, True),
        (19, 50.0, False),
        (1000, 99.0, True),
        (999, 99.0, False),
        (100_000, 99.99, True),
        (99_999, 99.99, False),
    ],
)
def test_a_percentile_needs_ten_requests_above_it(n: int, percent: float, given_: bool) -> None:
    assert (latency({1000: n}).percentile_ns(percent) is not None) is given_


def test_spread_of_a_histogram() -> None:
    stats = latency({100: 1, 200: 2, 400: 1}).mean_stats()
    assert stats is not None
    assert (stats.n, stats.ci95) == (4, None)
    assert (stats.median, stats.mad, stats.max) == pytest.approx((200e-9, 0.0, 400e-9))
    assert Latency(3, 1, 2, 1.5, 0.5).mean_stats() is None


def test_notes_before_the_document() -> None:
    text = depth_sample()["outputs"][0]["files"]["fio.json"]
    document = read_document("note: both iodepth >= 1 and synchronous I/O engine are selected\nfio: hint\n" + text)
    assert len(document.notes) == 2
    assert len(document.jobs) == 2
    assert document.jobs == read_document(text).jobs


@pytest.mark.parametrize("text", ["", "fio: nothing\n", "[]", '{"jobs": []}', "{}", "\x00\x01{", '{"fio version": 3}'])
def test_foreign_documents_are_refused(text: str) -> None:
    with pytest.raises(ValueError, match="JSON"):
        read_document(text)


def test_any_cut_is_refused() -> None:
    text = depth_sample()["outputs"][0]["files"]["fio.json"].splitlines()[-1]
    for end in range(1, len(text) - 1, 997):
        with pytest.raises(ValueError, match=r"truncated|no JSON"):
            read_document(text[:end])


@pytest.mark.parametrize("value", ["NaN", "-1", '"x"', "true", "1e999", str(2**64), "9" * 400])
def test_impossible_numbers_are_refused(value: str) -> None:
    last = depth_sample()["outputs"][0]["files"]["fio.json"].splitlines()[-1]
    text = last.replace('"io_bytes":', f'"io_bytes": {value}, "x":', 1)
    with pytest.raises(ValueError, match="JSON"):
        read_document(text)


def mpstat(date: str, *times: str) -> str:
    cpu = {"usr": 1.0, "nice": 0.0, "sys": 2.0, "iowait": 3.0, "irq": 4.0, "soft": 5.0, "guest": 0.0, "idle": 85.0}
    rows = [
        {"timestamp": time, "cpu-load": [{"cpu": "all", **cpu}, {"cpu": "0", **cpu, "usr": 60.0}]} for time in times
    ]
    return json.dumps({"sysstat": {"hosts": [{"date": date, "statistics": rows}]}})


def test_mpstat_rows_over_midnight() -> None:
    rows = read_rows(mpstat("2026-11-21", "23:59:58", "23:59:59", "00:00:00", "00:00:01"))
    assert [row.second - rows[0].second for row in rows] == [0, 1, 2, 3]
    assert rows[0].load == {"usr": 1.0, "sys": 2.0, "iowait": 3.0, "irq": 4.0, "soft": 5.0}
    assert rows[0].used == rows[0].load | {"usr": 60.0}
    assert rows[0].busiest == 71.0


def test_the_cpus_in_use_are_told_from_the_others() -> None:
    text = mpstat("2026-11-21", "10:00:00")
    [row] = read_rows(text, [0])
    assert (row.used["usr"], row.busiest) == (60.0, 71.0)
    [row] = read_rows(text, [7])
    assert (row.load["usr"], row.used, row.busiest) == (1.0, {}, 0.0)


def test_a_cpu_that_the_hypervisor_gave_to_others_is_as_busy() -> None:
    [row] = read_rows(mpstat("2026-11-21", "10:00:00").replace('"guest": 0.0', '"guest": 0.0, "steal": 25.0'), [0])
    assert row.busiest == 96.0


@pytest.mark.parametrize(
    "text", ["", "{", "[]", '{"sysstat": {"hosts": []}}', mpstat("21/11/26", "10:00:00"), mpstat("2026-11-21", "10 AM")]
)
def test_foreign_mpstat_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match="mpstat"):
        read_rows(text)


def test_an_unfinished_document_of_mpstat_is_refused() -> None:
    with pytest.raises(ValueError, match="mpstat"):
        read_rows(SAMPLE["mpstat.json"][:-30])


@pytest.mark.parametrize(
    ("start", "end", "usr", "count", "interval"),
    [
        (100.0, 106.0, 103.0, 5, 1),  # surely inside: 101 ... 105
        (100.4, 102.6, 101.5, 2, 1),  # short: half a second assumed
        (103.2, 103.7, 103.0, 1, 1),  # shorter than a row: the nearest
        (90.0, 106.0, 100.0, 11, 5),  # rows of 5 s: 95 ... 105
    ],
)
def test_rows_within_the_run(start: float, end: float, usr: float, count: int, interval: int) -> None:
    rows = [
        CpuLoad(second, dict.fromkeys(("usr", "sys", "iowait", "irq", "soft"), float(second)), {"usr": 2.0}, 1.0)
        for second in range(90, 120)
    ]
    load_ = load_within(rows, start, end, interval)
    assert load_ is not None
    assert (load_.rows, load_.load["usr"], load_.used["usr"]) == (count, usr, 2.0)


def test_no_row_within_the_run() -> None:
    assert load_within([], 1.0, 2.0) is None
    assert load_within([CpuLoad(50, {}, {}, 0.0)], 100.0, 101.0) is None


SAMPLE = depth_sample()["outputs"][0]["files"]
READERS = {"fio.json": read_document, "mpstat.json": read_rows}
JUNK = st.sampled_from(["", "null", "[", "{", "-1", "1e999", '"x"', "\x00", "[" * 100_000, "9" * 400, "true", "}"])


@pytest.mark.parametrize("name", READERS)
@given(data=st.data(), junk=JUNK)
def test_damage_is_a_value_error_or_still_a_document(name: str, data: st.DataObject, junk: str) -> None:
    text = SAMPLE[name]
    start = data.draw(st.integers(0, len(text)))
    end = data.draw(st.integers(start, min(len(text), start + 30)))
    with contextlib.suppress(ValueError):
        READERS[name](text[:start] + junk + text[end:])
