"""`asct results migrate` and `prune`: their output, what they delete, and what they never delete."""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Callable, Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from asct.analysis import baseline, retention
from asct.store import prune
from asct.store.accepted import accept, acceptance
from asct.store.folders import hold_lock, link_label
from asct.store.layout import RunLayout
from asct.store.model import HostEntry, JobEntry, Reused, Status
from asct.store.ownership import record_reports
from asct.store.reader import read_run
from asct.store.verify import verify
from asct.store.writer import RunWriter
from tests.cli.conftest import Asct
from tests.store.make import facts, head, record

RESULTS = Path("results")
ENDED = {"schema": "asct.event/1", "t": "point-ended", "at": "2026-11-21T04:28:13.000Z", "host": "h", "id": "a",
         "point_id": "p1", "repeat": 1, "status": "ok", "elapsed_s": 1.0, "headline": ""}  # fmt: skip


def run(days: int, plan: str = "gate", resolved: str = "{}", sources: Sequence[str] = (), **end: Any) -> Path:
    """Write a run that was started this many days ago and that reused values from `sources`. Return its folder."""
    started = datetime.now(UTC) - timedelta(days=days)
    name = f"{started:%Y%m%dT%H%M%SZ}-3f9c2a"
    writer = RunWriter.create(RESULTS, head(run=name, plan=plan, started_at=started.isoformat()), "plan: 1\n", resolved)
    writer.document(writer.layout.facts("h"), facts())
    folder = writer.repeat_folder(writer.layout.repeat("h", "a", "p1", 1))
    status = Status(status="ok", point_id="p1", repeat=1, started_at="now", elapsed_s=1.0)
    writer.finish_repeat(folder, status, [record(run=name, plan=plan, point={})])
    writer.journal(ENDED, sync=True)
    reused = [Reused(run=source, repeats=1, measured_at="then") for source in sources]
    job = JobEntry(host="h", id="a", benchmark="b", version="1", points=1, repeats=1, counts={"ok": 1}, reused=reused)
    host = HostEntry(name="h", transport="local", status="ok")
    writer.finish(**{"status": "complete", "exit_code": 0, "hosts": [host], "jobs": [job], "counts": {"ok": 1}, **end})
    writer.seal()
    writer.close()
    return writer.layout.root


@pytest.fixture
def old(asct: Asct) -> Path:
    """Return the older of two runs, which `--keep 1` deletes."""
    root = run(50)
    run(40)
    return root


def report(root: Path, path: str) -> None:
    """Write a report to the run folder."""
    record_reports(root, {path: "values"})
    (root / path).parent.mkdir(exist_ok=True)
    (root / path).write_text("values")


def name_of(root: Path) -> str:
    return f"{root.parent.name}/{root.name}"


def fates(asct: Asct, *arguments: str, code: int = 0) -> dict[str, str | None]:
    """Return the reason why each listed run is kept (None if it is not), keyed by path."""
    ended = asct("results", "prune", *arguments, "--json")
    assert ended.code == code, ended.err
    assert ended.document["schema"] == "asct.prune/1"
    return {row["path"]: row["kept"] for row in ended.document["runs"]}


def listed() -> set[Path]:
    return {path for path in RESULTS.glob("*/*") if not path.is_symlink()}


def test_old_runs_are_listed_and_then_deleted(asct: Asct) -> None:
    runs = [run(days) for days in (50, 40, 30, 20, 10)]
    other = run(60, plan="other")
    before = listed()
    shown = asct("results", "prune", "--keep", "2", "--older-than", "25d")
    assert shown.code == 0 and listed() == before
    rows = [line.split() for line in shown.out.splitlines()]
    assert [row[:2] for row in rows[1:4]] == [["gate", path.name] for path in runs[:3]]
    assert all(row[3:] == ["would", "be", "deleted"] for row in rows[1:4])
    assert shown.out.splitlines()[4].startswith("3 of 6 runs would be deleted (")
    assert shown.out.endswith("; `--yes` deletes them\n")
    assert asct("results", "prune", "--keep", "2", "--older-than", "25d", "--yes", "--dry-run").out == shown.out
    assert listed() == before
    found = asct("results", "prune", "--keep", "2", "--older-than", "25d", "--yes", "--json").document
    assert found["deleted"] and found["bytes"] == sum(row["bytes"] for row in found["runs"]) > 0
    assert listed() == {*runs[3:], other}
    assert not list(RESULTS.rglob(".*.deleted"))
    assert verify(read_run(runs[3])) == [] == verify(read_run(runs[4]))
    again = asct("results", "prune", "--keep", "2", "--yes")
    assert (again.code, again.out) == (0, "0 of 3 runs deleted (0)\n")


