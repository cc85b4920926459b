"""`asct import fio` with results of the real fio: the run that it creates, and the files that it refuses."""

from __future__ import annotations

import errno
import hashlib
import json
import os
import re
import subprocess
from pathlib import Path
from typing import Any

import pytest

from asct.diagnostics.model import Diagnostic
from asct.errors import StoreError
from asct.store.files import write_atomic, write_error
from asct.store.writer import RunWriter
from tests.cli.conftest import Asct

pytestmark = pytest.mark.fio


def ran(folder: Path, name: str, *options: str, form: str = "json+", check: bool = True) -> Path:
    """Return a result of reading for 300 ms."""
    path = folder / name
    usual = ["--name=job", "--filename=data", "--size=1m", "--runtime=300ms", "--time_based", "--rw=randread"]
    usual = [one for one in usual if one.split("=")[0] not in {other.split("=")[0] for other in options}]
    argv = ["fio", *usual, *options, f"--output-format={form}", f"--output={path}"]
    done = subprocess.run(argv, cwd=folder, capture_output=True, text=True, check=False)
    assert not check or done.returncode == 0, done.stderr
    return path


def the_run(results: str = "results", plan: str = "imported") -> tuple[Path, dict[str, Any]]:
    root = Path(results) / plan / "latest"
    return root, json.loads((root / "run.json").read_text())


def records(root: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in (root / "records.jsonl").read_text().splitlines()]


def test_existing_results_become_a_run(asct: Asct, tmp_path: Path) -> None:
    files = [ran(tmp_path, f"{name}.json", f"--iodepth={depth}", "--ioengine=libaio")
             for name, depth in (("a", 1), ("b", 2), ("again", 2))]  # fmt: skip
    ended = asct("import", "fio", *(path.name for path in files), "--host", "lab1", "--plan", "old", "--label", "x1")
    assert ended.code == 0, ended.err
    assert "complete: All 3 measurements are complete" in ended.err
    root, run = the_run(plan="old")
    assert (run["status"], run["label"], run["counts"], run["hosts"][0]["name"]) == (
        "complete",
        "x1",
        {"ok": 3},
        "lab1",
    )
    first = (root / "journal.jsonl").read_text().splitlines()[0]
    assert run["started_at"] < run["ended_at"] <= json.loads(first)["at"]
    rates = [one for one in records(root) if one["metric"] == "iops"]
    assert [(one["point"], one["repeat"]) for one in rates] == [
        ({"iodepth": 1}, 1),
        ({"iodepth": 2}, 1),
        ({"iodepth": 2}, 2),
    ]
    assert all(one["value"] > 0 and "imported" in one["flags"] and one["host"] == "lab1" for one in rates)
    for one, path in zip(rates, files, strict=True):
        job = json.loads(path.read_text())["jobs"][0]["read"]
        assert one["value"] == pytest.approx(job["total_ios"] / job["runtime"] * 1000)
        raw = root / one["raw"]
        assert (raw / "fio.json").read_text().strip() == path.read_text().strip()
        [step] = json.loads((raw / "status.json").read_text())["command"]["steps"]
        assert (step["sha256"], step["argv"][-1]) == (hashlib.sha256(path.read_bytes()).hexdigest(), path.name)
        assert step["sha256"] in (root / "plan.yaml").read_text()
    assert asct("results", "verify", "old/latest").code == 0
    shown = asct("results", "show", "x1")
    assert "lab1/fio: 3 ok" in shown.out
    assert "IODepth" in shown.out
    assert max(map(len, shown.out.splitlines())) <= 80
    again = asct("report", "x1", "-f", "html", "-f", "csv", "-f", "json", "-f", "junit", "-o", "out")
    assert again.code == 0
    assert all(Path(line).stat().st_size for line in again.out.split())
    assert (root / "report.html").exists()
    listed = asct("results", "list", "--json").document["runs"]
    assert [(one["plan"], one["label"], one["counts"]) for one in listed] == [("old", "x1", {"ok": 3})]


def test_json_output(asct: Asct, tmp_path: Path) -> None:
    found = asct("import", "fio", ran(tmp_path, "a.json").name, "--json", "--results", "tree")
    assert found.code == 0
    document = found.document
    assert document["schema"] == "asct.import/1"
    root, run = the_run("tree")
    assert (document["run"], document["counts"]) == (run["run"], {"ok": 1})
    assert Path(document["path"]).samefile(root)
    assert all(Path(path).exists() for path in document["reports"].values())
    again = asct("import", "fio", "a.json", "--json", "--results", "tree").document
    assert again["run"] == f"{run['run']}-2", "an import never replaces a run"


