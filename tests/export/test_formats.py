"""Every format renders every sample with the same bytes each time, and no value can affect the text around it."""

from __future__ import annotations

import base64
import csv
import gzip
import hashlib
import io
import json
import pkgutil
import re
import xml.etree.ElementTree as ET
from dataclasses import replace
from pathlib import Path
from typing import Any

import jsonschema
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

import asct.export
from asct.analysis import markup
from asct.analysis.grid import ColumnHead, TableCell, TextTable
from asct.errors import UsageError
from asct.export import get, markdown, render, stdout, write, write_all
from asct.plan.formats import report_formats
from asct.sdk.figure import Column, Table
from tests.export.conftest import Viewer
from tests.export.jenkins import violations

OPTIONAL = {"parquet"}
"""Formats whose library may be missing."""
ONE_FILE = [name for name in report_formats() if hasattr(get(name), "render") and name not in OPTIONAL]
HOSTILE = '`|"><script>alert(1)</script>\n::error::x\x1b[31m%0A]]></a>**b** @team ![i](http://evil/i.png) $x$'


def test_every_module_is_a_format_and_is_found_without_importing_it() -> None:
    found = report_formats()
    assert set(found) == {info.name for info in pkgutil.iter_modules(asct.export.__path__) if not info.ispkg}
    for name, item in found.items():
        module = get(name)
        assert (name, item.file, item.summary) == (module.NAME, module.FILE, module.SUMMARY)


def test_an_unknown_format_is_refused_with_the_nearest(view: Viewer) -> None:
    with pytest.raises(UsageError) as caught:
        get("markdwon")
    [found] = caught.value.diagnostics
    assert (found.code, found.hint) == ("E702", "did you mean `markdown`?")
    with pytest.raises(UsageError) as caught:
        get("html, json")
    assert caught.value.diagnostics[0].hint == "write `--format html --format json`"
    with pytest.raises(UsageError) as caught:
        get("x")
    assert all(name in caught.value.diagnostics[0].hint for name in report_formats())
    with pytest.raises(UsageError) as caught:
        render(view(), "csv")
    assert caught.value.diagnostics[0].code == "E703"


@pytest.mark.parametrize("name", ONE_FILE)
def test_the_same_tree_gives_the_same_bytes(view: Viewer, name: str, tmp_path: Path) -> None:
    run = view(hosts=("a", "b"), fail_depth=8)
    assert render(run, name) == render(run, name)
    first, second = tmp_path / "one", tmp_path / "two"
    [path] = write(run, name, first)
    [again] = write(run, name, second)
    assert path.read_bytes() == again.read_bytes()
    assert [item.name for item in first.iterdir()] == [path.name]


@pytest.mark.parametrize("name", ONE_FILE)
def test_a_run_without_records_still_has_a_report(view: Viewer, name: str) -> None:
    run = view(hosts=("a",))
    (run.root / "records.jsonl").write_text("")
    from asct.analysis.view import open_view
    from tests.export.fakes import Fakes

    assert isinstance(render(open_view(run.root, Fakes()), name), str)


def test_several_formats_are_checked_before_any_is_written(view: Viewer, tmp_path: Path) -> None:
    with pytest.raises(UsageError):
        write_all(view(), ["markdown", "nope"], tmp_path / "out")
    assert not (tmp_path / "out").exists()
    written = write_all(view(), ["markdown", "csv", "markdown"], tmp_path / "out")
    assert list(written) == ["markdown", "csv"]


