"""docs/asct.md: each promise of Arm's documents is covered by existing tests. This file also tests the promises about
`run` and its options that no other test covers."""

from __future__ import annotations

import ast
import json
import os
import re
import sys
from functools import cache
from pathlib import Path

import pytest

import asct as asct_package
from tests.cli.conftest import Asct
from tests.e2e.running import Ended

ROOT = Path(__file__).parents[2]
MEASURED = re.compile("local  noop: 1 (ok|noisy)")
"""Other programs on this machine may make a measurement noisy."""
_TEST = re.compile(r"`(tests/[\w/]+\.py)::(\w+)`")


def promises() -> list[list[str]]:
    """Return the cells of each row in the tables that have the column `test`."""
    found, inside = [], False
    for line in (ROOT / "docs/asct.md").read_text(encoding="utf-8").splitlines():
        cells = [cell.strip() for cell in line.strip("|").split(" | ")]
        inside = line.startswith("|") and (inside or cells[-1].rstrip("| ") == "test")
        if inside and not set(line) <= set("|-") and cells[-1].rstrip("| ") != "test":
            found.append(cells)
    return found


@cache
def functions(path: str) -> set[str]:
    tree = ast.parse((ROOT / path).read_text(encoding="utf-8"))
    return {node.name for node in ast.walk(tree) if isinstance(node, ast.FunctionDef) and node.name.startswith("test")}


def test_every_promise_has_tests_that_exist() -> None:
    rows = promises()
    assert len(rows) > 80
    for cells in rows:
        assert len(cells) == 3 and all(cells), cells
        tests = _TEST.findall(cells[2])
        assert tests and _TEST.sub("", cells[2]).strip(" ,|") == "", cells
        assert [name for path, name in tests if name not in functions(path)] == [], cells
    assert len({cells[0] for cells in rows}) == len(rows)


@pytest.mark.kernels
def test_the_default_folder_is_named_after_the_time(asct: Asct, tmp_path: Path) -> None:
    assert asct("run", "noop").code == 0
    (folder,) = tmp_path.iterdir()
    assert re.fullmatch(r"data\.\d{8}_\d{6}_\d{6}", folder.name)
    assert (folder / "run.json").is_file()


@pytest.mark.kernels
def test_a_log_in_the_output_directory_of_a_run_is_no_result_of_another(asct: Asct, tmp_path: Path) -> None:
    for log in ("asct.log", "logs/mine.log"):
        out, words = tmp_path / log.partition(".")[0].replace("/", "-"), ("run", "noop", "-q", "-L", "debug")
        first = asct(*words, "-o", out.name, "--log-file", f"{out.name}/{log}")
        assert (first.code, first.out, first.err) == (0, "", "")
        text = (out / log).read_text(encoding="utf-8")
        assert text.count("exit code 0") == 1 and "/noop " in text
        assert asct(*words, "-o", out.name, "--log-file", f"{out.name}/{log}").code == 2
        again = asct(*words, "-o", out.name, "--log-file", f"{out.name}/{log}", "--force")
        assert again.code == 0
        assert (out / log).read_text(encoding="utf-8").startswith(text)
        assert asct("results", "verify", out.name).code == 0


def test_a_log_in_a_new_directory_does_not_make_it_used(asct: Asct, tmp_path: Path) -> None:
    for command in ("system-info", "network-info", "list"):
        words = (command, "-f", "csv", "-o", command, "--log-file", f"{command}/asct.log")
        assert asct(*words).code == 0
        again = asct(*words, "-q")
        assert again.code == 2 and "is not empty" in again.err
        log = (tmp_path / command / "asct.log").read_text(encoding="utf-8")
        assert "ERROR" in log and "E911" in log
        assert asct(*words, "--force").code == 0


@pytest.mark.kernels
def test_quiet_is_silent_in_every_format(asct: Asct, tmp_path: Path) -> None:
    for form in ("stdout", "csv", "json"):
        ended = asct("run", "noop", "-q", "-f", form, "-o", form)
        assert (ended.code, ended.out, ended.err) == (0, "", "")
    for words in (("diff", "csv", "json"), ("list",), ("system-info",), ("network-info",)):
        ended = asct(*words, "-q", "-o", f"q-{words[0]}")
        assert (ended.code, ended.out, ended.err) == (0, "", ""), words
    assert asct("system-info", "-q").out


@pytest.mark.kernels
def test_the_log_level_governs_stderr(asct: Asct) -> None:
    def told(level: str) -> Ended:
        return asct("run", "noop", "-L", level, "-o", level, "--log-file", f"{level}.log")

    levels = {level: told(level) for level in ("debug", "info", "warning", "error")}
    assert all("Time taken by a point that does nothing" in ended.out for ended in levels.values())
    assert MEASURED.search(levels["info"].err) and "exit code 0" in levels["info"].err
    repeat = re.compile(r"repeat 1: (ok|noisy) in")
    assert repeat.search(levels["debug"].err) and not repeat.search(levels["info"].err)
    for level in ("warning", "error"):
        assert "noop" not in levels[level].err and "INFO" not in Path(f"{level}.log").read_text(encoding="utf-8")
    assert "warning[" not in levels["error"].err
    failed = asct("run", "nosuch", "-L", "critical")
    assert failed.code == 2 and "error[E913]" in failed.err


