"""Writing a run: complete files, appended lines, one writer, and clear errors."""

from __future__ import annotations

import errno
import fcntl
import hashlib
import json
import os
import subprocess
import sys
from datetime import UTC, datetime
from pathlib import Path

import pytest

from asct.analysis.retention import unwritten
from asct.errors import AsctError, NoSuchRun, SafetyError, StoreError
from asct.store.files import LineFile, write_atomic
from asct.store.folders import RunLock, hold_lock
from asct.store.layout import RunLayout, run_id, safe_name
from asct.store.model import CommandDocument, JobEntry, Status
from asct.store.ownership import record_reports
from asct.store.prune import clear_run
from asct.store.reader import read_run
from asct.store.writer import RunWriter
from tests.store.make import head, record


def create(results: Path, **fields: object) -> RunWriter:
    return RunWriter.create(results, head(**fields), "plan: 1\n", '{"jobs": []}')


def test_a_run_begins_with_its_documents_and_the_link(tmp_path: Path) -> None:
    writer = create(tmp_path / "results")
    root = writer.layout.root
    assert root == tmp_path / "results" / "gate" / "20261121T042813Z-3f9c2a"
    assert (root / "plan.yaml").read_text() == "plan: 1\n"
    assert json.loads((root / "plan.resolved.json").read_text()) == {"jobs": []}
    assert json.loads((root / "run.json").read_text())["status"] == "running"
    assert (root.parent / "latest").readlink() == Path(root.name)
    writer.close()
    assert sorted(path.name for path in root.iterdir()) == [
        ".lock", "journal.jsonl", "plan.resolved.json", "plan.yaml", "records.jsonl", "run.json",
    ]  # fmt: skip


def test_a_second_run_in_the_same_second_gets_a_number_and_the_link(tmp_path: Path) -> None:
    first, second, third = (create(tmp_path) for _ in range(3))
    names = [writer.layout.root.name for writer in (first, second, third)]
    assert names == ["20261121T042813Z-3f9c2a", "20261121T042813Z-3f9c2a-2", "20261121T042813Z-3f9c2a-3"]
    assert second.run.run == names[1]
    assert (tmp_path / "gate" / "latest").readlink() == Path(names[2])
    for writer in (first, second, third):
        writer.close()


def test_no_link_is_a_note(tmp_path: Path) -> None:
    (tmp_path / "gate" / "latest").mkdir(parents=True)
    writer = create(tmp_path)
    (note,) = writer.notes
    assert (note.code, note.severity) == ("E514", "warning")
    assert writer.run.run in note.hint
    writer.close()


def test_a_given_folder_must_be_empty(tmp_path: Path) -> None:
    folder = tmp_path / "data"
    writer = RunWriter.create(tmp_path, head(), "", "{}", folder)
    assert (folder / "run.json").exists() and writer.run.run == head().run
    writer.close()
    with pytest.raises(StoreError) as caught:
        RunWriter.create(tmp_path, head(), "", "{}", folder)
    assert caught.value.diagnostics[0].code == "E516"
    clear_run(folder, lambda _: "")
    RunWriter.create(tmp_path, head(), "", "{}", folder).close()


def written(folder: Path) -> None:
    """Write a run of one job with its reports and pictures."""
    writer = RunWriter.create(folder.parent, head(), "", "{}", folder)
    writer.finish(status="complete", jobs=[JobEntry(host="h", id="a", benchmark="b", version="1", points=1, repeats=1)])
    reports: dict[str, str | bytes] = {
        "report.json": "{}",
        "b.csv": "\udc80",
        "b-curve.png": b"\x89PNG",
        "a/curve.svg": "",
    }
    record_reports(folder, {"b.csv": "from an earlier version"})
    record_reports(folder, reports)
    (folder / "a").mkdir()
    for name, document in reports.items():
        write_atomic(folder / name, document)
    (folder / "report.html").touch()
    writer.seal()
    writer.close()


def test_force_touches_only_what_a_run_wrote(tmp_path: Path) -> None:
    folder = tmp_path / "data"
    clear_run(folder, unwritten)
    written(folder)
    assert unwritten(read_run(folder)) == ""
    clear_run(folder, unwritten)
    assert [*folder.iterdir()] == []
    clear_run(folder, unwritten)
    RunWriter.create(tmp_path, head(), "", "{}", folder).close()


