"""Delete old runs from a results tree (`asct results prune`), or the run that `asct run --force` replaces."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Final

from asct.diagnostics.model import Diagnostic
from asct.errors import AsctError, SafetyError, StoreError
from asct.store.accepted import read_acceptances
from asct.store.checksums import scan
from asct.store.documents import unreadable
from asct.store.files import reason_of, sync_folder, write_error
from asct.store.find import label_links, run_folders
from asct.store.folders import hold_lock, link_latest
from asct.store.layout import RUN_ID, RunLayout
from asct.store.outputs import log_names, occupant
from asct.store.reader import StoredRun, read_run, real_folders

_DELETED: Final = ".{}.deleted"
"""The name of a run folder while it is being deleted. No command treats such a folder as a run. If the deletion is
interrupted, the next `remove_runs` completes it."""


def remove_runs(results: Path, roots: Iterable[Path]) -> dict[Path, AsctError]:
    """Delete the runs in the given order, and anything left behind by interrupted deletions. Return the errors, keyed
    by folder: SafetyError (E504) if a run is in progress, StoreError (E523 and others) if it cannot be deleted. It is
    not an error if another process deletes a run at the same time."""
    failed: dict[Path, AsctError] = {}
    steps = [(folder, _remove_rest) for folder in _interrupted(results)]
    for root, remove in [*steps, *((root, _remove_run) for root in roots)]:
        try:
            remove(root)
        except (StoreError, SafetyError) as error:
            if not isinstance(error.__cause__, FileNotFoundError):
                failed[root] = error
    return failed


def clear_run(folder: Path, unwritten: Callable[[StoredRun], str]) -> None:
    """Remove an earlier run from `folder` (`--force`), but keep the folder itself and the log of this command.

    `unwritten` returns the reason to assume that the folder contains files that asct did not write, or an empty string
    if there is none. Raises StoreError (E516) if there is such a reason or if the folder contains no readable run, and
    SafetyError (E504) if the run is in progress. In all of these cases, nothing is removed.
    """
    try:
        if not folder.is_dir() or not occupant(folder):
            return
    except OSError as error:
        raise unreadable(folder, error) from error
    if not (folder / "run.json").is_file():
        raise _irreplaceable(folder, "contains files but no asct run")
    try:
        stored = read_run(folder)
    except StoreError as error:
        why = f"contains a run that cannot be read ({error.diagnostics[0].code}), so its files are unknown"
        raise _irreplaceable(folder, why) from error
    with hold_lock(stored.layout.lock):
        if why := unwritten(stored):
            raise _irreplaceable(folder, why)
        logs = log_names(folder)
        try:
            # run.json is removed last: without it, a partly removed run would not be recognized as a run.
            for path in sorted(folder.iterdir(), key=lambda path: path.name == "run.json"):
                if path.name not in logs:
                    shutil.rmtree(path) if path.is_dir() else path.unlink(missing_ok=True)
        except OSError as error:
            raise write_error(folder, error) from error


def _irreplaceable(folder: Path, why: str) -> StoreError:
    hint = "use a new or empty folder, or remove the files yourself"
    return StoreError(Diagnostic("E516", f"{folder}: {why}; nothing was replaced", hint=hint))


def _interrupted(results: Path) -> list[Path]:
    """Return the folders left behind by interrupted deletions."""
    folders = [folder for plan in real_folders(results) for folder in real_folders(plan)]
    ids = ((folder, folder.name[1:].removesuffix(".deleted")) for folder in folders)
    return [folder for folder, run in ids if RUN_ID.fullmatch(run) and folder.name == _DELETED.format(run)]


def _remove_rest(folder: Path) -> None:
    with _deleting(folder):
        _move_latest(folder.parent)
    _remove_folder(folder)


def _remove_run(root: Path) -> None:
    """Delete a run, and move the link `latest` to the newest remaining run. The folder is renamed first, so that the
    tree contains either the whole run or none of it if the process is killed."""
    gone = root.with_name(_DELETED.format(root.name))
    with hold_lock(RunLayout(root).lock):
        _check_unneeded(root)
        with _deleting(root):
            root.rename(gone)
            sync_folder(root.parent)
            _move_latest(root.parent)
        _remove_folder(gone)


def _check_unneeded(root: Path) -> None:
    """Raise StoreError if a run was labeled or accepted after it was chosen, or if this cannot be determined."""
    if label_links(root) or any(item.run == root.name for item in read_acceptances(root.parent)):
        message = f"{root}: not deleted, because it was labeled or accepted in the meantime"
        raise StoreError(Diagnostic("E523", message, hint="run the command again to see why it is kept"))


def _remove_folder(folder: Path) -> None:
    with _deleting(folder):
        shutil.rmtree(folder)


@contextmanager
def _deleting(folder: Path) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        message = f"{folder}: cannot be deleted: {reason_of(error)}"
        hint = "correct the permissions, then run the command again"
        raise StoreError(Diagnostic("E523", message, hint=hint)) from error


def _move_latest(plan: Path) -> None:
    """Make a broken link `latest` point to the newest run of the plan, or remove it if there is none."""
    latest, runs = plan / "latest", run_folders(plan)
    if latest.is_symlink() and not latest.exists():
        latest.unlink(missing_ok=True) if not runs else link_latest(runs[-1])


def disk_usage(root: Path) -> int:
    """Return the number of bytes that the files of a run occupy. Files that disappear in the meantime do not count."""
    size = 0
    for path in scan(root).files:
        with suppress(OSError):
            size += (root / path).lstat().st_blocks * 512
    return size
