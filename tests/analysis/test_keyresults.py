"""The key results of a report: at most eight, chosen by fixed rules, with spread, count and place, on any number of
hosts."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

from hypothesis import given
from hypothesis import strategies as st

from asct.analysis.headline import HeadlineMetric, _percent, in_common_units
from asct.analysis.keyresults import MOST_RESULTS, KeyResults, key_results
from asct.analysis.report import build
from asct.analysis.view import open_view
from tests.export.fakes import Fakes, sample_view
from tests.export.sample import Sample, write_sample


def value(
    subject: str, entry: str, label: str, number: float | None = 1e-9, host: str = "a", *doubts: str
) -> HeadlineMetric:
    return HeadlineMetric(
        host, entry, label, "none" if number is None else f"{number * 1e9:.3g}", "" if number is None else "ns",
        place="at depth 4", spread="±1 %", count="5 visits", doubts=doubts, number=number, subject=subject,
    )  # fmt: skip


def labels(found: KeyResults) -> list[tuple[str, list[str]]]:
    return [(subject, [item.label for item in items]) for subject, items in found.groups]


def test_every_subject_and_every_benchmark_comes_before_second_values() -> None:
    found = [value("memory latency", "one", f"one {n}") for n in range(9)]
    found += [value("memory latency", "two", f"two {n}") for n in range(9)]
    found += [value("storage IOPS", "three", "rate"), value("", "four", "odd")]
    chosen = key_results(found)
    assert labels(chosen) == [
        ("Memory latency", ["one 0", "one 1", "one 2", "two 0", "two 1", "two 2"]), ("Storage IOPS", ["rate"]),
        ("", ["odd"]),
    ]  # fmt: skip
    assert chosen.left == 20 - MOST_RESULTS


def test_a_result_that_repeats_another_one_comes_last() -> None:
    found = [value("memory bandwidth", "peak", label, 2e-9) for label in ("all reads", "highest")]
    found += [value("memory latency", "sweep", f"level {n}", n * 1e-9) for n in range(1, 8)]
    assert labels(key_results(found)) == [
        ("Memory bandwidth", ["all reads"]), ("Memory latency", [f"level {n}" for n in range(1, 8)])
    ]  # fmt: skip
    assert labels(key_results(found[:4]))[0] == ("Memory bandwidth", ["all reads", "highest"])
    other = value("memory latency", "probe", "level 1", 1e-9)
    assert len(dict(labels(key_results([other, *found[2:]])))["Memory latency"]) == MOST_RESULTS, "of another entry"


RESULTS = st.builds(
    value, st.sampled_from(["memory latency", "storage", ""]), st.sampled_from(["x", "y"]), st.sampled_from("abcdefgh"),
    st.one_of(st.none(), st.floats(1e-9, 1e-6)), st.sampled_from(["n1", "n2", "n3", "n4", "n5"]),
)  # fmt: skip


@given(st.lists(RESULTS, unique_by=lambda item: (item.host, item.id, item.label)))
def test_at_most_eight_are_shown_and_every_one_is_counted(found: list[HeadlineMetric]) -> None:
    chosen = key_results(found)
    shown = sum(len(items) for _, items in chosen.groups)
    places = {(item.id, item.label) for item in found}
    assert shown == min(MOST_RESULTS, len(places))
    assert shown + chosen.left == len(places)


def test_wide_spreads_have_no_exponent() -> None:
    assert [_percent(value) for value in (0.356, 3.56, 12.4, 99.7, 604.0)] == [
        f"{text}\N{NO-BREAK SPACE}%" for text in ("0.36", "3.6", "12", "100", "604")
    ]


def test_of_levels_the_outermost_comes_first(tmp_path: Path) -> None:
    found = build(sample_view(tmp_path)).headlines
    others = [value("memory latency", f"other {n}", f"value {n}") for n in range(6)]
    chosen = key_results([*found, *others])
    [latency] = [items for subject, items in chosen.groups if subject == "Memory latency"]
    assert latency[0].label == "DRAM latency"


def test_several_hosts_keep_spread_count_and_place() -> None:
    few = key_results([value("", "x", "v", number, host) for host, number in (("n1", 1e-9), ("n2", 3e-9))])
    [[_, [item]]] = few.groups
    assert (item.value, item.unit) == ("1 to 3", "ns")
    assert item.lines == ("at depth 4, 5 visits per host", "n1: 1 ±1 %", "n2: 3 ±1 %")
    many = key_results([value("", "x", "v", None if n == 9 else n * 1e-9, f"n{n}") for n in range(1, 10)])
    [[_, [item]]] = many.groups
    assert (item.value, item.unit) == ("1 to 8", "ns")
    starts = ("at depth 4, 5 visits per host", "median of 8 hosts: ", "min on n1 ±1 %", "max on n8 ±1 %")
    assert all(line.startswith(start) for line, start in zip(item.lines, starts, strict=True))
    lone = key_results([value("", "x", "v", None if n > 1 else n * 1e-9, f"n{n}") for n in range(1, 6)])
    assert lone.groups[0][1][0].lines[1].startswith("median of 1 host: ")


def test_the_only_host_with_a_value_is_named_if_there_are_others() -> None:
    values = [value("", "x", "v", 1e-9, "n1"), value("", "x", "w", 1e-9, "n1"), value("", "x", "w", 1e-9, "n2")]
    [[_, [first, _]]] = key_results(values).groups
    assert first.lines == ("on n1, at depth 4, ±1 %, 5 visits",)
    [[_, [alone]]] = key_results(values[:1]).groups
    assert alone.lines == ("at depth 4, ±1 %, 5 visits",)


def test_a_doubt_that_all_values_share_is_said_once() -> None:
    pair = [value("", "x", "v", 1e-9, "a", "noisy host"), value("", "x", "w", 1e-9, "a", "noisy host", "drift")]
    found = key_results(pair)
    assert found.doubts == ("noisy host",)
    assert [item.doubts for _, items in found.groups for item in items] == [(), ("drift",)]
    alone = key_results(pair[:1])
    assert (alone.doubts, alone.groups[0][1][0].doubts) == ((), ("noisy host",))
    hosts = key_results([value("", "x", "v", 1e-9, "a", "drift"), value("", "x", "v", 2e-9, "b"), value("", "x", "w")])
    assert hosts.groups[0][1][0].doubts == ("drift on 1 of 2",)


def test_a_range_of_values_with_two_states_has_two_numbers(tmp_path: Path) -> None:
    found = build(sample_view(tmp_path, hosts=("n1", "n2"))).headlines
    both = [replace(item, value=f"{item.value} or 500") for item in found if item.label == "DRAM latency"]
    [[_, [item]]] = key_results(both).groups
    assert (item.value, item.unit) == ("98.1 to 110", "ns")
    assert all(" or 500 ±" in line for line in item.lines[1:])


def test_the_values_of_all_hosts_have_one_unit(tmp_path: Path) -> None:
    found = build(open_view(write_sample(tmp_path, Sample(hosts=("n1", "n2"))), Fakes())).headlines
    first, second = [item for item in found if item.label == "DRAM latency"]
    assert first.group is not None
    slow = replace(first.group, records=tuple(one.model_copy(update={"value": 1.2e-6}) for one in first.group.records))
    pair = in_common_units([replace(first, group=slow, value="1.2", unit="\N{MICRO SIGN}s"), second])
    assert [item.text for item in pair] == ["1,200 ns", second.text]
    two_states = replace(first, value="98.1 or 500")
    assert in_common_units([two_states, second]) == [two_states, second]


def test_the_runs_whose_spread_an_interval_covers_are_counted(tmp_path: Path) -> None:
    folder = write_sample(tmp_path)
    bodies = [json.loads(line) for line in (folder / "records.jsonl").read_text().splitlines()]
    for body in bodies:
        body["stats"] = {**body["stats"], "visits": 6, "runs": 4} if body["stats"] else None
    (folder / "records.jsonl").write_text("".join(json.dumps(body) + "\n" for body in bodies))
    found = build(open_view(folder, Fakes())).headlines
    [latency] = [item for item in found if item.label == "DRAM latency"]
    assert latency.count == "6 visits over several sizes, spread of 4 runs"


def test_no_valid_value_is_no_number() -> None:
    [[_, [item]]] = key_results([value("", "x", "v", None, f"n{n}", "invalid") for n in range(5)]).groups
    assert (item.value, item.unit, item.lines[-1]) == ("none", "", "on 5 hosts")


def test_the_tables_contain_every_value(tmp_path: Path) -> None:
    report = build(sample_view(tmp_path / "one"))
    [grid] = report.headline_grids
    assert len(grid.rows) == len(report.headlines) > 4
    assert [head.title for head in grid.heads] == ["Result", "Benchmark", "Value", "Spread", "Based on", "At"]
    several = build(sample_view(tmp_path / "two", hosts=("n1", "n2")))
    side = several.headline_grids[0]
    assert "±0.4" in side.rows[0][1].text and "31 samples" in "".join(side.notes)
    assert not any("samples" in cell.text for row in side.rows for cell in row), "a note says it once for all hosts"
    assert several.headline_grids[1].heads[1].title == "Highest bandwidth at iodepth 128"
    assert sum(len(grid.rows) * (len(grid.heads) - 1) for grid in several.headline_grids) == len(several.headlines)