def test_what_is_referred_to_is_kept(asct: Asct) -> None:
    source, unneeded, golden, accepted = run(90), run(85), run(80), run(75)
    middle = run(70, sources=[name_of(source)])
    named = run(65, plan="other")
    link_label(golden, "golden")
    accept(golden.parent, acceptance(accepted.name, "a.latency", "a new compiler"))
    fit = run(60)
    failed = run(50, status="incomplete", exit_code=3)
    newest = run(
        40, status="incomplete", resolved=json.dumps({"baseline": name_of(named)}), sources=[name_of(middle)]
    )  # fmt: skip
    other = run(30, plan="other")
    assert fates(asct, "--keep", "1", "--yes") == {
        str(source): f"{name_of(middle)} refers to it",
        str(unneeded): None,
        str(golden): "labeled golden",
        str(accepted): "its values of a.latency were accepted",
        str(middle): f"{name_of(newest)} refers to it",
        str(named): f"{name_of(newest)} refers to it",
        str(fit): "the next run is compared with it",
        str(failed): None,
    }
    kept = {source, golden, accepted, middle, named, fit, newest, other}
    assert listed() == kept | {RESULTS / "gate" / "accepted.jsonl"}
    assert all(asct("results", "verify", str(root)).code == 0 for root in kept)
    assert asct("diff", "gate/golden", str(fit)).code == 0
    gone = asct("diff", str(unneeded), str(fit))
    assert gone.code == 2 and "E505" in gone.err and str(unneeded) in gone.err


def test_a_killed_run_refers_to_what_its_journal_says(asct: Asct) -> None:
    source = run(90)
    killed = run(50, status="running", exit_code=None)
    event = json.dumps({**ENDED, "headline": f"reused from {name_of(source)}"})
    RunLayout(killed).journal.write_text(f"{event}\n")
    run(20)
    kept = f"{name_of(killed)} refers to it"
    assert fates(asct, "--keep", "2") == {str(source): kept}
    assert fates(asct, "--keep", "1", "--yes") == {str(source): kept, str(killed): "has not ended"}


def test_what_a_damaged_run_mentions_is_kept(asct: Asct) -> None:
    source, base, unneeded = run(90), run(80, plan="other"), run(70)
    run(75, plan="other")
    damaged = run(60, resolved=json.dumps({"baseline": f"../results/{name_of(base)}/run.json"}))
    event = json.dumps({**ENDED, "headline": f"reused from {name_of(source)}"})
    RunLayout(damaged).journal.write_text(f"{event}\n{{")
    RunLayout(damaged).run.write_text('{"schema": "asct.run/9"}')
    run(50)
    reason = f"{name_of(damaged)} refers to it"
    assert fates(asct, "--keep", "1", "--yes", code=3) == {
        str(source): reason, str(base): reason, str(unneeded): None, str(damaged): "cannot be read",
    }  # fmt: skip


def test_the_run_at_the_path_of_a_baseline_is_kept(asct: Asct) -> None:
    base, newer = run(90, plan="other"), run(80, plan="other")
    newest = run(50, resolved=json.dumps({"baseline": f"../results/{name_of(base)}/run.json"}))
    assert fates(asct, "--keep", "1", "--yes") == {str(base): f"{name_of(newest)} refers to it"}
    assert newer.exists()


