"""`asct diff`: its options, its files, and invalid inputs, which are refused without leaving anything behind."""

from __future__ import annotations

import csv
import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.cli.conftest import Asct
from tests.export.sample import RUN, Sample, write_sample

Runs = Callable[..., str]


def changed(root: Path, change: Callable[[dict[str, Any]], None]) -> None:
    """Apply `change` to every record of a run."""
    path = root / "records.jsonl"
    records = [json.loads(line) for line in path.read_text().splitlines()]
    for record in records:
        change(record)
    path.write_text("".join(f"{json.dumps(record)}\n" for record in records))


@pytest.fixture
def runs(tmp_path: Path) -> Runs:
    """`runs("slow", change)` returns the path of a run in its own results tree. `change` is applied to the run's
    records."""

    def make(name: str, change: Callable[[dict[str, Any]], None] = lambda _: None, **sample: Any) -> str:
        root = write_sample(tmp_path / "trees" / name, Sample(quiet=True, **sample))
        changed(root, change)
        return str(root)

    return make


def slower(record: dict[str, Any]) -> None:
    if record["unit"] == "s":
        record["value"] *= 1.5


def left(tmp_path: Path) -> set[str]:
    return {path.name for path in tmp_path.iterdir()} - {"trees"}


def test_two_runs_are_compared_on_the_terminal(asct: Asct, runs: Runs, tmp_path: Path) -> None:
    found = asct("diff", runs("base"), runs("slow", slower))
    assert found.code == 0
    assert max(map(len, found.out.splitlines())) <= 80
    assert "machine, software, plan and settings are the same" in found.out
    assert "0 regressed" in found.out.splitlines()[-1]
    assert "too few visits" in found.out
    assert left(tmp_path) == set()


def test_more_is_listed_with_v(asct: Asct, runs: Runs) -> None:
    base, slow = runs("base"), runs("slow", slower)
    short, full = asct("diff", base, slow).out, asct("diff", "-v", base, slow).out
    assert "more values with less important changes" in short
    assert "more values with less important changes" not in full
    assert len(full.splitlines()) > 2 * len(short.splitlines())


def test_the_formats_agree(asct: Asct, runs: Runs) -> None:
    base, slow = runs("base"), runs("slow", slower)
    document = asct("diff", base, slow, "--json").document
    assert document["schema"] == "asct.diff/1"
    assert document == asct("diff", base, slow, "-f", "json").document
    rows = list(csv.DictReader(asct("diff", base, slow, "-f", "csv").out.splitlines()))
    assert [row["field"] for row in rows] == [row["field"] for row in document["rows"]]
    assert sum(document["runs"][0]["counts"].values()) == len(rows)
    assert asct("diff", base, slow, "-f", "markdown").out.startswith(f"# {RUN}-2 compared with {RUN}\n")
    assert asct("diff", base, slow, "-f", "html").out.startswith("<!doctype html>")


def test_files_are_written_only_to_an_output_directory(asct: Asct, runs: Runs, tmp_path: Path) -> None:
    base, slow = runs("base"), runs("slow", slower)
    assert asct("diff", base, slow, "-o", "out").code == 0
    assert {path.name for path in (tmp_path / "out").iterdir()} == {"diff.csv", "diff.json", "diff.md", "diff.html"}
    again = asct("diff", base, slow, "-o", "out")
    assert (again.code, "E911" in again.err, again.out) == (2, True, "")
    assert asct("diff", base, slow, "-o", "out", "--force").code == 0


@pytest.mark.parametrize(
    "arguments",
    [
        ("-k", "storage", "^noop"), ("-k", "nothing"), ("--fail-on", "regression"), ("-b", "nowhere"),
        ("-s", "nowhere"), ("--benchmarks", "latency-sweep", "^latency-sweep"),
    ],
)  # fmt: skip
def test_wrong_options_are_usage_errors_that_leave_nothing(
    asct: Asct, runs: Runs, tmp_path: Path, arguments: tuple[str, ...]
) -> None:
    found = asct("diff", runs("base"), runs("new"), "-o", "out", *arguments)
    assert (found.code, found.out) == (2, "")
    assert "error[E" in found.err
    assert left(tmp_path) == set()


def test_a_mistake_in_the_condition_has_a_caret(asct: Asct, runs: Runs) -> None:
    found = asct("diff", runs("base"), runs("new"), "--fail-on", "regression>=3%")
    assert found.code == 2
    assert "--fail-on:1:11" in found.err
    assert "^^ the comparison operator must be `>`" in found.err


