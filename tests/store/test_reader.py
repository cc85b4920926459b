"""Reading runs: intact data is returned, damage is reported, and nothing is guessed."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest

from asct.errors import NoSuchRun, StoreError
from asct.store import documents
from asct.store.documents import inside
from asct.store.find import label_links, labels_of, list_runs, open_run
from asct.store.folders import link_label
from asct.store.model import CommandDocument, HostEntry, Status
from asct.store.reader import StoredRun, read_run
from asct.store.verify import verify
from asct.store.writer import RunWriter
from tests.store.make import facts, head, record


def written(results: Path, **fields: Any) -> StoredRun:
    """Return a complete run with one host, one repeat and one record."""
    writer = RunWriter.create(results, head(**fields), "plan: 1\n", "{}")
    writer.document(writer.layout.facts("h"), facts())
    folder = writer.repeat_folder(writer.layout.repeat("h", "a", "p1", 1))
    (folder / "stdout").write_text("0.1 us\n")
    (folder / "stderr").touch()
    command = CommandDocument(host="h", benchmark="b", settings={}, swept={})
    status = Status(status="ok", point_id="p1", repeat=1, started_at="now", elapsed_s=1.0, command=command)
    writer.finish_repeat(folder, status, [record(run=writer.run.run, plan=writer.run.plan)])
    event = {"schema": "asct.event/1", "t": "point-ended", "at": "2026-11-21T04:28:13.000Z", "host": "h", "id": "a",
             "point_id": "p1", "repeat": 1, "status": "ok", "elapsed_s": 1.0, "headline": ""}  # fmt: skip
    writer.journal(event, sync=True)
    host = HostEntry(name="h", transport="local", status="ok")
    writer.finish(status="complete", exit_code=0, hosts=[host], counts={"ok": 1})
    writer.close()
    return read_run(writer.layout.root)


def hint_of(*arguments: Any) -> str:
    with pytest.raises(StoreError) as caught:
        open_run(*arguments)
    return caught.value.diagnostics[0].hint or ""


def code_of(call: Any, *arguments: Any, exit_code: int = 3) -> str:
    with pytest.raises(StoreError) as caught:
        call(*arguments)
    assert caught.value.exit_code == exit_code
    return caught.value.diagnostics[0].code


def test_a_whole_run(tmp_path: Path) -> None:
    stored = written(tmp_path)
    assert verify(stored) == []
    (only,) = stored.records()
    assert only == record()
    assert only.raw == "jobs/h/a/p1/r1"
    assert stored.facts() == {"h": facts()}
    assert stored.resolved() == {}
    assert [path.name for path in stored.repeats()] == ["r1"]


@pytest.mark.parametrize("which", ["records", "journal"])
def test_a_torn_last_line_is_noted_and_left_out(tmp_path: Path, which: str) -> None:
    stored = written(tmp_path)
    path = getattr(stored.layout, which)
    whole = path.read_text()
    assert not stored.torn()
    for cut in range(1, len(whole.splitlines(keepends=True)[-1]) - 1, 40):
        path.write_text(whole + whole[:cut])
        again = read_run(stored.layout.root)
        assert again.torn()
        assert len(getattr(again, which)()) == 1
        assert [(note.code, note.severity) for note in again.notes] == [("E511", "warning")]
        assert [item.code for item in verify(read_run(stored.layout.root))] == ["E511"]


@pytest.mark.parametrize(
    ("text", "code"),
    [
        ("", "E508"),
        ("{", "E508"),
        ('{"schema": "asct.run/1"}', "E508"),
        ("[1]", "E507"),
        ("{}", "E507"),
        ('{"schema": "asct.record/1"}', "E507"),
        ('{"schema": "other/1"}', "E507"),
        ('{"schema": "asct.run/0"}', "E507"),
        ('{"schema": "asct.run/2"}', "E509"),
        ("[" * 100_000, "E508"),
        ('{"schema": NaN}', "E508"),
        ('{"schema": 1e999}', "E508"),
        ("\x00\x01", "E508"),
    ],
)
def test_damaged_foreign_and_newer_files(tmp_path: Path, text: str, code: str) -> None:
    stored = written(tmp_path)
    stored.layout.run.write_text(text)
    assert code_of(read_run, stored.layout.root) == code
    (item,) = list_runs(tmp_path)
    assert item.run is None and item.findings[0].code == code


def test_a_newer_version_is_refused_by_name(tmp_path: Path) -> None:
    stored = written(tmp_path)
    stored.layout.records.write_text('{"schema": "asct.record/7"}\n')
    message = r"has schema asct\.record/7; this version of asct supports formats up to asct\.record/1"
    with pytest.raises(StoreError, match=rf"records\.jsonl:1: {message}"):
        stored.records()


def test_a_damaged_line_in_the_middle_is_an_error(tmp_path: Path) -> None:
    stored = written(tmp_path)
    line = stored.layout.records.read_text()
    stored.layout.records.write_text(line + line[:50] + "\n" + line)
    assert code_of(stored.records) == "E508"
    assert [item.code for item in verify(read_run(stored.layout.root))] == ["E508", "E513"]


@pytest.mark.parametrize(
    ("number", "message"),
    [
        ("NaN", "NaN is not JSON"),
        ("1e999", "the number 1e999 is too large"),
        ("9" * 400 + ".0", "the number 99999999999999999... is too large"),
    ],
)
def test_numbers_that_are_not_finite_are_named(tmp_path: Path, number: str, message: str) -> None:
    stored = written(tmp_path)
    line = stored.layout.records.read_text()
    stored.layout.records.write_text(re.sub(r'"value":\s*[^,]+', f'"value": {number}', line))
    with pytest.raises(StoreError, match=rf"records\.jsonl:1: cannot be parsed: {re.escape(message)}"):
        stored.records()


@pytest.mark.parametrize(("number", "message"), [("NaN", "NaN is not JSON"), ("1e999", "1e999 is too large")])
@pytest.mark.parametrize("part", ["settings", "swept", "diagnostic"])
def test_numbers_in_a_status_that_are_not_finite_are_named(
    tmp_path: Path, part: str, number: str, message: str
) -> None:
    stored = written(tmp_path)
    (repeat,) = stored.repeats()
    path = stored.layout.status(repeat)
    body = json.loads(path.read_text())
    (body if part == "diagnostic" else body["command"])[part] = {"size": "number"}
    path.write_text(json.dumps(body).replace('"number"', number))
    with pytest.raises(StoreError, match=rf"r1/status\.json: cannot be parsed: .*{re.escape(message)}"):
        stored.status(repeat)


def test_an_older_version_is_migrated_in_memory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    stored = written(tmp_path)
    before = stored.layout.run.read_text()
    monkeypatch.setitem(documents.VERSIONS, "run", 2)
    monkeypatch.setitem(
        documents.MIGRATIONS, ("run", 1), lambda body: {**body, "schema": "asct.run/1", "title": "lifted"}
    )
    assert read_run(stored.layout.root).run.title == "lifted"
    assert stored.layout.run.read_text() == before


@pytest.mark.parametrize("path", ["/etc/passwd", "../other", "jobs/../../x", "a\0b", "x" * 300, "a/" * 3000])
def test_paths_cannot_leave_the_run(tmp_path: Path, path: str) -> None:
    stored = written(tmp_path)
    assert code_of(inside, stored.layout.root, path) == "E510"
    line = record(raw=path).model_dump_json(by_alias=True) + "\n"
    stored.layout.records.write_text(line)
    assert "E510" in [item.code for item in verify(read_run(stored.layout.root))]


def test_folders_that_are_no_repeats(tmp_path: Path) -> None:
    stored = written(tmp_path)
    for name in ("r\u00b2", "r\u0663", "r" + "9" * 40, "r", "r-1", "rx", "r1.try1", "w1"):
        (stored.layout.root / "jobs/h/a/p1" / name).mkdir()
    assert [path.name for path in stored.repeats()] == ["r1"]
    assert verify(stored) == []


def test_links_cannot_leave_the_run(tmp_path: Path) -> None:
    stored = written(tmp_path)
    secret = tmp_path / "secret"
    secret.write_text(stored.layout.run.read_text())
    stored.layout.run.unlink()
    stored.layout.run.symlink_to(secret)
    assert code_of(read_run, stored.layout.root) == "E510"


def test_hosts_with_names_that_are_paths(tmp_path: Path) -> None:
    stored = written(tmp_path)
    body = json.loads(stored.layout.run.read_text())
    body["hosts"][0]["name"] = "../../etc"
    stored.layout.run.write_text(json.dumps(body))
    again = read_run(stored.layout.root)
    assert code_of(again.facts) == "E510"
    assert "E510" in [item.code for item in verify(again)]


def test_a_missing_status(tmp_path: Path) -> None:
    stored = written(tmp_path)
    (stored.layout.root / "jobs/h/a/p1/r1/status.json").unlink()
    assert [item.code for item in verify(stored)] == ["E513", "E512"]


def test_records_of_nowhere(tmp_path: Path) -> None:
    stored = written(tmp_path)
    with stored.layout.records.open("a") as lines:
        lines.write(record(run="20260101T000000Z-000000", repeat=9).model_dump_json(by_alias=True) + "\n")
    codes = [item.code for item in verify(stored)]
    assert sorted(codes) == ["E507", "E513", "E513"]


def test_a_run_that_never_ended(tmp_path: Path) -> None:
    RunWriter.create(tmp_path, head(), "", "{}").close()
    findings = verify(open_run(tmp_path))
    assert [(item.code, item.severity) for item in findings] == [("E513", "warning")]


# ---- finding runs ----


def test_runs_are_found_by_path_id_start_label_and_latest(tmp_path: Path) -> None:
    first = written(tmp_path, run="20261121T042813Z-3f9c2a", label="golden")
    second = written(tmp_path, run="20261122T042813Z-aaaaaa")
    third = written(tmp_path, run="20261120T042813Z-bbbbbb", plan="other")
    names = {
        "latest": second, "gate/latest": second, "other/latest": third, "golden": first, second.run.run: second,
        "20261120": third, "gate/20261121T042813Z-3f9c2a": first, str(third.layout.root): third,
        "gate/20261121": first, "gate/golden": first,
        str(tmp_path / "gate" / "latest"): second, str(first.layout.run): first,
    }  # fmt: skip
    for name, run in names.items():
        assert open_run(tmp_path, name).run.run == run.run.run, name
    assert [item.labels for item in list_runs(tmp_path)] == [[], ["golden"], []]
    assert [item.run.run for item in list_runs(tmp_path) if item.run] == [
        third.run.run, first.run.run, second.run.run,
    ]  # fmt: skip


def test_a_label_given_later_names_its_run_only(tmp_path: Path) -> None:
    first = written(tmp_path, run="20261121T042813Z-3f9c2a", label="golden")
    second = written(tmp_path, run="20261122T042813Z-aaaaaa")
    written(tmp_path, run="20261120T042813Z-bbbbbb", plan="other")
    link_label(second.layout.root, "golden")
    for name in ("golden", "gate/golden"):
        assert open_run(tmp_path, name).run.run == second.run.run
    assert (labels_of(first.layout.root), labels_of(second.layout.root)) == ([], ["golden"])
    assert {item.layout.root.name: item.labels for item in list_runs(tmp_path)} == {
        "20261120T042813Z-bbbbbb": [], "20261121T042813Z-3f9c2a": [], "20261122T042813Z-aaaaaa": ["golden"],
    }  # fmt: skip
    (tmp_path / "other/golden").symlink_to("20261120T042813Z-bbbbbb")
    assert code_of(open_run, tmp_path, "golden", exit_code=2) == "E506"
    assert hint_of(tmp_path, "golden") == "add the plan: `gate/golden`"
    with pytest.raises(NoSuchRun, match=r"`golden` matches several runs: gate/golden, other/golden$"):
        open_run(tmp_path, "golden")


def test_links_that_vanish_hide_no_label(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    root = written(tmp_path).layout.root
    for name in ("golden", "next", ".latest.1.tmp"):
        root.with_name(name).symlink_to(root.name)
    whole = Path.readlink

    def vanished(path: Path) -> Path:
        if path.name == "next":
            raise FileNotFoundError
        return whole(path)

    monkeypatch.setattr(Path, "readlink", vanished)
    assert label_links(root) == labels_of(root) == ["golden"]
    missing = tmp_path / "missing" / root.name
    with pytest.raises(StoreError, match="cannot be read"):
        label_links(missing)
    assert labels_of(missing) == []
    assert code_of(open_run, tmp_path, "other/20261122", exit_code=2) == "E505"
    assert code_of(open_run, tmp_path, "other/nothing", exit_code=2) == "E505"


@pytest.mark.parametrize(
    ("name", "meant"),
    [
        ("goldne", "golden"), ("gate/goldne", "gate/golden"), ("gaet/golden", "gate/golden"),
        ("gaet/latest", "gate/latest"), ("lates", "latest"), ("20261121T042813Z-3f9c2b", "20261121T042813Z-3f9c2a"),
    ],
)  # fmt: skip
def test_a_mistyped_run_is_corrected(tmp_path: Path, name: str, meant: str) -> None:
    written(tmp_path, run="20261121T042813Z-3f9c2a", label="golden")
    assert hint_of(tmp_path, name) == f"did you mean `{meant}`?"
    assert hint_of(tmp_path, "something-else").startswith("`asct results list`")


def test_runs_that_are_not_there_or_not_one(tmp_path: Path) -> None:
    assert list_runs(tmp_path / "absent") == []
    assert code_of(open_run, tmp_path, "latest", exit_code=2) == "E505"
    written(tmp_path, label="golden")
    written(tmp_path, label="golden")
    assert code_of(open_run, tmp_path, "golden", exit_code=2) == "E506"
    assert code_of(open_run, tmp_path, "gate/20261121", exit_code=2) == "E506"
    assert hint_of(tmp_path, "gate/20261121") == "give the complete id or the path"
    assert code_of(open_run, tmp_path, "nothing", exit_code=2) == "E505"
    assert code_of(open_run, tmp_path, "none/latest", exit_code=2) == "E505"
    assert code_of(open_run, tmp_path, str(tmp_path), exit_code=2) == "E505"
    assert open_run(tmp_path, "20261121T042813Z-3f9c2a").layout.root.name == "20261121T042813Z-3f9c2a"
    assert open_run(tmp_path).layout.root.name == "20261121T042813Z-3f9c2a-2"


def test_the_tenth_run_of_a_second_is_newer_than_the_ninth(tmp_path: Path) -> None:
    for _ in range(10):
        RunWriter.create(tmp_path, head(), "", "{}").close()
    assert open_run(tmp_path).layout.root.name.endswith("-10")
