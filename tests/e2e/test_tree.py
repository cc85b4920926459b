"""A results tree is small, can be verified to the byte, and its records can be derived again, all with commands for
users."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest

from tests.e2e.running import apply, asct, latest, lines

pytestmark = [pytest.mark.e2e, pytest.mark.kernels]

PLAN = """plan: 1
name: quick
benchmarks:
  - {uses: noop, id: noop, sweep: {index: [1, 2, 3]}}
  - {uses: idle-latency, config: {visits: 2, duration: 50ms, data_size: 1M}}
"""


@pytest.fixture(scope="module")
def measured(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("tree")
    ended = apply(PLAN, folder)
    assert ended.code == 0, ended.err
    return folder


@pytest.fixture
def run(measured: Path, tmp_path: Path) -> Path:
    """Return the folder of a copy of the run."""
    shutil.copytree(measured, tmp_path / "copy", symlinks=True)
    return latest(tmp_path / "copy")


def test_a_point_takes_three_files_and_16_kib(run: Path) -> None:
    for point in run.glob("jobs/local/noop/*"):
        files = [path for path in point.rglob("*") if path.is_file()]
        folders = [point, *(path for path in point.rglob("*") if path.is_dir())]
        blocks = sum(-(-path.stat().st_size // 4096) for path in files)
        assert len(files) <= 3 and (len(folders) + blocks) * 4 <= 16, files


def test_raw_files_that_change_are_found_and_measured_again(run: Path) -> None:
    assert asct("results", "verify", str(run), cwd=run).code == 0
    first, second, _ = sorted(run.glob("jobs/local/noop/*/r1/stdout"))
    first.unlink()
    second.write_text(second.read_text()[:-20])
    ended = asct("results", "verify", str(run), "--json", cwd=run)
    document = json.loads(ended.out)
    assert (ended.code, document["schema"], document["ok"]) == (3, "asct.verify/1", False)
    assert [item["code"] for item in document["diagnostics"]] == ["E512", "E517"]
    before = {record["point_id"]: record["value"] for record in lines(run / "records.jsonl")}
    resumed = asct("resume", str(run), cwd=run)
    assert resumed.code == 0, resumed.err
    assert "2 measurements missing" in resumed.err and "E517" in resumed.err
    after = {record["point_id"]: record["value"] for record in lines(run / "records.jsonl")}
    changed = {point for point in before if before[point] != after[point]}
    assert changed <= {first.parts[-3], second.parts[-3]} and first.exists() and second.exists()
    ended = asct("results", "verify", str(run), cwd=run)
    assert ended.code == 0, ended.err


def test_records_are_rebuilt_to_the_byte(run: Path) -> None:
    path = run / "records.jsonl"
    before = path.read_bytes()
    path.write_bytes(before.replace(b'"value":', b'"value":1', 1))
    assert asct("results", "verify", str(run), cwd=run).code == 3
    assert asct("results", "rebuild", str(run), cwd=run).out.endswith("records; 1 repeat rebuilt, 3 kept\n")
    assert path.read_bytes() == before
    path.unlink()
    shown = asct("results", "show", str(run), cwd=run)
    assert shown.code == 3 and "asct results rebuild" in " ".join(shown.err.split())
    document = json.loads(asct("results", "rebuild", str(run), "--json", cwd=run).out)
    counts = {"ok": True, "kept": 0, "rebuilt": 4, "records": before.count(b"\n"), "diagnostics": []}
    assert {name: document[name] for name in counts} == counts and document["schema"] == "asct.rebuild/1"
    assert path.read_bytes() == before
    assert asct("results", "verify", str(run), cwd=run).code == 0


def test_resume_restores_lost_records_and_measures_nothing(run: Path) -> None:
    path = run / "records.jsonl"
    before, journal = path.read_bytes(), (run / "journal.jsonl").read_text()
    path.unlink()
    ended = asct("resume", str(run), cwd=run)
    assert ended.code == 0, ended.err
    assert "0 measurements missing" in ended.err
    assert path.read_bytes() == before
    added = (run / "journal.jsonl").read_text().removeprefix(journal)
    assert "point-started" not in added
    assert asct("results", "verify", str(run), cwd=run).code == 0


def test_what_cannot_be_rebuilt_is_an_error(run: Path) -> None:
    (run / "records.jsonl").unlink()
    body = json.loads((run / "run.json").read_text())
    for job in body["jobs"]:
        job["version"] = "0" if job["id"] == "noop" else job["version"]
    (run / "run.json").write_text(json.dumps(body))
    ended = asct("results", "rebuild", str(run), cwd=run)
    assert ended.code == 3
    assert "error[E519]" in ended.err and "version 0 of `noop`" in " ".join(ended.err.split())
    assert {record["id"] for record in lines(run / "records.jsonl")} == {"idle-latency"}
