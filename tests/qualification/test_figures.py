"""The figures of a qualification, drawn from the records of a drive that slows down and then remains steady."""

from __future__ import annotations

from itertools import product
from typing import Any

import pytest

from asct.instruments.qualification.compared import compared_figures, compared_tables
from asct.instruments.qualification.figures import phase_figures
from asct.instruments.qualification.tables import notes_of, views
from asct.sdk.figure import Band, Figure, Heatmap, Line
from asct.sdk.record import Record
from tests.fio.synthetic import record

SIZES = (1048576, 131072, 65536, 32768, 16384, 8192, 4096, 512)
MIXES = (100, 95, 65, 50, 35, 5, 0)
ROUNDS, WINDOW = 9, 5
POINT: dict[str, Any] = {}
FADING = (2.0, 1.8, 1.5, 1.2, 1.05, 0.98, 1.0, 1.02, 0.95)
"""The value of each round relative to the average of the window, which is 1."""


def qualified(
    sizes: tuple[int, ...] = SIZES,
    mixes: tuple[int, ...] = MIXES,
    tracked: tuple[tuple[int, int], ...] = ((4096, 0),),
    quantity: str = "iops",
    phase: str = "test",
    earlier: int = 0,
) -> list[Record]:
    """Return the records of one phase whose workloads all follow FADING, after `earlier` rounds."""
    run = {"phase": phase, "profile": "pts", "window": WINDOW, "excursion": 20.0}
    last = float(ROUNDS + earlier)
    found = [record(POINT, "rounds", last, coords=run), record(POINT, "steady", 1.0, coords={"phase": phase})]
    for size, reads in product(sizes, mixes):
        place = {"block_size": size, "rwmixread": reads}
        level = 1e8 / (size + 4096) * (1.0 + reads / 50)
        values = {"iops": level, "bandwidth": level * size, "latency": 1 / level, "latency_max": 9 / level}
        found += [record(POINT, metric, value, coords=place) for metric, value in values.items()]
        for number, share in enumerate((2.1,) * earlier + FADING, 1):
            at = place | {"round": number}
            found.append(record(POINT, f"round_{quantity}", values[quantity] * share, coords=at, flags=["seen"]))
    for size, reads in tracked:
        at = {"phase": phase, "block_size": size, "rwmixread": reads, "quantity": quantity}
        found += [record(POINT, f"window_{name}", 10.0, coords=at) for name in ("slope", "excursion")]
    return found


def figures_of(
    records: list[Record], quantity: str = "iops", metrics: tuple[str, ...] = ("iops",)
) -> dict[str, Figure]:
    found = phase_figures(records, quantity, metrics)
    assert len({figure.slug for figure in found}) == len({figure.title for figure in found}) == len(found)
    return {figure.slug: figure for figure in found}


def line(figure: Figure) -> Line:
    assert isinstance(figure, Line)
    return figure


def charts(figure: Figure) -> dict[str, list[str]]:
    """Return the names of the lines, keyed by their first words, for which a report draws one chart each."""
    found: dict[str, list[str]] = {}
    for series in line(figure).series:
        chart, _, name = series.name.partition(", ")
        found.setdefault(chart, []).append(name)
    return found


def test_convergence_shows_every_mix_in_a_chart_with_all_block_sizes() -> None:
    chart = line(figures_of(qualified())["convergence-iops"])
    assert list(charts(chart)) == ["100/0", "95/5", "65/35", "50/50", "35/65", "5/95", "0/100"]
    sizes = ["1024k", "128k", "64k", "32k", "16k", "8k", "4k", "512"]
    assert all(lines == sizes for lines in charts(chart).values())
    assert chart.series[0].x == tuple(range(1, ROUNDS + 1))
    assert chart.bands == (Band(None, None, 5, 9, "measurement window"),)
    assert chart.caption.endswith("The measurement window is shaded.")
    detail = chart.series[0].details[0]
    assert detail is not None and detail.flags == ("seen",)


def test_rounds_of_several_phases_are_counted_from_their_windows() -> None:
    phases = ((1048576, "1024k", 0), (4096, "4k", 3))
    records = [
        one
        for size, phase, earlier in phases
        for one in qualified((size,), (100, 0), ((size, 0),), "bandwidth", phase, earlier)
    ]
    found = figures_of(records, "bandwidth", ("bandwidth",))
    chart = line(found["convergence-bandwidth"])
    courses = {series.name: (series.x[0], series.x[-1]) for series in chart.series}
    assert courses == {"reads, 1024k": (-3, 5), "reads, 4k": (-6, 5), "writes, 1024k": (-3, 5), "writes, 4k": (-6, 5)}
    assert chart.bands == (Band(None, None, 1, 5, "measurement window"),)
    assert chart.x.title == "Round relative to the window"
    assert chart.caption.endswith("Round 1 is the first round of the measurement window, which is shaded.")
    assert {series.x for series in line(found["window-bandwidth"]).series} == {(1, 2, 3, 4, 5)}