def test_a_run_may_refer_to_one_that_started_later(asct: Asct) -> None:
    golden, later = run(90, plan="other"), run(80)
    run(70)
    run(60, plan="other")
    document = json.loads(RunLayout(golden).run.read_text())
    document["jobs"][0]["reused"] = [{"run": name_of(later), "repeats": 1, "measured_at": "then"}]
    RunLayout(golden).run.write_text(json.dumps(document))
    link_label(golden, "golden")
    assert fates(asct, "--keep", "1", "--yes") == {
        str(golden): "labeled golden", str(later): f"{name_of(golden)} refers to it"
    }  # fmt: skip


def test_a_run_in_progress_is_kept(asct: Asct, old: Path) -> None:
    with hold_lock(RunLayout(old).lock):
        assert fates(asct, "--keep", "1", "--yes") == {str(old): "in progress"}
    assert old.exists()


def test_files_of_the_user_are_kept(asct: Asct) -> None:
    mine, reported = run(50), run(45)
    (mine / "notes.txt").write_text("cooling replaced")
    for name in ("report.html", "gl-code-quality-report.json", "a/curve.png"):
        report(reported, name)
    run(40)
    found = fates(asct, "--keep", "1", "--yes")
    assert found == {str(mine): "contains notes.txt, which asct did not write", str(reported): None}
    assert (mine / "notes.txt").exists() and not reported.exists()


@pytest.mark.parametrize(
    ("path", "own"),
    [
        ("photo.png", True),
        ("scans/rack.png", True),
        ("a/notes.txt", True),
        ("a/curve/notes.txt", True),
        ("a/mine.png", True),
        ("jobs/notes.txt", True),
        ("jobs/h/a/p1/r1/notes.txt", True),
        ("facts/rack.json", True),
        ("build/notes.txt", True),
        ("report.json", True),
        ("b.mine.csv", True),
        ("b.csv", True),
        ("a/curve.svg", True),
        ("report.html", False),
        ("summary.md", False),
    ],
)
def test_a_file_that_asct_did_not_write_keeps_its_run(asct: Asct, old: Path, path: str, own: bool) -> None:
    report(old, "b.csv")
    report(old, "a/curve.svg")
    (old / path).parent.mkdir(parents=True, exist_ok=True)
    (old / path).write_text("mine")
    kept = fates(asct, "--keep", "1", "--yes")[str(old)]
    assert bool(kept) is old.exists() is own, kept


def test_a_link_in_a_run_is_known_before_it_is_deleted(asct: Asct, old: Path) -> None:
    (old / "jobs/notes").symlink_to("..")
    for arguments in ((), ("--yes",)):
        kept = fates(asct, "--keep", "1", *arguments)[str(old)]
        assert kept == f"{old}/jobs/notes: this is a link or a device, which asct does not read"
    assert old.exists()


def test_damaged_checksums_keep_a_run(asct: Asct, old: Path) -> None:
    RunLayout(old).sums.unlink()
    assert "SHA256SUMS: the checksums of the run are missing" in str(fates(asct, "--keep", "1", "--yes")[str(old)])


def test_what_is_labeled_or_accepted_in_the_meantime_is_kept(asct: Asct, monkeypatch: pytest.MonkeyPatch) -> None:
    labeled, accepted, unneeded = run(60), run(50), run(45)
    run(40)
    choose = retention.old_runs

    def slow(*arguments: Any) -> list[retention.OldRun]:
        found = choose(*arguments)
        link_label(labeled, "golden")
        accept(accepted.parent, acceptance(accepted.name, "a.latency", "a new compiler"))
        return found

    monkeypatch.setattr(retention, "old_runs", slow)
    ended = asct("results", "prune", "--keep", "1", "--yes")
    assert ended.code == 3 and ended.err.count("E523") == 2 and "labeled or accepted in the meantime" in ended.err
    assert ended.out.splitlines()[-1].startswith("1 of 4 runs deleted")
    assert listed() & {labeled, accepted, unneeded} == {labeled, accepted}