def test_parquet_names_its_extra_when_the_library_is_missing(view: Viewer, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    with pytest.raises(UsageError) as caught:
        render(view(), "parquet")
    [found] = caught.value.diagnostics
    assert (found.code, found.hint) == ("E704", "pip install 'asct[query]'")


# ---- csv ----


def rows_of(path: Path) -> list[list[str]]:
    return list(csv.reader(io.StringIO(path.read_text())))


def test_csv_has_the_columns_of_the_benchmark(view: Viewer, tmp_path: Path) -> None:
    paths = {path.name: path for path in write(view(), "csv", tmp_path / "out")}
    assert list(paths) == [
        "latency-sweep.csv", "latency-sweep.records.csv", "storage-io-depth-sweep.csv",
        "storage-io-depth-sweep.records.csv", "system_info.csv",
    ]  # fmt: skip
    latency = rows_of(paths["latency-sweep.csv"])
    assert latency[0] == [
        "Level", "Lower bound", "Upper bound", "Optimum data size", "Latency [ns]", "Latency [cycles]",
    ]  # fmt: skip
    assert latency[4] == ["DRAM", "26200000", str(1 << 30), "553648128", "98.1", "333"]
    depth = rows_of(paths["storage-io-depth-sweep.csv"])
    assert depth[1][0] == "1"
    assert float(depth[1][2]) == pytest.approx(15.0)
    info = dict(row for row in rows_of(paths["system_info.csv"]))
    assert (info["cpu.cpus"], info["caches.1.type"]) == ("8", "Instruction")


@pytest.mark.parametrize(("name", "micro"), [("html", True), ("markdown", True), ("stdout", False)])
def test_reports_with_figures_write_microseconds_as_the_figures_do(view: Viewer, name: str, micro: bool) -> None:
    text = " ".join(render(view(), name).split())
    assert ("p50 (\N{MICRO SIGN}s)" in text) is micro
    assert "(us)" not in text or not micro


def test_csv_of_several_hosts_says_which(view: Viewer, tmp_path: Path) -> None:
    paths = {path.name: path for path in write(view(hosts=("a", "b")), "csv", tmp_path / "out")}
    rows = rows_of(paths["latency-sweep.csv"])
    assert rows[0][:2] == ["host", "Level"]
    assert [row[0] for row in rows[1:]] == ["a"] * 4 + ["b"] * 4
    assert {"system_info.a.csv", "system_info.b.csv"} <= set(paths)


# ---- json ----


def test_json_is_one_document_without_nan(view: Viewer) -> None:
    body = json.loads(render(view(), "json"), parse_constant=pytest.fail)
    assert body["schema"] == "asct.report/1"
    assert list(body) == ["schema", "run", "facts", "disturbances", "benchmarks", "records"]
    levels = body["benchmarks"]["latency-sweep"]["local"]["tables"]["levels"]
    assert levels[3]["Latency [ns]"] == 98.1
    assert body["run"]["verdicts"][0]["outcome"] == "pass"


def test_json_lines_are_the_records(view: Viewer) -> None:
    run = view()
    lines = str(render(run, "jsonl")).splitlines()
    assert len(lines) == len(run.records)
    assert {json.loads(line)["schema"] for line in lines} == {"asct.record/1"}


# ---- junit ----


def test_junit_counts_points_and_expectations(view: Viewer) -> None:
    root = ET.fromstring(str(render(view(fail_depth=8), "junit")))
    suites = {suite.get("name"): suite for suite in root}
    assert list(suites) == ["local/latency-sweep", "local/storage-io-depth-sweep", "expectations"]
    depths = suites["local/storage-io-depth-sweep"]
    assert (depths.get("tests"), depths.get("errors"), depths.get("failures")) == ("8", "1", "0")
    [broken] = [case for case in depths if case.find("error") is not None]
    assert broken.get("name") == "iodepth 8"
    error = broken.find("error")
    assert error is not None
    assert "no space left" in str(error.get("message"))
    expectations = suites["expectations"]
    assert [[child.tag for child in case] for case in expectations] == [[], ["failure"], ["skipped"]]
    assert str(expectations[1][0].text).startswith("plans/quickstart.yaml:6: storage")
    assert (root.get("tests"), root.get("failures"), root.get("errors")) == ("12", "1", "1")
    assert "iops ops/s: " in str(depths[0].findtext("system-out"))
    assert violations(root) == []


# ---- github ----


def test_github_annotations_are_escaped_and_capped(view: Viewer) -> None:
    lines = str(render(view(text=HOSTILE, fail_depth=8), "github")).splitlines()
    assert all(re.match(r"::(error|warning|notice) [^\n]*::", line) for line in lines)
    assert lines[0].startswith("::error file=plans/quickstart.yaml,line=6,title=expectation failed%3A storage")
    assert not any(line.startswith("::error::x") for line in lines)
    many = view()
    verdicts = [many.run.verdicts[1]] * 30 + [many.run.verdicts[2]] * 30
    object.__setattr__(many, "run", many.run.model_copy(update={"verdicts": verdicts}))
    lines = str(render(many, "github")).splitlines()
    assert [sum(line.startswith(f"::{level}") for line in lines) for level in ("error", "warning", "notice")] == [
        10, 10, 1,
    ]  # fmt: skip
    assert lines[-1].endswith("20 more errors and 22 more warnings: see summary.md and junit.xml in the run folder")


def test_annotations_of_points_are_on_the_lines_of_their_entries(view: Viewer) -> None:
    run = view(fail_depth=8)
    jobs = [{**job, "span": ["plans/quickstart.yaml", 3, 29, 22]} for job in run.resolved["jobs"]]
    text = str(render(replace(run, resolved={"jobs": jobs}), "github"))
    assert "::error file=plans/quickstart.yaml,line=3,title=failed%3A local/storage-io-depth-sweep::iodepth 8" in text


# ---- code quality ----

DEGRADATION = {
    "type": "object",
    "required": ["description", "check_name", "fingerprint", "severity", "location"],
    "properties": {
        "description": {"type": "string"},
        "check_name": {"type": "string"},
        "fingerprint": {"type": "string", "pattern": "^[0-9a-f]{64}$"},
        "severity": {"enum": ["info", "minor", "major", "critical", "blocker"]},
        "location": {
            "type": "object",
            "required": ["path", "lines"],
            "properties": {
                "path": {"type": "string", "minLength": 1},
                "lines": {"type": "object", "required": ["begin"], "properties": {"begin": {"type": "integer"}}},
            },
        },
    },
}
"""The fields that docs.gitlab.com lists under "Code Quality report format". GitLab's own schema requires fewer
fields."""


@pytest.mark.parametrize("text_of_others", ["", HOSTILE])
def test_code_quality_has_the_format_that_gitlab_documents(view: Viewer, text_of_others: str) -> None:
    body = str(render(view(text=text_of_others, fail_depth=8), "codequality"))
    items = json.loads(body, parse_constant=pytest.fail)
    jsonschema.validate(items, {"type": "array", "items": DEGRADATION})
    assert {"expectation-failed", "failed", "E411"} <= {item["check_name"] for item in items}
    assert body.startswith("[") and "\x1b" not in body, "no byte order mark, no control characters"


# ---- markdown ----


def test_markdown_begins_with_the_verdict(view: Viewer) -> None:
    body = str(render(view(), "markdown"))
    assert body.startswith("# Quickstart\n\n❌ **1 of 3 expectations failed**\n")
    assert (
        body.index("| ❌ fail |")
        < body.index("## Key results")
        < body.index("## Warnings")
        < body.index("## Coverage by host")
    )
    assert "| DRAM | 24.99M | 1G | 528M | 98.1 | 333.0 |" in body


def test_markdown_lets_nothing_out(view: Viewer) -> None:
    body = str(render(view(text=HOSTILE, fail_depth=8), "markdown"))
    assert "<script" not in body.replace("\\<script", "")
    assert "\x1b" not in body
    outside = re.sub(r"(`+)(?!`).*?(?<!`)\1(?!`)", "", body)
    assert "![i](" not in outside
    assert "http://" not in outside
    assert not re.search(r"(?<!\\)@team", outside)
    widths = {line.count("|") - line.count("\\|") for line in body.splitlines() if line.startswith("| ❌ fail")}
    assert widths == {7}


def test_markdown_leaves_out_the_facts_of_many_hosts(view: Viewer) -> None:
    few = str(render(view(hosts=("one", "two")), "markdown"))
    many = str(render(view(hosts=tuple(f"n{number:03}" for number in range(40))), "markdown"))
    assert few.count("<summary>Facts</summary>") == 2
    assert "<summary>Facts</summary>" not in many and "The HTML report contains" in many
    assert "40 hosts: n\\[000:039\\]\n" in many
    assert all(f"| n{number:03} | " in many for number in range(40)), "a row of headline numbers for each"
    assert "| 24.99M |" in few and "| 24.99M |" not in many and "The other reports contain" in many
    assert "noisy host (steal" in many and len(many) < 1000 * 40, "what is the matter with a host stays"


def test_markdown_stays_below_a_mebibyte_and_says_so(view: Viewer, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(markdown, "MOST_BYTES", 2500)
    body = str(render(view(), "markdown"))
    assert len(body.encode()) <= 2500
    assert body.rstrip().endswith("The other reports are complete._")
    assert body.startswith("# Quickstart\n\n❌ **1 of 3 expectations failed**\n")


@given(st.text(max_size=60))
@example("\\|")
@example("a\\\\\\||")
def test_markdown_cells_keep_to_one_cell(value: str) -> None:
    for made in (markup.escape(value), markup.code(value), markup.prose(value)):
        assert "\n" not in made
        assert not re.search(r"(?<!\\)(\\\\)*\|", made)
    assert "<" not in re.sub(r"\\[<\\]|(?<=[@#-])<!-- -->", "", markup.escape(value))


@pytest.mark.parametrize("name", ["markdown", "stdout", "html"])
def test_flags_are_explained_once_for_all_hosts(view: Viewer, name: str) -> None:
    body = str(render(view(hosts=("a", "b")), name))
    shown = re.sub(r"<script.*?</script>", "", body, flags=re.DOTALL)
    assert shown.count("the value did not settle") == 1
    assert "stands in no table" not in shown


# ---- text ----


def test_text_fits_a_terminal(view: Viewer) -> None:
    body = str(render(view(fail_depth=8), "stdout"))
    assert max(len(line) for line in body.splitlines()) <= 80
    assert "fail     storage-io-depth-sweep.read_iops at iodepth 32" in body
    assert re.search(r"\nDRAM +24\.99M +1G +528M +98\.1 +333\.0\n", body)
    assert "\x1b" not in str(render(view(text=HOSTILE), "stdout"))


def test_wide_tables_go_on_below(view: Viewer) -> None:
    heads = (ColumnHead("IODepth", "right"), *(ColumnHead(f"Column {n} (us)", "right") for n in range(20)))
    rows = tuple((TableCell(str(d), d), *(TableCell(f"{d * n:.1f}") for n in range(20))) for d in (1, 128))
    lines = stdout.table(TextTable("g", "Grid", heads, rows)).splitlines()
    assert max(len(line) for line in lines) <= 80
    assert sum(line.split()[:1] == ["128"] for line in lines) >= 2
    assert lines[-1].split()[-1] == "2432"


def test_words_of_texts_are_not_broken() -> None:
    heads = (ColumnHead("Level"), *(ColumnHead(f"Column {n} (us)", "right") for n in range(7)), ColumnHead("Flags"))
    flags = TableCell("disturbed-pressure, disturbed-frequency")
    lines = stdout.table(
        TextTable("g", "Grid", heads, ((TableCell("L1"), *[TableCell("1234.5")] * 7, flags),))
    ).splitlines()
    assert max(len(line) for line in lines) <= 80
    assert {"disturbed-pressure,", "disturbed-frequency"} <= {word for line in lines for word in line.split()}


CELLS = st.text(st.characters(categories=["L", "N", "P", "Zs"]), max_size=30)


@given(st.lists(st.tuples(CELLS, CELLS, st.floats(-1e6, 1e6)), min_size=1, max_size=6))
def test_text_columns_line_up(rows: list[tuple[str, str, float]]) -> None:
    heads = (ColumnHead("First"), ColumnHead("Second"), ColumnHead("Number", "right"))
    cells = tuple((TableCell(a), TableCell(b), TableCell(f"{c:.1f}", c)) for a, b, c in rows)
    lines = stdout.table(TextTable("g", "Grid", heads, cells)).splitlines()
    assert all(stdout.display_width(line) <= 80 for line in lines)
    numbers = [line for line in lines if re.search(r"-?\d+\.\d$", line)]
    assert len({stdout.display_width(line) for line in numbers}) == 1 or not numbers


def test_tables_too_long_to_read_stand_in_the_exports_alone(view: Viewer, tmp_path: Path) -> None:
    run = view()
    job = run.jobs[0]
    rows = tuple({"cpu": f"pair-{number}", "value": number * 1e-9} for number in range(3000))
    long = Table("pairs", "All pairs", (Column("cpu", "CPU"), Column("value", "LATENCY", 1e-9)), rows, bulk=True)
    object.__setattr__(job, "tables", (long, *job.tables))
    for name in ("html", "markdown", "stdout"):
        text_of = str(render(run, name))
        assert "pair-2999" not in text_of
        assert "24.99M" in text_of, name
    assert "pair-2999" in str(render(run, "json"))
    write(run, "csv", tmp_path)
    lines = (tmp_path / "latency-sweep.csv").read_text().splitlines()
    assert (lines[0], lines[-1], len(lines)) == ("CPU,LATENCY", "pair-2999,2999.0", 3001)


# ---- html ----


def page_data(body: str, name: str) -> Any:
    found = re.search(rf'<script type="text/plain" id="{name}-gzip">(.*?)</script>', body, re.DOTALL)
    assert found
    return json.loads(gzip.decompress(base64.b64decode(found[1])))


def test_html_is_small_self_contained_and_ordered(view: Viewer) -> None:
    body = str(render(view(), "html"))
    assert len(body.encode()) <= 2_500_000
    order = [
        'id="verdict"',
        'id="headlines"',
        'id="expectations"',
        'id="hosts"',
        'id="warnings"',
        'id="findings"',
        'id="latency-sweep"',
        'id="appendix"',
    ]
    places = [body.index(text) for text in order]
    assert places == sorted(places)
    assert not re.search(r'(src|href)="(https?:)?//', body)
    assert not re.search(r"@import|url\(", body)
    identities = re.findall(r'\bid="([^"]+)"', re.sub(r"<script.*?</script>", "", body, flags=re.DOTALL))
    assert len(identities) == len(set(identities))


def test_html_embeds_figures_and_data(view: Viewer) -> None:
    body = str(render(view(), "html"))
    page = page_data(body, "page-data")
    assert [name for name in page["figures"]] == [
        "latency-sweep-curve", "storage-io-depth-sweep-bandwidth", "storage-io-depth-sweep-iops",
        "storage-io-depth-sweep-percentiles", "storage-io-depth-sweep-cpu",
    ]  # fmt: skip
    assert all(f'data-figure="{name}"' in body for name in page["figures"])
    data = page_data(body, "run-data")
    assert data["schema"] == "asct.report/1"
    assert len(data["records"]["rows"]) > 300


def test_html_escapes_what_others_wrote(view: Viewer) -> None:
    body = str(render(view(text=HOSTILE, fail_depth=8), "html"))
    assert "<script>alert" not in body
    assert body.count("</script>") == body.count("<script")
    assert "\x1b" not in body
    assert page_data(body, "run-data")["run"]["verdicts"][0]["text"].endswith(HOSTILE)


def test_html_policy_names_the_scripts_of_the_page(view: Viewer) -> None:
    body = str(render(view(), "html"))
    policy = re.search(r'Content-Security-Policy" content="([^"]*)"', body)
    assert policy
    assert "default-src 'none'" in policy[1]
    assert "unsafe-eval" not in policy[1]
    for script in re.findall(r"<script>(.*?)</script>", body, re.DOTALL):
        digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
        assert f"sha256-{digest}" in policy[1]


def test_html_without_figures_leaves_out_the_library(view: Viewer) -> None:
    run = view()
    object.__setattr__(run, "jobs", ())
    body = str(render(run, "html"))
    assert len(body) < 100_000
    assert "plotly-gzip" not in body.split("<script>")[1]


@pytest.mark.parametrize(("most", "note"), [(2, "_1 more row is in the other reports._"), (1, "_2 more rows are in")])
def test_rows_that_a_table_leaves_out_are_counted(most: int, note: str) -> None:
    grid = TextTable("g", "Grid", (ColumnHead("Name"),), tuple((TableCell(name),) for name in "abc"))
    assert note in markup.table(grid, most)