def test_the_window_of_every_mix_lies_beside_the_permitted_range() -> None:
    chart = line(figures_of(qualified())["window-iops"])
    assert len(charts(chart)) == len(MIXES)
    assert {series.x for series in chart.series} == {(1, 2, 3, 4, 5)}
    assert chart.series[0].y == pytest.approx([5.0, -2.0, 0.0, 2.0, -5.0])
    assert {detail.flags for series in chart.series for detail in series.details if detail} == {("seen",)}
    [band] = chart.bands
    assert (band.low, band.high, band.start, band.end) == (-10.0, 10.0, 1.0, 5.0)
    assert not chart.y.from_zero


def test_verification_has_a_range_an_average_and_a_fitted_line_instead_of_marked_bounds() -> None:
    chart = line(figures_of(qualified(tracked=((4096, 0), (65536, 65))))["verification-iops-4k-r0"])
    assert [series.name for series in chart.series] == ["Values", "Fitted line"]
    level = 1e8 / 8192
    assert chart.series[0].y == pytest.approx([level * share for share in FADING[4:]])
    assert (chart.series[0].x, chart.series[1].x) == ((5, 6, 7, 8, 9), (5, 9))
    assert [line.y for line in chart.rated] == pytest.approx([level])
    [band] = chart.bands
    assert (band.low, band.high) == pytest.approx((0.9 * level, 1.1 * level))
    assert (band.start, band.end, band.label) == (5.0, 9.0, "average ± 10 %")
    assert not chart.y.from_zero


def test_each_dependent_variable_has_a_verification() -> None:
    found = figures_of(qualified(tracked=((4096, 0), (65536, 65), (1048576, 100))))
    titles = [figure.title for slug, figure in found.items() if slug.startswith("verification")]
    assert titles == [
        f"Steady state verification, IOPS of {place}" for place in ("4k 0/100", "64k 65/35", "1024k 100/0")
    ]  # fmt: skip


def test_mean_and_maximum_latency_are_lines_and_maps() -> None:
    records = qualified((8192, 4096, 512), (100, 65, 0), quantity="latency")
    found = figures_of(records, "latency", ("latency", "latency_max"))
    for metric in ("latency", "latency-max"):
        curve, matrix = line(found[f"measurement-{metric}"]), found[f"matrix-{metric}"]
        assert isinstance(matrix, Heatmap)
        assert [series.name for series in curve.series] == ["100/0", "65/35", "0/100"]
        assert (matrix.rows, matrix.columns) == (("8k", "4k", "512"), ("100/0", "65/35", "0/100"))
        assert curve.y.better == matrix.better == "lower"
        assert curve.series[0].y[::-1] == tuple(values[0] for values in matrix.values)
        assert curve.series[0].details[::-1] == tuple(row.details[0] for row in matrix.series)
        assert matrix.x_title == "Reads/writes (%)"
    assert found["matrix-latency-max"].title == "Maximum latency, matrix"
    [verified] = [figure for slug, figure in found.items() if slug.startswith("verification")]
    assert verified.title.startswith("Steady state verification, mean latency of ")


def test_a_map_without_mixes_shows_directions() -> None:
    matrix = figures_of(qualified((4096, 512), (100, 0)))["matrix-iops"]
    assert isinstance(matrix, Heatmap)
    assert (matrix.x_title, matrix.columns) == ("Direction", ("reads", "writes"))


def test_reads_and_writes_have_their_names_where_nothing_is_mixed() -> None:
    records = qualified((1048576, 65536, 8192, 4096, 512), (100, 0), ((1048576, 0),), "bandwidth")
    found = figures_of(records, "bandwidth", ("bandwidth",))
    assert list(charts(found["convergence-bandwidth"])) == ["reads", "writes"]
    assert [series.name for series in line(found["measurement-bandwidth"]).series] == ["reads", "writes"]


