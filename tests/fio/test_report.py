"""Tables and figures created from records."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from asct.analysis.grid import from_table, without_empty_columns
from asct.analysis.headline import HeadlineMetric, headlines
from asct.analysis.view import JobView
from asct.benchmarks.storage_fio import BENCHMARK as ANY
from asct.benchmarks.storage_io_depth_sweep import BENCHMARK as SWEEP
from asct.instruments.fio.metrics import FLAGS
from asct.instruments.fio.verdict import CHANGED
from asct.registry import Registry
from asct.sdk.figure import Bars, Line
from asct.sdk.record import Measurement, Record
from asct.store.model import JobEntry
from tests.fio.running import records_of
from tests.fio.samples import depth_sample, load, output_of, parse
from tests.fio.synthetic import point, side

SEED_COLUMNS = [
    "IODepth", "Read BW (MB/s)", "Write BW (MB/s)", "Total BW (MB/s)", "Read Thruput (kops)", "Write Thruput (kops)",
    "Thruput (kops)", "Read Lat. (us)", "Write Lat. (us)", "Lat. (us)", "CPU usr (%)", "CPU sys (%)", "CPU iowait (%)",
]  # fmt: skip

BEHIND = ["latency-bandwidth", "latency-iops", "read-latency-distribution", "cpu-utilization"]


def measured() -> list[Measurement]:
    sample = depth_sample()
    return list(parse(sample, output_of(sample)).values())


def mixed() -> list[Measurement]:
    sample = load("storage_fio", "randrw")
    return list(parse(sample, output_of(sample), "storage-fio").values())


def sweep_records() -> list[Record]:
    return records_of(SWEEP, [({"iodepth": depth}, measured()) for depth in (32, 4, 8)])


def test_columns_are_those_of_the_seeds_then_percentiles_and_flags() -> None:
    table = SWEEP.tables(sweep_records())[0]
    titles = [column.title for column in table.columns]
    assert titles[: len(SEED_COLUMNS)] == SEED_COLUMNS
    assert titles[len(SEED_COLUMNS) :] == [
        "CPU irq (%)", "CPU soft (%)", "p50 (us)", "p90 (us)", "p99 (us)", "p99.9 (us)", "p99.99 (us)",
        "Spread (%)", "CPU per I/O (us)", "Host CPU per I/O (us)", "Per core (kops)", "Flags",
    ]  # fmt: skip
    assert any("1,000,000" in note for note in table.notes)


def test_the_columns_of_the_seeds_stay_when_there_was_nothing_to_write() -> None:
    table = SWEEP.tables(sweep_records())[0]
    assert all(row["write_latency"] is None for row in table.rows)
    assert {row[key] for row in table.rows for key in ("write_bandwidth", "write_iops")} == {0.0}
    shown = [head.title for head in without_empty_columns(from_table(table)).heads]
    assert shown[: len(SEED_COLUMNS)] == SEED_COLUMNS


def test_rows_are_sorted_and_in_base_units() -> None:
    table = SWEEP.tables(sweep_records())[0]
    assert [row["iodepth"] for row in table.rows] == [4, 8, 32]
    row, values = table.rows[0], {one.metric: one.value for one in measured()}
    assert row["bandwidth"] == values["bandwidth"]
    assert row["clat_p99"] == values["clat_p99"]
    assert (row["write_bandwidth"], row["write_iops"], row["write_latency"]) == (0.0, 0.0, None)
    assert all(set(row) == {column.key for column in table.columns} for row in table.rows)


def test_a_single_point_still_says_its_depth() -> None:
    table, *_ = SWEEP.tables(records_of(SWEEP, [({}, measured())]))
    assert [row["iodepth"] for row in table.rows] == [32]
    assert any("randread" in note and "io_uring" in note for note in table.notes)


def test_repeats_become_their_median() -> None:
    first, second, third = (records_of(SWEEP, [({"iodepth": 4}, measured())]) for _ in range(3))
    for record in second:
        record.value *= 3
    for record in third:
        record.value *= 2
    table, *_ = SWEEP.tables([*first, *second, *third])
    [row] = table.rows
    assert row["iops"] == pytest.approx(2 * next(record.value for record in first if record.metric == "iops"))
    chart = SWEEP.figures([*first, *second, *third])[1]
    [series] = chart.series
    assert series.low[0] is not None
    assert series.high[0] is not None
    assert series.low[0] * 3 == pytest.approx(series.high[0])


def test_littles_law_is_shown_with_both_figures() -> None:
    records = sweep_records()
    for record in records:
        if record.point["iodepth"] == 8 and record.metric in ("iops", "in_flight"):
            record.flags.append("littles-law")
        if record.point["iodepth"] == 8 and record.metric == "in_flight":
            record.value = 4.0
    table = SWEEP.tables(records)[0]
    few = "not-enough-ios"
    assert [set(str(row["flags"]).split(", ")) for row in table.rows] == [{few}, {few, "littles-law"}, {few}]
    assert "iodepth 8: 4 requests in flight instead of 64" in table.notes


def test_figures_of_the_sweep() -> None:
    figures = {figure.slug: figure for figure in SWEEP.figures(sweep_records())}
    assert list(figures) == ["bandwidth", "io-rate", "latency", "latency-percentiles", *BEHIND]
    assert set(SWEEP.pictures) - set(figures) == {"write-latency-distribution"}
    lines = [figure for figure in figures.values() if isinstance(figure, Line)]
    assert {line.x.scale for line in lines[:4]} == {"log2"}
    assert [series.name for series in figures["bandwidth"].series] == ["read"]
    assert figures["bandwidth"].series[0].x == (4, 8, 32)
    assert [series.name for series in figures["latency-percentiles"].series] == ["p50", "p90", "p99", "maximum"]
    cpu = figures["cpu-utilization"]
    assert isinstance(cpu, Bars)
    assert cpu.stacked
    assert cpu.series[0].x == ("4", "8", "32")


def test_headlines_tell_sizes_as_they_are_written() -> None:
    records = records_of(ANY, [({"block_size": size}, mixed()) for size in (4096, 65536)])
    for record in records:
        record.value *= 2 if record.point["block_size"] == 65536 else 1
    job = JobView(
        JobEntry(id="a", benchmark="storage-fio", version="1", host="a", points=2, repeats=1), ANY, tuple(records),
        (), (), (),
    )  # fmt: skip
    details = {item.label: item.place for item in headlines(job)}
    assert details["Highest bandwidth"].startswith("at block size 64K")
    assert details["Lowest latency"].startswith("at block size 4K")


def test_headlines_never_name_an_invalid_point_as_the_best() -> None:
    records = records_of(ANY, [({"iodepth": depth}, mixed()) for depth in (1, 8, 32)])

    def rates(invalid: tuple[int, ...]) -> HeadlineMetric:
        for record in records:
            depth = record.point["iodepth"]
            assert isinstance(depth, int)
            record.value = float(depth) if record.metric == "iops" else record.value
            record.flags = ["invalid", "short-ios"] if depth in invalid else []
        entry = JobEntry(id="a", benchmark="storage-fio", version="1", host="a", points=3, repeats=1)
        job = JobView(entry, ANY, tuple(records), (), (), ())
        return next(item for item in headlines(job) if item.label == "Highest IOPS")

    found = rates(())
    assert (found.number, found.doubt) == (32.0, "") and found.place.startswith("at iodepth 32")
    found = rates((32,))
    assert (found.number, found.doubt) == (8.0, "") and found.place.startswith("at iodepth 8")
    found = rates((1, 8, 32))
    assert (found.value, found.unit, found.number) == ("none", "", None)
    assert (found.place, found.doubt) == ("all 3 values are invalid", "invalid")


def test_a_headline_tells_that_a_burst_is_possible() -> None:
    records = records_of(ANY, [({"iodepth": 1}, mixed())])
    for record in records:
        record.flags = ["burst-possible"]
    entry = JobEntry(id="a", benchmark="storage-fio", version="1", host="a", points=1, repeats=1)
    assert {item.doubt for item in headlines(JobView(entry, ANY, tuple(records), (), (), ()))} == {"burst possible"}


def test_any_fio_names_its_axes() -> None:
    points: list[tuple[dict[str, Any], Any]] = [
        ({"block_size": size, "rwmixread": share}, mixed()) for size in (4096, 16384) for share in (0, 50)
    ]
    records = records_of(ANY, points)
    table, *_ = ANY.tables(records)
    assert [column.title for column in table.columns[:2]] == ["BlockSize", "RWMixRead"]
    assert table.columns[0].format == "size"
    figures = ANY.figures(records)
    assert [series.name for series in figures[0].series] == ["rwmixread 0", "rwmixread 50"]
    assert figures[0].series[0].x == (4096, 16384)
    assert figures[0].x.unit == "B"
    assert figures[3].title == "Latency, 99th percentile"


def test_reads_writes_and_total_of_a_mix() -> None:
    records = records_of(ANY, [({"iodepth": depth}, mixed()) for depth in (1, 2)])
    assert [series.name for series in ANY.figures(records)[0].series] == ["read", "write", "total"]


def test_words_become_bars_in_order_of_appearance() -> None:
    records = records_of(ANY, [({"rw": word}, mixed()) for word in ("write", "read", "randrw")])
    figures = ANY.figures(records)
    assert isinstance(figures[0], Bars)
    assert figures[0].series[0].x == ("write", "read", "randrw")


def test_a_single_point_has_a_row_and_no_curve() -> None:
    records = records_of(ANY, [({}, mixed())])
    table, *_ = ANY.tables(records)
    assert [table.rows[0][key] for key in ("rw", "block_size", "iodepth", "numjobs")] == ["randrw", 16384, 4, 2]
    slugs = [figure.slug for figure in ANY.figures(records)]
    assert slugs == [
        "read-latency-distribution", "write-latency-distribution", "cpu-utilization",
    ]  # fmt: skip


def test_nothing_measured_gives_nothing() -> None:
    assert SWEEP.tables([]) == ()
    assert SWEEP.figures([]) == ()


def test_every_flag_is_explained_where_the_others_point_to() -> None:
    folder = Path(__file__).parents[2] / "asct" / "benchmarks"
    text = (folder / "storage_io_depth_sweep" / "README.md").read_text()
    assert [flag for flag in FLAGS if f"| `{flag}` |" not in text] == []
    assert CHANGED in FLAGS
    for name in ("request_size", "process_count", "access_pattern"):
        readme = (folder / f"storage_{name}_sweep" / "README.md").read_text()
        assert "The flags are the same as in `storage-io-depth-sweep`" in readme


@pytest.mark.parametrize(
    ("name", "alias", "axis", "title", "values"),
    [
        ("storage-request-size-sweep", "srss", "block_size", "BlockSize", [4096 << power for power in range(6)]),
        ("storage-io-depth-sweep", "sids", "iodepth", "IODepth", [1 << power for power in range(8)]),
        ("storage-process-count-sweep", "spcs", "numjobs", "ProcessCount", [1, 2, 4, 8, 16]),
        ("storage-access-pattern-sweep", "saps", "rw", "AccessPattern",
         ["read", "write", "randread", "randwrite", "rw", "randrw"]),
    ],
)  # fmt: skip
def test_the_four_sweeps(name: str, alias: str, axis: str, title: str, values: list[Any]) -> None:
    benchmark = Registry().get(alias)
    assert benchmark is not None
    assert benchmark.name == name
    assert {"storage", "dsweep"} <= set(benchmark.keywords)
    [steps] = [steps for steps, swept in benchmark.params_model.step_settings.items() if swept == axis]
    assert list(getattr(benchmark.params_model(), steps)) == values
    records = [one for value in values for one in point({axis: value}, side(1000.0, 4096, 1e-3))]
    table = benchmark.tables(records)[0]
    assert [column.title for column in table.columns][: len(SEED_COLUMNS)] == [title, *SEED_COLUMNS[1:]]
    assert [row[axis] for row in table.rows] == values


@pytest.mark.parametrize(
    ("alias", "given", "wanted"),
    [
        ("sids", {"iodepth_sweep_steps": "4,5,6,7,8"}, (4, 5, 6, 7, 8)),
        ("srss", {"request_size_sweep_steps": "4K,1M"}, (4096, 2**20)),
        ("spcs", {"process_count_sweep_steps": 3}, (3,)),
        ("saps", {"access_pattern_sweep_steps": "read, readwrite"}, ("read", "rw")),
    ],
)
def test_lists_of_the_command_line(alias: str, given: dict[str, Any], wanted: tuple[Any, ...]) -> None:
    benchmark = Registry().get(alias)
    assert benchmark is not None
    [name] = given
    assert getattr(benchmark.params_model(**given), name) == wanted