@pytest.mark.parametrize(
    "path",
    [
        "mine.txt", "photo.png", "report.docx", "scans/rack.png", "a/notes.txt", "jobs/notes.txt",
        "b.mine.csv", "b.csv", "report.json", "a/mine.svg", "a/curve.svg",
    ],
)  # fmt: skip
def test_force_removes_nothing_if_a_file_is_not_of_the_run(tmp_path: Path, path: str) -> None:
    folder = tmp_path / "data"
    written(folder)
    (folder / path).parent.mkdir(exist_ok=True)
    (folder / path).write_text("mine")
    refused(folder)


def test_force_removes_nothing_through_a_link(tmp_path: Path) -> None:
    folder, elsewhere = tmp_path / "data", tmp_path / "elsewhere"
    written(folder)
    elsewhere.mkdir()
    (elsewhere / "mine.png").touch()
    (folder / "link").symlink_to(elsewhere)
    refused(folder)
    assert (elsewhere / "mine.png").exists()


@pytest.mark.parametrize("text", [None, "{", '{"schema": "asct.run/9"}'])
def test_force_removes_nothing_without_a_run_that_can_be_read(tmp_path: Path, text: str | None) -> None:
    folder = tmp_path / "data"
    written(folder)
    (folder / "run.json").unlink() if text is None else (folder / "run.json").write_text(text)
    refused(folder)


def test_force_does_not_remove_a_run_in_progress(tmp_path: Path) -> None:
    folder = tmp_path / "data"
    written(folder)
    with hold_lock(RunLayout(folder).lock):
        refused(folder, "E504")


def refused(folder: Path, code: str = "E516") -> None:
    """Check that the run in the folder is not replaced, and that the folder keeps every file."""
    before = {path: path.read_bytes() for path in folder.rglob("*") if path.is_file() and path.name != ".lock"}
    with pytest.raises(AsctError) as caught:
        clear_run(folder, unwritten)
    assert caught.value.diagnostics[0].code == code
    after = {path: path.read_bytes() for path in folder.rglob("*") if path.is_file() and path.name != ".lock"}
    assert after == before


def test_one_writer_at_a_time(tmp_path: Path) -> None:
    writer = create(tmp_path)
    with pytest.raises(SafetyError) as caught:
        RunWriter.reopen(writer.layout, writer.run)
    assert (caught.value.exit_code, caught.value.diagnostics[0].code) == (4, "E504")
    assert f"process {os.getpid()}" in caught.value.diagnostics[0].message
    writer.close()
    RunWriter.reopen(writer.layout, writer.run).close()


@pytest.mark.parametrize("gone", ["file", "run"])
def test_a_lock_file_that_was_removed_in_the_meantime_is_not_locked(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, gone: str
) -> None:
    """Another process removes the run between the opening of the lock file and its locking."""
    root = tmp_path / "run"
    root.mkdir()
    path, flock, calls = RunLayout(root).lock, fcntl.flock, []

    def late(descriptor: int, operation: int) -> None:
        if not calls:
            path.unlink() if gone == "file" else root.rename(tmp_path / "deleted")
        calls.append(descriptor)
        flock(descriptor, operation)

    monkeypatch.setattr(fcntl, "flock", late)
    lock = RunLock(path)
    if gone == "run":
        with pytest.raises(NoSuchRun, match="the folder does not exist"):
            lock.take()
        return
    lock.take()
    assert path.read_text() == f"{os.getpid()}\n"
    with pytest.raises(SafetyError):
        RunLock(path).take()
    lock.release()