@pytest.mark.kernels
def test_view_prints_a_run_or_writes_the_format_asked_for(asct: Asct, tmp_path: Path) -> None:
    assert asct("run", "noop", "-q", "-o", "data").code == 0
    before = {path.name for path in (tmp_path / "data").iterdir()}
    assert "Time taken by a point that does nothing" in asct("view", "data").out
    assert {path.name for path in (tmp_path / "data").iterdir()} == before
    for number, words in enumerate((("-f", "csv"), ("--format=csv",))):
        assert asct("view", "data", *words, "-o", str(number)).code == 0
        written = {path.name for path in (tmp_path / str(number)).iterdir()}
        assert "noop.csv" in written and all(name.endswith(".csv") for name in written)


def test_reports_of_asct_0_6_have_commands_of_their_own(asct: Asct) -> None:
    for words in (("report", "network-info"), ("report", "netinfo"), ("run", "network-info")):
        assert asct(*words, "--json").document["schema"] == "asct.network/1"
    assert asct("report", "sysinfo", "--json").document["schema"] == "asct.facts/1"


@pytest.mark.parametrize(
    ("option", "hint"), [("--no-cache", "--reuse AGE"), ("--clear-cache", "--reuse AGE"), ("--log-level-file", "--log")]
)
def test_options_of_asct_0_6_point_to_ours(asct: Asct, option: str, hint: str) -> None:
    ended = asct("run", "ls", option)
    assert ended.code == 2 and hint in ended.err


def test_a_list_is_printed_and_written_in_the_format_asked_for(asct: Asct, tmp_path: Path) -> None:
    printed = asct("list", "-f", "json", "-o", "one")
    assert {path.name for path in (tmp_path / "one").iterdir()} == {"benchmark_list.json"}
    assert json.loads((tmp_path / "one" / "benchmark_list.json").read_text()) == printed.document
    asct("list", "-o", "both")
    assert {path.name for path in (tmp_path / "both").iterdir()} == {"benchmark_list.json", "benchmark_list.csv"}


@pytest.mark.kernels
def test_a_comparison_is_written_in_the_format_asked_for(asct: Asct, tmp_path: Path) -> None:
    for name in ("a", "b"):
        assert asct("run", "noop", "-q", "-o", name).code == 0
    for form, file in (("csv", "diff.csv"), ("json", "diff.json"), ("markdown", "diff.md"), ("html", "diff.html")):
        assert asct("diff", "a", "b", "-f", form, "-o", form).code == 0
        assert [path.name for path in (tmp_path / form).iterdir()] == [file]


def test_the_settings_of_the_documents_reach_the_points(asct: Asct, tmp_path: Path) -> None:
    def points(*words: str) -> str:
        ended = asct("run", *words, "--show-commands")
        assert ended.code == 0, ended.err
        return ended.out

    assert points("saps", "--user-config", "saps.rwmixread=20").count("rwmixread=20") >= 2
    depths = points("sids", "--update-config", "sids.iodepth_sweep_steps=4,5,6,7,8")
    assert [number for number in range(1, 200) if f"iodepth={number}\n" in depths] == [4, 5, 6, 7, 8]
    (tmp_path / "mytest.dat").write_bytes(b"")
    assert "mytest.dat" in points("srss", "--user-config", f"srss.file_names={tmp_path}/mytest.dat")
    assert "scratch.dat" in points("srss", "--user-config", "srss.create_temp_file=1")


def test_a_needed_benchmark_runs_although_it_is_excluded(asct: Asct) -> None:
    jobs = asct("run", "idle-latency", "^latency-sweep", "--dry-run", "--json").document["hosts"][0]["jobs"]
    assert [(job["id"], job["reason"]) for job in jobs] == [
        ("latency-sweep", "needed by idle-latency"), ("idle-latency", "selected by `idle-latency`"),
    ]  # fmt: skip


@pytest.mark.kernels
def test_without_a_progress_bar_progress_is_plain_lines(asct: Asct, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True, raising=False)
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.delenv("CI", raising=False)
    words = ("run", "noop", "-o", "out", "--force")
    assert {"━", "─"} & set(asct(*words).err)
    plain = asct(*words, "--no-progress-bar").err
    assert MEASURED.search(plain) and not {"━", "─"} & set(plain)


def test_the_report_says_when_how_and_by_whom_it_was_read(asct: Asct) -> None:
    text = " ".join(asct("system-info").out.split())
    account = "root" if os.getuid() == 0 else f"uid {os.getuid()}"
    assert re.search(rf"As of \d{{4}}-\S+Z, read by {account} with asct {re.escape(asct_package.__version__)}", text)