def test_benchmarks_are_selected_as_in_asct(asct: Asct, runs: Runs) -> None:
    base, new = runs("base"), runs("new")
    every = {row["benchmark"] for row in asct("diff", base, new, "--json").document["rows"]}
    assert every == {"latency-sweep", "storage-io-depth-sweep"}
    for words in (("-k", "storage"), ("-k", "all", "^memory"), ("--benchmarks", "^latency-sweep"), ("^memory",)):
        rows = asct("diff", base, new, "--json", *words).document["rows"]
        assert {row["benchmark"] for row in rows} == {"storage-io-depth-sweep"}
    before = asct("diff", "-k", "memory", base, new, "--json").document["rows"]
    assert {row["benchmark"] for row in before} == {"latency-sweep"}


def test_the_base_is_the_first_run_or_the_one_named(asct: Asct, runs: Runs) -> None:
    base, new = runs("base"), runs("new")
    first = asct("diff", base, new, "--json").document
    assert (first["baseline"]["path"], first["runs"][0]["path"]) == (base, new)
    for runs_named in ((base, new), (new, base)):
        found = asct("diff", *runs_named, "-b", new, "--json").document
        assert (found["baseline"]["path"], found["runs"][0]["path"]) == (new, base)
    outside = asct("diff", new, "-b", base, "--json").document
    assert (outside["baseline"]["path"], outside["runs"][0]["path"]) == (base, new)


def test_values_are_sorted_by_the_change_of_a_run(asct: Asct, runs: Runs) -> None:
    base, slow, new = runs("base"), runs("slow", slower), runs("new")
    rows = asct("diff", base, slow, new, "-s", slow, "--json").document["rows"]
    sizes = [abs(row["percent"] or 0) for row in rows if row["run"] == rows[0]["run"]]
    assert sizes == sorted(sizes, reverse=True)
    wrong = asct("diff", base, slow, "-s", base)
    assert (wrong.code, "E709" in wrong.err) == (2, True)


def test_a_run_is_not_compared_with_itself(asct: Asct, runs: Runs) -> None:
    base = runs("base")
    for arguments in ((base, base), (base, "-b", base), (base, str(Path(base) / "run.json"))):
        found = asct("diff", *arguments)
        assert (found.code, found.out, "E709" in found.err) == (2, "", True)


def test_a_single_run_needs_a_baseline(asct: Asct, runs: Runs) -> None:
    found = asct("diff", runs("base"))
    assert (found.code, found.out) == (2, "")
    assert "E708" in found.err
    assert "asct diff BASE NEW" in found.err


def test_hosts_with_other_names_are_paired(asct: Asct, runs: Runs) -> None:
    found = asct("diff", runs("base", hosts=("lab-1",)), runs("new", hosts=("lab-2",)))
    assert "host lab-2 is compared with host lab-1, because each run has only one host" in found.out
    assert "added" not in found.out


def version(record: dict[str, Any]) -> None:
    record["version"] = "0"


def test_nothing_in_common_is_told_and_cannot_pass(asct: Asct, runs: Runs) -> None:
    base, other = runs("base"), runs("other", version)
    found = asct("diff", base, other)
    assert found.code == 3
    assert "nothing can be compared" in found.out
    told = "the baseline was measured with version 1 of `latency-sweep`, this run with version 0"
    assert told in " ".join(found.out.split())
    assert "error[E706]" in found.err
    gated = asct("diff", base, other, "--fail-on", "regression>3%")
    assert (gated.code, "error[E706]" in gated.err) == (3, True)


def truncate(path: Path) -> None:
    path.write_text(path.read_text()[:-40])


def newer(path: Path) -> None:
    path.write_text(path.read_text().replace("asct.run/1", "asct.run/99"))


def not_a_number(path: Path) -> None:
    first, *rest = path.read_text().splitlines(keepends=True)
    body = json.loads(first)
    body["value"] = float("nan")
    path.write_text("".join([json.dumps(body) + "\n", *rest]))


@pytest.mark.parametrize(
    ("file", "damage"),
    [("run.json", truncate), ("run.json", newer), ("records.jsonl", not_a_number), ("plan.resolved.json", truncate)],
)
def test_damaged_runs_are_refused(
    asct: Asct, runs: Runs, tmp_path: Path, file: str, damage: Callable[[Path], None]
) -> None:
    base, bad = runs("base"), runs("bad")
    damage(Path(bad) / file)
    found = asct("diff", base, bad, "-o", "out")
    assert (found.code, found.out) == (3, "")
    assert file in found.err
    assert left(tmp_path) == set()