def test_too_many_mixes_and_sizes_are_selected_evenly_and_told() -> None:
    sizes = tuple(512 * 2**power for power in range(12))
    records = qualified(sizes, tuple(range(100, -1, -5)))
    chart = line(figures_of(records)["convergence-iops"])
    assert [len(lines) for lines in charts(chart).values()] == [8] * 12
    assert {"100/0", "0/100"} <= set(charts(chart))
    assert "12 of 21 mixes are shown" in chart.caption and "8 of 12 block sizes are shown" in chart.caption


def test_without_rounds_of_the_quantity_there_are_no_courses() -> None:
    records = [one for one in qualified() if not one.metric.startswith(("round_", "window_"))]
    assert list(figures_of(records)) == ["measurement-iops", "matrix-iops"]


def two_drives() -> list[Record]:
    """Return the same records twice, as points of two drives, the second of which reaches half of the IOPS."""
    first, second = ({"file_names": f"/dev/{name}"} for name in ("fast", "slow"))
    return [
        one.model_copy(update={"point": point, "point_id": name, "value": one.value * share.get(one.metric, 1.0)})
        for point, name, share in ((first, "1", {}), (second, "2", {"iops": 0.5}))
        for one in qualified()
    ]


def test_several_drives_stand_side_by_side_with_a_line_and_a_column_each() -> None:
    records = two_drives()
    (chart,) = compared_figures(records, ("iops",))
    lines = {item.name: item for item in line(chart).series}
    assert len(lines) == 2 * len(MIXES)
    fast, slow = (lines[f"0/100, file_names /dev/{name}"] for name in ("fast", "slow"))
    assert fast.x == slow.x == tuple(sorted(SIZES))
    assert slow.y == tuple((y or 0.0) / 2 for y in fast.y)
    (table,) = compared_tables(records, "storage-iops", ("iops",))
    assert [column.title for column in table.columns] == [
        "Block Size", "R/W Mix %", "file_names /dev/fast", "file_names /dev/slow"
    ]  # fmt: skip
    assert [row["block_size"] for row in table.rows[:2]] == ["1024k", "128k"] and len(table.rows) == 56
    assert all(float(row["p1"] or 0) == float(row["p0"] or 0) / 2 for row in table.rows)


def test_a_drive_that_skips_a_block_size_has_an_empty_cell() -> None:
    records = [one for one in two_drives() if one.point_id == "1" or one.coords.get("block_size") != 512]
    (table,) = compared_tables(records, "storage-iops", ("iops",))
    cells = [row["p1"] for row in table.rows if row["block_size"] == "512"]
    assert cells == [None] * len(MIXES)


def test_a_single_drive_is_not_compared() -> None:
    assert compared_tables(qualified(), "storage-iops", ("iops",)) == compared_figures(qualified(), ("iops",)) == []


def phase_records(phase: str, **changed: Any) -> list[Record]:
    """The records from which the notes about a phase are written."""
    run = {
        "phase": phase, "profile": "pts", "window": WINDOW, "round_time": 60.0, "numjobs": 2, "iodepth": 16,
        "engine": "io_uring", "precondition": 2.0,
    }  # fmt: skip
    purged = {"phase": phase, "method": "nvme-format"}
    return [
        record(POINT, "rounds", float(ROUNDS), coords=run | changed),
        record(POINT, "steady", 1.0, coords={"phase": phase}),
        record(POINT, "purged", 1.0, coords=purged),
    ]


@pytest.mark.parametrize(("method", "purged"), [("none", "NOT purged"), ("blkdiscard", "Purged by blkdiscard")])
def test_a_note_states_why_a_purge_failed(method: str, purged: str) -> None:
    rounds, steady, _ = phase_records("4k")
    coords = {"phase": "4k", "method": method, "failed": "ata-erase: the drive has a password: remove it first"}
    records = [rounds, steady, record(POINT, "purged", 0.0, coords=coords)]
    (view,) = views(records)
    assert f"{purged} (ata-erase: the drive has a password: remove it first), then written 2 times before" in "\n".join(
        notes_of(view)
    )


def test_phases_to_which_the_same_note_applies_share_it() -> None:
    alike = [phase_records("64k"), phase_records("4k")]
    for other in ([], [phase_records("512", numjobs=1)]):
        [view] = views([one for records in (*alike, *other) for one in records])
        how, *rest = notes_of(view)
        first = "64k, 4k: " if other else ""
        assert how.startswith(f"{first}Averages of rounds 5 to 9; each workload ran for 1m per round; 2 jobs at queue")
        assert "Purged by nvme-format, then written 2 times before the rounds" in rest
        assert [note.partition(":")[0] for note in rest if "1 job at queue depth 16" in note] == ["512"] * len(other)
