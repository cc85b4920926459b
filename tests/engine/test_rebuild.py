"""records.jsonl is derived data: it is rebuilt to the byte from the raw files, or not at all."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from asct.engine.rebuild import rebuild, survey
from asct.engine.resume import missing
from asct.engine.reuse import earlier_runs
from asct.errors import StoreError
from asct.plan.model import Retry
from asct.sdk.benchmark import Benchmark
from asct.store.layout import RunLayout
from asct.store.reader import StoredRun, read_run
from asct.store.verify import verify
from tests.engine import plant
from tests.engine.conftest import Lab
from tests.engine.plant import job, point

JOBS = (
    job(point(script="echo 1; echo noisy 2"), point(script="echo 3; echo detail:noisy 4"), repeats=2),
    job(point(script="echo 5", more=("echo 6; echo 7 >kept",), beside="cat >/dev/null"), name="b"),
    job(point(script="exit 1"), name="c"),
)


def whole_run(lab: Lab) -> plant.Done:
    done = lab.run(*JOBS)
    assert done.stored.run.counts == {"failed": 1, "noisy": 2, "ok": 3}
    return done


def damage(how: str, path: Path) -> None:
    text = path.read_text()
    if how == "missing":
        path.unlink()
    elif how == "torn":
        path.write_text(text[:-30])
    elif how == "a value changed":
        path.write_text(text.replace('"value":5.0', '"value":5.5').replace('"value":6.0', '"value":6.5'))
    elif how == "nested deeply":
        path.write_text(text + '{"a":' * 100_000 + "1" + "}" * 100_000 + "\n")
    elif how == "not text":
        path.write_bytes(b"\xff" + text.encode())
    else:
        lines = text.splitlines(keepends=True)
        path.write_text("".join([lines[0], *lines]) if how == "doubled" else "".join(lines[1:]))


HOWS = ["missing", "torn", "a value changed", "not text", "nested deeply", "doubled", "a line lost"]


@pytest.mark.parametrize("how", HOWS)
def test_rebuilt_records_are_identical(lab: Lab, how: str) -> None:
    stored = whole_run(lab).stored
    before = stored.layout.records.read_bytes()
    damage(how, stored.layout.records)
    assert "error" in [item.severity for item in verify(read_run(stored.layout.root))]
    found = rebuild(stored, plant.Shelf())
    assert (found.findings, stored.layout.records.read_bytes()) == ([], before)
    assert found.rebuilt or how == "nested deeply"
    assert verify(read_run(stored.layout.root)) == []
    assert not rebuild(stored, plant.Shelf()).differs


@pytest.mark.parametrize("how", HOWS)
def test_resume_rebuilds_what_is_damaged_and_measures_nothing_twice(lab: Lab, how: str) -> None:
    first = whole_run(lab)
    layout = first.stored.layout
    before = layout.records.read_text()
    damage(how, layout.records)
    second = plant.run(lab.results, lab.plan(*JOBS), resume=layout)
    assert second.stored.run.counts == first.stored.run.counts
    assert layout.records.read_text() == before
    started = [event for event in second.stored.journal() if event["t"] == "point-started"]
    assert [event["id"] for event in started].count("a") == 4  # only the failed one ran again
    assert verify(read_run(layout.root)) == []


def test_flags_of_the_host_and_of_reuse_are_rebuilt(lab: Lab, monkeypatch: pytest.MonkeyPatch) -> None:
    from asct.engine import repeat
    from asct.store.model import HostVerdict, Moment, Telemetry

    noisy = Telemetry(verdict=HostVerdict(state="noisy"), steps=1, elapsed_s=1.0, before=Moment(), after=Moment())
    monkeypatch.setattr(repeat, "summarize", lambda _: noisy)
    stored = lab.run(JOBS[0]).stored
    monkeypatch.undo()
    quiet = lab.run(JOBS[1]).stored
    again = lab.run(JOBS[1], reuse_s=1000.0)
    for each, flag in ((stored, "noisy-host"), (again.stored, "reused"), (quiet, "")):
        before = each.layout.records.read_text()
        assert not flag or before.count(f'"{flag}"') == before.count("\n")
        each.layout.records.unlink()
        assert rebuild(each, plant.Shelf()).findings == []
        assert each.layout.records.read_text() == before


@pytest.mark.parametrize("what", ["cut", "deleted", "emptied"])
def test_a_repeat_whose_raw_files_changed_is_measured_again(lab: Lab, tmp_path: Path, what: str) -> None:
    log = tmp_path / "ran"
    resolved = lab.plan(job(point(script=f"echo x >>{log}; echo 1; echo 2"), point(script=f"echo x >>{log}; echo 3")))
    first = plant.run(lab.results, resolved)
    (path,) = [path for path in first.stored.layout.root.rglob("stdout") if path.read_text() == "1\n2\n"]
    path.unlink()
    if what != "deleted":
        path.write_text("1\n" if what == "cut" else "")
    found = survey(read_run(first.stored.layout.root), plant.Shelf())
    assert len(missing(resolved, found)) == 1
    assert [item.code for item in found.findings] == ["E517"]
    second = plant.run(lab.results, resolved, resume=first.stored.layout)
    assert (second.code, sorted(second.values()), log.read_text()) == (0, [1, 2, 3], "x\nx\nx\n")
    (told,) = second.stored.run.findings
    assert told["code"] == "E517" and "is treated as not measured" in told["message"]
    (aside,) = first.stored.layout.root.rglob("status.before.json")
    assert aside.parent.name == "r1.try1"
    assert verify(second.stored) == []


def test_reuse_refuses_changed_raw_files(lab: Lab) -> None:
    stored = lab.run(JOBS[1]).stored
    next(stored.layout.root.rglob("kept")).write_text("8\n")
    again = lab.run(JOBS[1], reuse_s=1000.0)
    assert [item["code"] for item in again.stored.run.findings] == ["E624"]
    assert all("reused" not in record.flags for record in again.stored.records())
    assert earlier_runs(lab.results, 1000.0)


class OtherVersion(plant.Probe):
    version = "2"


class OtherParser(plant.Probe):
    def parse(self, *arguments):  # type: ignore[no-untyped-def]
        return [*super().parse(*arguments), *super().parse(*arguments)]


@pytest.mark.parametrize(
    ("installed", "reason"),
    [
        ((OtherVersion(),), "version 1 of `probe`, but version 2 is installed"),
        ((OtherParser(),), "the values now parsed from the raw files differ"),
        ((), "`probe` is not installed"),
    ],
)
def test_another_program_rebuilds_nothing(lab: Lab, installed: tuple[Benchmark[object], ...], reason: str) -> None:
    stored = whole_run(lab).stored
    lines = stored.layout.records.read_text().splitlines(keepends=True)
    stored.layout.records.write_text("".join(lines[:-1]))
    found = rebuild(stored, plant.Shelf(installed))
    (finding,) = found.findings
    assert finding.code == "E519" and reason in finding.message
    assert len(found.done) == 4  # intact repeats are kept, no matter which version is installed
    assert set(stored.layout.records.read_text().splitlines(keepends=True)) <= set(lines[:-1])
    assert "E517" in [item.code for item in verify(read_run(stored.layout.root))]


def as_older(layout: RunLayout) -> None:
    """Rewrite the repeats of a run in the form in which asct wrote them before checksums existed."""
    for path in layout.root.glob("jobs/*/*/*/*/status.json"):
        body = json.loads(path.read_text())
        files, command, telemetry = body.pop("files"), body.pop("command"), body.pop("telemetry", None)
        del body["records_sha256"]
        for name in files:
            (path.parent / name).touch()
        (path.parent / "command.json").write_text(json.dumps(command))
        if telemetry:
            (path.parent / "telemetry.json").write_text(json.dumps(telemetry))
            body["telemetry"] = telemetry["verdict"]
        path.write_text(json.dumps({**body, "schema": "asct.status/1", "diagnostic": body.get("diagnostic")}))
    layout.sums.unlink()
    run = json.loads(layout.run.read_text())
    del run["sealed"]
    layout.run.write_text(json.dumps(run))


def older_run(lab: Lab) -> tuple[StoredRun, plant.Done]:
    done = whole_run(lab)
    as_older(done.stored.layout)
    return read_run(done.stored.layout.root), done


def test_runs_of_older_versions_are_read_as_before(lab: Lab) -> None:
    newer = whole_run(lab)
    wanted = {path.parts[-4:]: newer.stored.status(path) for path in newer.stored.repeats()}
    as_older(newer.stored.layout)
    stored = read_run(newer.stored.layout.root)
    unknown = {"files": None, "records_sha256": ""}
    found = {path.parts[-4:]: stored.status(path) for path in stored.repeats()}
    assert found == {key: status.model_copy(update=unknown) for key, status in wanted.items() if status}
    assert verify(stored) == []
    next(stored.layout.root.glob("jobs/*/a/*/r1/telemetry.json")).write_text('{"schema": "asct.telemetry/1"}')
    assert "telemetry.json" in verify(stored)[0].message
    next(stored.layout.root.glob("jobs/*/b/*/r1/telemetry.json")).unlink()
    status = next(status for path in stored.repeats() if "/b/" in str(path) and (status := stored.status(path)))
    assert status.host_state is not None and status.telemetry is not None and status.telemetry.unknown


@pytest.mark.parametrize("how", ["missing", "a line lost", "torn"])
def test_runs_of_older_versions_are_rebuilt_and_resumed(lab: Lab, how: str) -> None:
    stored, done = older_run(lab)
    before = stored.layout.records.read_text()
    damage(how, stored.layout.records)
    assert rebuild(stored, plant.Shelf()).findings == []
    assert stored.layout.records.read_text() == before
    damage(how, stored.layout.records)
    again = plant.run(lab.results, lab.plan(*JOBS), resume=stored.layout)
    assert (again.stored.run.counts, stored.layout.records.read_text()) == (done.stored.run.counts, before)
    assert verify(read_run(stored.layout.root)) == []


def test_a_noisy_repeat_that_is_retried_leaves_no_records(lab: Lab, tmp_path: Path) -> None:
    once = f"[ -e {tmp_path}/once ] && echo 2 || {{ touch {tmp_path}/once; echo noisy 1; echo 9; }}"
    split = point(script="echo 3 # \u2028", swept=["script"])  # JSON text may contain line separators
    again = lab.run(job(split, point(script=once), retry=Retry(1, ("noisy",))))
    assert again.stored.run.counts == {"ok": 2}
    assert sorted(again.values()) == [2, 3]
    assert verify(again.stored) == []
    assert not rebuild(again.stored, plant.Shelf()).differs


@pytest.mark.parametrize("share", [0, 2])
def test_a_damaged_journal_costs_no_records(lab: Lab, share: int) -> None:
    layout = whole_run(lab).stored.layout
    before = layout.records.read_bytes()
    text = layout.journal.read_text()
    layout.journal.write_text(text[: len(text) // share] if share else "")
    with pytest.raises(StoreError, match=r"journal\.jsonl does not contain the end events of . repeats? with values"):
        rebuild(read_run(layout.root), plant.Shelf())
    assert layout.records.read_bytes() == before
    layout.journal.write_text(text)
    assert not rebuild(read_run(layout.root), plant.Shelf()).findings


@pytest.mark.parametrize("text", [None, "{", '{"schema": "asct.status/2"}'])
def test_a_repeat_without_its_status_is_reported(lab: Lab, text: str | None) -> None:
    layout = whole_run(lab).stored.layout
    status = layout.status(next(folder for folder in read_run(layout.root).repeats() if "/b/" in str(folder)))
    if text is None:
        status.unlink()
    else:
        status.write_text(text)
    before = layout.records.read_bytes()
    [finding] = rebuild(read_run(layout.root), plant.Shelf()).findings
    assert finding.code == "E519"
    assert str(status.parent) in finding.message
    assert "status.json is missing" in finding.message and finding.hint.startswith("restore status.json")
    assert layout.records.read_bytes() == before


def test_records_stay_if_their_raw_files_are_lost(lab: Lab) -> None:
    """The records may be all that is left of the measurement."""
    layout = whole_run(lab).stored.layout
    before = layout.records.read_text()
    next(layout.root.rglob("kept")).unlink()
    [finding] = rebuild(read_run(layout.root), plant.Shelf()).findings
    assert (finding.code, layout.records.read_text()) == ("E517", before)
    layout.records.write_text(before.partition("\n")[2])
    rebuild(read_run(layout.root), plant.Shelf())
    assert layout.records.read_text() == before


@pytest.mark.parametrize(
    "place", [".lock", "asct.log", "journal.jsonl", "records.jsonl", "jobs/local/d", "stdout", ".reserve"]
)
def test_nothing_is_written_through_a_link_in_the_tree(lab: Lab, tmp_path: Path, place: str) -> None:
    """The links in a tree from elsewhere may point to files of the account that rebuilds or resumes the run."""
    done = whole_run(lab)
    layout = done.stored.layout
    outside = tmp_path / "outside"
    outside.write_text("mine\n")
    damage("torn", layout.records)
    path = next(layout.root.glob("jobs/local/a/*/r1/stdout")) if place == "stdout" else layout.root / place
    if path.exists():
        path.replace(tmp_path / "kept")
    path.symlink_to(outside)
    with pytest.raises(StoreError) as error:
        rebuild(done.stored, plant.Shelf())
    assert {one.code for one in error.value.diagnostics} <= {"E510", "E508"}
    with pytest.raises(StoreError) as error:
        plant.run(lab.results, lab.plan(*JOBS), resume=layout)
    assert {one.code for one in error.value.diagnostics} <= {"E510", "E508"}
    assert outside.read_text() == "mine\n"


def test_links_of_others_beside_a_run_do_not_matter(lab: Lab, tmp_path: Path) -> None:
    """`asct run -o . --force` writes to a folder that also contains files of the user."""
    stored = whole_run(lab).stored
    (stored.layout.root / "mine").mkdir()
    (stored.layout.root / "mine" / "link").symlink_to(tmp_path)
    (stored.layout.root / "tools").symlink_to(tmp_path)
    before = stored.layout.records.read_bytes()
    damage("missing", stored.layout.records)
    rebuild(stored, plant.Shelf())
    assert stored.layout.records.read_bytes() == before