def test_quiet_prints_errors_only(asct: Asct, tmp_path: Path) -> None:
    path = ran(tmp_path, "a.json", form="json")
    quiet = asct("import", "fio", path.name, "-q")
    assert (quiet.code, quiet.err) == (0, "")
    assert "\x1b" not in asct("import", "fio", path.name).err


def test_bad_files_are_all_named_and_nothing_is_written(asct: Asct, tmp_path: Path) -> None:
    text = ran(tmp_path, "good.json").read_text()
    Path("cut.json").write_text(text[: len(text) // 2])
    Path("old.json").write_text(text.replace("fio-3", "fio-2"))
    Path("other.json").write_text('{"a": 1}\n')
    Path("bytes").write_bytes(b"\xff\xfe\x00")
    ended = asct("import", "fio", "good.json", "cut.json", "old.json", "other.json", "bytes")
    assert ended.code == 2
    for message in ("cut.json: the JSON document is truncated", "old.json: fio-2", "other.json: this JSON is not",
                    "bytes: the file is not text"):  # fmt: skip
        assert f"error[E922]: {message}" in ended.err
    assert f"cut.json:{text[: len(text) // 2].count(chr(10)) + 1}:" in ended.err
    assert ended.err.count("hint: ") == 4
    assert not Path("results").exists()
    lines = [json.loads(line) for line in asct("import", "fio", "cut.json", "other.json", "--json").out.splitlines()]
    assert [(one["code"], one["file"]) for one in lines] == [("E922", "cut.json"), ("E922", "other.json")]


@pytest.mark.parametrize(
    "arguments", [(), ("missing.json",), ("a.json", "--host", "../x"), ("a.json", "--plan", "a/b"), (".",)]
)
def test_wrong_usage(asct: Asct, tmp_path: Path, arguments: tuple[str, ...]) -> None:
    (tmp_path / "a.json").write_text("{}")
    assert asct("import", "fio", *arguments).code == 2
    assert not Path("results").exists()


def test_a_failed_run_of_fio_is_incomplete(asct: Asct, tmp_path: Path) -> None:
    ran(tmp_path, "bad.json", "--filename=/proc/none", check=False)
    ran(tmp_path, "good.json")
    ended = asct("import", "fio", "bad.json", "good.json")
    assert ended.code == 3
    assert "1 of 2 measurements failed" in ended.err
    root, run = the_run()
    assert (run["status"], run["counts"]) == ("incomplete", {"failed": 1, "ok": 1})
    [finding] = run["findings"]
    assert finding["code"] == "E626"
    assert "bad.json" in finding["message"]
    assert asct("results", "verify").code == 0
    resumed = asct("resume", root.resolve().name)
    assert resumed.code == 2
    assert "the results of this run were imported" in " ".join(resumed.err.split())


def test_a_copy_is_no_repeat(asct: Asct, tmp_path: Path) -> None:
    path = ran(tmp_path, "a.json")
    Path("copy.json").write_text("fio: a message\n" + path.read_text())
    ended = asct("import", "fio", "a.json", "copy.json")
    assert ended.code == 0
    assert "warning[E923]: copy.json: contains the same result as a.json" in ended.err
    assert the_run()[1]["counts"] == {"ok": 1}
    assert re.search(r"^  IOPS +\S+ ops/s", ended.out + ended.err, re.MULTILINE)


def test_points_that_differ_in_no_setting_have_the_names_of_their_jobs(asct: Asct, tmp_path: Path) -> None:
    for name in ("first", "second"):
        ran(tmp_path, f"{name}.json", f"--name={name}")
    assert asct("import", "fio", "first.json", "second.json").code == 0
    points = [one["point"] for one in records(the_run()[0]) if one["metric"] == "iops"]
    assert points == [{"jobs": "first"}, {"jobs": "second"}]


def test_on_a_full_disk_the_hint_says_to_import_again(
    asct: Asct, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """`asct resume` cannot continue an imported run."""
    ran(tmp_path, "a.json")

    def full(path: Path, content: str, *, sync: bool = True) -> None:
        if path.parent.name == "facts":
            raise write_error(path, OSError(errno.ENOSPC, os.strerror(errno.ENOSPC)))
        write_atomic(path, content, sync=sync)

    monkeypatch.setattr("asct.store.writer.write_atomic", full)
    ended = asct("import", "fio", "a.json")
    assert ended.code == 3 and "then run the command again" in " ".join(ended.err.split())


def test_a_failure_leaves_nothing_behind(asct: Asct, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    ran(tmp_path, "a.json")

    def full(*_: object, **__: object) -> None:
        raise StoreError(Diagnostic("E502", "the disk is full"))

    monkeypatch.setattr(RunWriter, "finish_repeat", full)
    assert asct("import", "fio", "a.json").code == 3
    assert list(Path("results").rglob("*.json*")) == []
    assert not Path("results/imported/latest").is_symlink()