def test_a_repeat_leaves_records_and_a_status_with_checksums(tmp_path: Path) -> None:
    writer = create(tmp_path)
    folder = writer.repeat_folder(writer.layout.repeat("h", "a", "p1", 1))
    (folder / "stdout").write_text("1.5\n")
    (folder / "stderr").touch()
    command = CommandDocument(host="h", benchmark="b", settings={}, swept={"x": None})
    status = Status(status="ok", point_id="p1", repeat=1, started_at="now", elapsed_s=1.0, command=command)
    writer.finish_repeat(folder, status, [record(value=1.5)])
    writer.journal({"schema": "asct.event/1", "t": "notice", "host": None}, sync=True)
    writer.finish(status="complete", exit_code=0)
    writer.close()
    stored = read_run(writer.layout.root)
    assert [item.value for item in stored.records()] == [1.5]
    written = stored.status(folder)
    assert written is not None and written.has_all(writer.layout.records.read_text().splitlines(keepends=True))
    files = {"stdout": hashlib.sha256(b"1.5\n").hexdigest(), "stderr": hashlib.sha256(b"").hexdigest()}
    sums = {"records": 1, "records_sha256": written.records_sha256, "files": files}
    assert written == status.model_copy(update=sums)
    assert sorted(path.name for path in folder.iterdir()) == ["status.json", "stdout"]
    assert stored.run.exit_code == 0
    assert len(stored.journal()) == 1
    assert stored.notes == []


def test_an_earlier_attempt_is_set_aside(tmp_path: Path) -> None:
    writer = create(tmp_path)
    folder = writer.layout.repeat("h", "a", "p", 1)
    for attempt in (1, 2, 3):
        writer.repeat_folder(folder, attempt)
        (folder / "stdout").write_text(str(attempt))
    texts = {path.name: (path / "stdout").read_text() for path in folder.parent.iterdir()}
    assert texts == {"r1.try1": "1", "r1.try2": "2", "r1": "3"}
    writer.close()


def test_reopening_cuts_off_torn_lines_and_replaces_records(tmp_path: Path) -> None:
    writer = create(tmp_path)
    writer.close()
    path = writer.layout.records
    path.write_text("".join(record(repeat=n).model_dump_json(by_alias=True) + "\n" for n in (1, 2, 3)) + '{"sch')
    again = RunWriter.reopen(writer.layout, writer.run)
    again.replace_records("".join(record(repeat=n).model_dump_json(by_alias=True) + "\n" for n in (1, 3)))
    folder = again.repeat_folder(again.layout.repeat("h", "a", "p1", 2))
    status = Status(status="ok", point_id="p1", repeat=2, started_at="now", elapsed_s=1.0)
    again.finish_repeat(folder, status, [record(repeat=2)])
    again.close()
    stored = read_run(writer.layout.root)
    assert [item.repeat for item in stored.records()] == [1, 3, 2]
    assert stored.notes == []


def test_reopening_clears_away_what_was_being_written_when_a_process_was_killed(tmp_path: Path) -> None:
    writer = create(tmp_path)
    folder = writer.repeat_folder(writer.layout.repeat("h", "a", "p1", 1))
    writer.close()
    for place in (writer.layout.root / ".run.json.7.tmp", folder / ".status.json.7.tmp", folder / "target.tmp"):
        place.write_text("{")
    RunWriter.reopen(writer.layout, writer.run).close()
    assert [path.name for path in writer.layout.root.rglob("*.tmp")] == ["target.tmp"]


def test_reopening_removes_the_reports_first_but_nothing_outside_the_run(tmp_path: Path) -> None:
    writer = create(tmp_path)
    root = writer.layout.root
    record_reports(root, {"b/figure.png": b"old", "mine.csv": "old"})
    writer.close()
    (root / "b").mkdir()
    for name in ("report.html", "b/figure.png"):
        (root / name).write_text("old")
    (root / "mine.csv").write_text("changed")
    RunWriter.reopen(writer.layout, writer.run).close()
    assert {path.name for path in root.rglob("*") if path.suffix in (".html", ".png", ".csv")} == {"mine.csv"}
    outside = tmp_path / "outside.csv"
    outside.write_text("old")
    record_reports(root, {"../../outside.csv": "old"})
    with pytest.raises(StoreError) as caught:
        RunWriter.reopen(writer.layout, writer.run)
    assert caught.value.diagnostics[0].code == "E510" and outside.exists()