@pytest.mark.parametrize("file", ["records.jsonl", "journal.jsonl"])
def test_a_torn_line_is_a_warning_and_cannot_pass(asct: Asct, runs: Runs, file: str) -> None:
    base, torn = runs("base"), runs("torn")
    with (Path(torn) / file).open("a") as stream:
        stream.write('{"t": "po')
    assert asct("diff", base, torn).code == 0
    gated = asct("diff", base, torn, "--fail-on", "regression>90%")
    assert gated.code == 3
    assert "has an incomplete last line in its journal or records" in " ".join(gated.err.split())


@pytest.mark.parametrize("left", [0, 20])
def test_lost_records_cannot_pass(asct: Asct, runs: Runs, left: int) -> None:
    base, short = runs("base"), runs("short")
    path = Path(short) / "records.jsonl"
    path.write_text("".join(path.read_text().splitlines(keepends=True)[:left]))
    gated = asct("diff", base, short, "--fail-on", "regression>90%")
    assert gated.code == 3
    assert "has lost the records of" in " ".join(gated.err.split())


def test_a_second_measurement_does_not_replace_lost_records(asct: Asct, runs: Runs) -> None:
    def later(record: dict[str, Any]) -> None:
        if record["id"] == "latency-sweep":
            record["repeat"] += 100

    gated = asct("diff", runs("base"), runs("short", later), "--fail-on", "regression>90%")
    assert gated.code == 3
    assert "has lost the records of" in " ".join(gated.err.split())


def test_values_in_another_unit_are_shown_in_their_own(asct: Asct, runs: Runs) -> None:
    def cycles(record: dict[str, Any]) -> None:
        if record["metric"] == "latency":
            record.update(unit="cycles", value=record["value"] * 3e9)

    base, other = runs("base"), runs("other", cycles)
    found = asct("diff", base, other, "-k", "latency-sweep", "--fail-on", "regression>3%")
    assert found.code == 3
    (line,) = (line for line in found.out.splitlines() if "latency, level L1" in line)
    assert " ns " in line and " cycles " in line and "%" not in line
    assert "the unit changed from s to cycles" in " ".join(found.out.split())


def test_both_values_of_a_row_have_the_same_unit(asct: Asct, runs: Runs) -> None:
    def level_at(latency: float) -> Callable[[dict[str, Any]], None]:
        def change(record: dict[str, Any]) -> None:
            if record["metric"] == "latency":
                record["value"] = latency

        return change

    found = asct("diff", runs("base", level_at(9.8e-7)), runs("other", level_at(1.02e-6)), "-k", "latency-sweep")
    (line,) = (line for line in found.out.splitlines() if "latency, level L1" in line)
    assert line.split()[3:9] == ["980", "ns", "1,020", "ns", "+4.1", "%"]


@pytest.mark.parametrize("jobs", [3, [3, {"host": 1, "settings": {"a": {"b": [None]}}, "tags": 3}, {"settings": []}]])
def test_an_odd_resolved_plan_is_no_bug(asct: Asct, runs: Runs, jobs: Any) -> None:
    base, odd = runs("base"), runs("odd")
    path = Path(odd) / "plan.resolved.json"
    path.write_text(json.dumps({**json.loads(path.read_text()), "jobs": jobs}))
    assert asct("diff", base, odd).code == 0


def test_what_is_no_run_is_refused(asct: Asct, runs: Runs, tmp_path: Path) -> None:
    (tmp_path / "trees/empty").mkdir(parents=True)
    base = runs("base")
    for name in (str(tmp_path / "trees/empty"), "nowhere", str(tmp_path / "trees/missing")):
        found = asct("diff", base, name, "-o", "out")
        assert (found.code, found.out, "E505" in found.err) == (2, "", True)
    assert left(tmp_path) == set()


def test_a_gone_baseline_is_told(asct: Asct, runs: Runs) -> None:
    run = Path(runs("base", verdicts=False))
    resolved = json.loads((run / "plan.resolved.json").read_text())
    (run / "plan.resolved.json").write_text(json.dumps({**resolved, "baseline": "golden"}))
    gone = asct("diff", str(run))
    assert (gone.code, "E708" in gone.err, "golden" in gone.err) == (3, True, True)
    shutil.copytree(run, run.parent / "20261120T042813Z-3f9c2a")
    (run.parent / "golden").symlink_to("20261120T042813Z-3f9c2a")
    found = asct("diff", str(run), "--json")
    assert found.code == 0
    assert found.document["baseline"]["chosen"] == "named `golden` in the plan"
    assert found.document["baseline"]["run"].endswith("20261120T042813Z-3f9c2a")