@pytest.mark.parametrize("arguments", [("label", "golden"), ("accept", "a.latency", "--because", "a new compiler")])
def test_nothing_refers_to_a_run_that_is_deleted_in_the_meantime(
    asct: Asct, old: Path, monkeypatch: pytest.MonkeyPatch, arguments: tuple[str, ...]
) -> None:
    command, *rest = arguments

    def slow(*_: Any) -> str:
        assert asct("results", "prune", "--keep", "1", "--yes").code == 0
        return ""

    monkeypatch.setattr(baseline, "unfit", slow)
    monkeypatch.setattr(baseline, "acceptable", slow)
    ended = asct("results", command, old.name, *rest)
    assert ended.code == 2 and f"[E505]: {old}: the folder does not exist" in ended.err
    assert not (old.parent / "golden").is_symlink() and not (old.parent / "accepted.jsonl").exists()


def test_a_run_that_is_in_use_when_it_is_to_be_deleted(asct: Asct, old: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(retention, "lock_holder", lambda _: "")
    with hold_lock(RunLayout(old).lock):
        assert fates(asct, "--keep", "1", "--yes", code=4) == {str(old): "cannot be deleted"}
    assert old.exists()


def test_two_prunes_at_once(asct: Asct, old: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(retention, "old_runs", other_prune(retention.old_runs, old))
    assert fates(asct, "--keep", "1", "--yes") == {str(old): None}
    rest = old.with_name(f".{old.name}.deleted")
    rest.mkdir()
    monkeypatch.setattr(prune, "_move_latest", lambda _: rest.rmdir() if rest.exists() else None)
    assert asct("results", "prune", "--keep", "1", "--yes").code == 0


def other_prune(choose: Callable[..., list[retention.OldRun]], old: Path) -> Callable[..., list[retention.OldRun]]:
    """Choose runs, one of which another process deletes before this process does."""

    def chosen(*arguments: Any) -> list[retention.OldRun]:
        found = choose(*arguments)
        shutil.rmtree(old, ignore_errors=True)
        return found

    return chosen


@pytest.mark.parametrize(("text", "code"), [("{", "E508"), ('{"schema": "asct.run/9"}', "E509")])
def test_an_unreadable_run_is_reported_and_kept(asct: Asct, text: str, code: str) -> None:
    damaged, old = run(50), run(45)
    run(40)
    (damaged / "run.json").write_text(text)
    ended = asct("results", "prune", "--keep", "1", "--yes")
    assert ended.code == 3 and code in ended.err and str(damaged / "run.json") in ended.err
    assert "kept: cannot be read" in ended.out
    assert listed() & {damaged, old} == {damaged}
    migrated = asct("results", "migrate")
    assert migrated.code == 3 and code in migrated.err and str(damaged / "run.json") in migrated.err
    assert migrated.out == "0 runs migrated, 1 already in the current format, 1 skipped\n"
    assert asct("results", "migrate", str(damaged)).code == 3


def test_damaged_acceptances_protect_everything(asct: Asct, old: Path) -> None:
    (old.parent / "accepted.jsonl").write_text("{\n")
    ended = asct("results", "prune", "--keep", "1", "--yes")
    assert ended.code == 3 and f"{old.parent}/accepted.jsonl:1" in ended.err
    assert old.exists()


def test_the_link_to_the_newest_run_follows(asct: Asct) -> None:
    older, newest = run(50), run(40, status="incomplete")
    latest = newest.parent / "latest"
    assert latest.resolve() == newest.resolve()
    assert fates(asct, "--older-than", "30d", "--yes")[str(older)] == "the next run is compared with it"
    assert not newest.exists() and latest.resolve() == older.resolve()
    older.joinpath("run.json").write_text(
        older.joinpath("run.json").read_text().replace('"complete"', '"incomplete"')
    )  # fmt: skip
    assert fates(asct, "--older-than", "30d", "--yes") == {str(older): None}
    assert not os.path.lexists(latest) and not older.exists()


def test_an_interrupted_deletion_is_completed(asct: Asct, old: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with monkeypatch.context() as patch:

        def refuse(path: Path) -> None:
            raise PermissionError(13, "Permission denied")

        patch.setattr("asct.store.prune.shutil.rmtree", refuse)
        ended = asct("results", "prune", "--keep", "1", "--yes")
        assert ended.code == 3 and "E523" in ended.err and "permission denied" in ended.err
        assert not old.exists() and len(asct("results", "list").out.splitlines()) == 2
        assert [path.name for path in RESULTS.rglob(".*.deleted")] == [f".{old.name}.deleted"]
    assert asct("results", "prune", "--keep", "1", "--yes").code == 0
    assert not list(RESULTS.rglob(".*.deleted"))


def test_the_link_follows_after_an_interruption(asct: Asct) -> None:
    old, newest = run(50), run(40)
    newest.rename(newest.with_name(f".{newest.name}.deleted"))
    assert not (newest.parent / "latest").exists()
    assert asct("results", "prune", "--keep", "1", "--yes").code == 0
    assert (newest.parent / "latest").resolve() == old.resolve()


def test_only_what_prune_left_is_removed(asct: Asct, old: Path, tmp_path: Path) -> None:
    rest = f".{old.name}.deleted"
    mine, linked = old.parent / ".mine.deleted", tmp_path / "elsewhere"
    file = old.parent / ".20261121T042813Z-3f9c2a.deleted"
    for folder in (mine, linked / rest):
        folder.mkdir(parents=True)
    file.touch()
    (RESULTS / "linked").symlink_to(linked)
    assert asct("results", "prune", "--keep", "1", "--yes").code == 0
    assert mine.exists() and (linked / rest).exists() and file.exists() and not old.exists()


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ((), "specify which runs to keep: --keep N, --older-than AGE, or both"),
        (("--older-than", "30"), "`30` needs a unit"),
        (("--older-than", "soon"), "`soon` is not a duration"),
        (("--keep", "0"), "0 is not in the range"),
        (("--keep", "1"), "results/ contains no run"),
    ],
)
def test_wrong_usage(asct: Asct, arguments: tuple[str, ...], message: str) -> None:
    ended = asct("results", "prune", *arguments, "--yes")
    assert ended.code == 2 and message in ended.err
    assert not RESULTS.exists()


def test_migrating_current_runs_changes_nothing(asct: Asct) -> None:
    roots = [run(50), run(40)]
    before = {path: (path.lstat().st_mtime_ns, path.read_bytes()) for path in RESULTS.rglob("*") if path.is_file()}
    ended = asct("results", "migrate")
    assert (ended.code, ended.out) == (0, "0 runs migrated, 2 already in the current format\n")
    assert asct("results", "migrate", "gate/latest", "--json").document == {
        "schema": "asct.migrate/1", "ok": True, "runs": [{"path": str(roots[1]), "migrated": 0}],
        "diagnostics": [],
    }  # fmt: skip
    after = {path: (path.lstat().st_mtime_ns, path.read_bytes()) for path in RESULTS.rglob("*") if path.is_file()}
    assert after == before


def test_migrating_skips_runs_in_progress_and_names_what_is_missing(asct: Asct) -> None:
    assert asct("results", "migrate").code == 2
    older = run(50)
    run(40)
    status = older / "jobs/h/a/p1/r1/status.json"
    old = {"schema": "asct.status/1", "status": "ok", "point_id": "p1", "repeat": 1, "started_at": "", "elapsed_s": 1}
    status.write_text(json.dumps(old))
    with hold_lock(RunLayout(older).lock):
        ended = asct("results", "migrate")
        assert ended.code == 4 and "E504" in ended.err and str(older) in ended.err
        assert ended.out == "0 runs migrated, 1 already in the current format, 1 skipped\n"
    ended = asct("results", "migrate")
    assert ended.code == 0
    assert ended.out.splitlines() == [
        f"{older}: 1 document migrated", "1 run migrated, 1 already in the current format"
    ]  # fmt: skip
    assert json.loads(status.read_text())["schema"] == "asct.status/2"
    missing = asct("results", "migrate", "nothing")
    assert missing.code == 2 and "matches `nothing`" in missing.err
