"""Documents of older versions are rewritten on disk. They are read and verified as before, even if asct is killed
meanwhile."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from asct.engine.rebuild import rebuild
from asct.errors import SafetyError, StoreError
from asct.store import documents
from asct.store import migrate as migration
from asct.store.checksums import evidence, sums_text
from asct.store.files import write_atomic
from asct.store.folders import hold_lock
from asct.store.layout import RunLayout
from asct.store.migrate import migrate
from asct.store.reader import StoredRun, read_run
from asct.store.verify import verify
from tests.engine import plant
from tests.engine.conftest import Lab
from tests.engine.test_rebuild import as_older, whole_run


def older_run(lab: Lab, sealed: bool) -> StoredRun:
    """Return a run of an older version. If `sealed` is set, it is in the state in which the current version leaves it
    after a resume."""
    layout = whole_run(lab).stored.layout
    as_older(layout)
    return reseal(layout) if sealed else read_run(layout.root)


def reseal(layout: RunLayout) -> StoredRun:
    layout.run.write_text(json.dumps({**json.loads(layout.run.read_text()), "sealed": True}))
    layout.sums.write_text(sums_text(evidence(layout.root)))
    return read_run(layout.root)


def files(root: Path) -> dict[str, tuple[bytes, int]]:
    paths = (path for path in root.rglob("*") if path.is_file())
    return {str(path.relative_to(root)): (path.read_bytes(), path.stat().st_mtime_ns) for path in paths}


def texts(root: Path) -> dict[str, bytes]:
    return {path: content for path, (content, _) in files(root).items() if path != ".lock"}


@pytest.mark.parametrize("sealed", [False, True])
def test_an_older_run_becomes_current(lab: Lab, sealed: bool) -> None:
    stored = older_run(lab, sealed)
    assert verify(stored) == []
    before, statuses = texts(stored.layout.root), [stored.status(repeat) for repeat in stored.repeats()]
    assert migrate(stored) == 6
    after = texts(stored.layout.root)
    changed = {Path(path).name for path in after if after[path] != before[path]}
    assert (after.keys(), changed) == (before.keys(), {"status.json"} | ({"SHA256SUMS"} if sealed else set()))
    assert {json.loads(text)["schema"] for path, text in after.items() if path.endswith("status.json")} == {
        "asct.status/2"
    }
    again = read_run(stored.layout.root)
    assert [again.status(repeat) for repeat in again.repeats()] == statuses
    assert verify(again) == []
    again.layout.records.write_text("")
    assert rebuild(again, plant.Shelf()).findings == []
    assert texts(stored.layout.root) == after
    stamps = files(stored.layout.root)
    assert not migrate(again)
    assert files(stored.layout.root) == stamps


def killed_after(writes: int) -> Callable[[Path, str], None]:
    left = [writes]

    def write(path: Path, text: str) -> None:
        if left[0] == 0:
            raise KeyboardInterrupt
        left[0] -= 1
        write_atomic(path, text)

    return write


def test_an_interrupted_migration_is_completed(lab: Lab, monkeypatch: pytest.MonkeyPatch) -> None:
    stored = older_run(lab, sealed=True)
    root, older = stored.layout.root, texts(stored.layout.root)
    migrate(stored)
    wanted = texts(root)
    number = sum(wanted[path] != older[path] for path in older)
    for writes in range(number):
        for path, text in older.items():
            (root / path).write_bytes(text)
        monkeypatch.setattr(migration, "write_atomic", killed_after(writes))
        with pytest.raises(KeyboardInterrupt):
            migrate(read_run(root))
        monkeypatch.setattr(migration, "write_atomic", write_atomic)
        assert migrate(read_run(root))
        assert texts(root) == wanted
    assert number == 7
    assert verify(read_run(root)) == []


def test_migrate_knows_every_kind_that_has_an_older_version() -> None:
    assert {kind for kind, _ in documents.MIGRATIONS} == {"status"}


def test_damage_stays_visible(lab: Lab) -> None:
    stored = older_run(lab, sealed=True)
    path = next(stored.layout.root.glob("jobs/*/b/*/r1/status.json"))
    path.write_text(path.read_text().replace('"attempts": 1', '"attempts": 2'))
    before = [(finding.code, finding.message) for finding in verify(stored)]
    assert before == [("E517", f"{path}: changed since the run wrote it")]
    assert migrate(stored) == 6
    assert [(finding.code, finding.message) for finding in verify(read_run(stored.layout.root))] == before


@pytest.mark.parametrize(
    ("name", "text", "code"),
    [
        ("jobs/local/b/*/r1/status.json", '{"schema": "asct.status/7"}', "E509"),
        ("jobs/local/b/*/r1/status.json", '{"schema": "asct.status/1"}', "E508"),
        ("jobs/local/b/*/r1/command.json", "{", "E508"),
        ("jobs/local/b/*/r1/telemetry.json", '{"schema": "asct.telemetry/7"}', "E509"),
    ],
)
def test_a_run_that_cannot_be_migrated_stays_as_it_is(lab: Lab, name: str, text: str, code: str) -> None:
    stored = older_run(lab, sealed=False)
    path = next(stored.layout.root.glob(name))
    path.write_text(text)
    before = files(stored.layout.root)
    with pytest.raises(StoreError) as caught:
        migrate(stored)
    (finding,) = caught.value.diagnostics
    assert finding.code == code and str(path) in finding.message
    assert files(stored.layout.root) == before


def test_a_run_in_progress_is_not_touched(lab: Lab) -> None:
    stored = older_run(lab, sealed=True)
    before = texts(stored.layout.root)
    with hold_lock(stored.layout.lock), pytest.raises(SafetyError, match="is writing to this run"):
        migrate(stored)
    assert texts(stored.layout.root) == before