def test_atomic_files_leave_no_part_behind(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "a.json"
    write_atomic(path, "old")

    def fail(*_: object) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(os, "replace", fail)
    with pytest.raises(StoreError) as caught:
        write_atomic(path, "new")
    assert caught.value.diagnostics[0].code == "E503"
    assert path.read_text() == "old"
    assert [entry.name for entry in tmp_path.iterdir()] == ["a.json"]


def test_a_line_that_does_not_fit_is_taken_back(tmp_path: Path) -> None:
    """The limit on the file size simulates a full disk: the system truncates the line."""
    path = tmp_path / "lines"
    code = (
        "import resource, signal, sys; from pathlib import Path; from asct.store.files import LineFile\n"
        "from asct.errors import StoreError\n"
        "signal.signal(signal.SIGXFSZ, signal.SIG_IGN); resource.setrlimit(resource.RLIMIT_FSIZE, (100, 100))\n"
        "lines = LineFile(Path(sys.argv[1]))\n"
        "for n in range(2): lines.append('x' * 39 + '\\n', sync=True)\n"
        "try: lines.append('y' * 39 + '\\n', sync=True)\n"
        "except StoreError as error: print(error.diagnostics[0].code)\n"
    )
    command = [sys.executable, "-c", code, str(path)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.stdout == "E503\n", done.stderr
    assert path.read_text() == ("x" * 39 + "\n") * 2


def test_a_torn_last_line_is_cut_off_when_appending(tmp_path: Path) -> None:
    path = tmp_path / "lines"
    for text, kept in (("", ""), ("a\n", "a\n"), ("a\nb", "a\n"), ("torn", ""), ("a\n" + "x" * 200_000, "a\n")):
        path.write_text(text)
        lines = LineFile(path)
        lines.append("z\n", sync=False)
        lines.close()
        assert path.read_text() == kept + "z\n"


def test_after_a_failure_nothing_more_is_written_but_the_end(tmp_path: Path) -> None:
    writer = create(tmp_path)
    assert writer.layout.reserve.stat().st_size > 100_000
    error = writer.fail(writer.layout.records, OSError(errno.ENOSPC, "No space left on device"))
    assert error.diagnostics[0].code == "E503"
    assert not writer.layout.reserve.exists()
    with pytest.raises(StoreError):
        writer.repeat_folder(writer.layout.repeat("h", "a", "p", 1))
    with pytest.raises(StoreError):
        writer.document(writer.layout.audit("h", "a"), head())
    writer.journal_last({"schema": "asct.event/1", "t": "run-ended"})
    assert writer.finish(status="incomplete", exit_code=3).exit_code == 3
    writer.close()
    assert read_run(writer.layout.root).run.status == "incomplete"


def test_a_repeat_whose_status_cannot_be_written_leaves_no_records(tmp_path: Path) -> None:
    writer = create(tmp_path)
    first, second = (writer.repeat_folder(writer.layout.repeat("h", "a", "p1", number)) for number in (1, 2))
    status = Status(status="ok", point_id="p1", repeat=1, started_at="now", elapsed_s=1.0)
    writer.finish_repeat(first, status, [record()])
    writer.layout.status(second).mkdir()
    with pytest.raises(StoreError):
        writer.finish_repeat(second, status, [record(repeat=2)] * 3)
    writer.close()
    assert [item.repeat for item in read_run(writer.layout.root).records()] == [1]


def test_a_place_where_nothing_can_be_made() -> None:
    with pytest.raises(StoreError) as caught:
        create(Path("/proc/results"))
    (diagnostic,) = caught.value.diagnostics
    assert diagnostic.code == "E501"
    assert diagnostic.message.startswith(
        "/proc/results/gate/20261121T042813Z-3f9c2a: cannot create the results folder: "
    )
    assert "--results" in diagnostic.hint


@pytest.mark.parametrize("name", ["", ".", "..", "a/b", "a..b", "-x", "a\n", "a b", "x" * 129, "\0"])
def test_names_that_would_leave_the_tree(name: str, tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="not valid as a folder name"):
        safe_name(name)
    with pytest.raises(ValueError, match="not valid as a folder name"):
        RunLayout(tmp_path).job(name, "a")


def test_run_ids() -> None:
    assert run_id(datetime(2026, 11, 21, 4, 28, 13, tzinfo=UTC), "3f9c2a" * 11) == "20261121T042813Z-3f9c2a"
