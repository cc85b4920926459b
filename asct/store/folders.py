"""Create and lock run folders, and link files from other runs into them."""

from __future__ import annotations

import errno
import fcntl
import os
import re
import shutil
from collections.abc import Collection, Iterator
from contextlib import contextmanager, suppress
from datetime import datetime
from pathlib import Path
from typing import Final

from asct.diagnostics.model import Diagnostic
from asct.errors import NoSuchRun, SafetyError, StoreError, UsageError
from asct.store.accepted import NAME as ACCEPTED
from asct.store.checksums import scan
from asct.store.documents import unreadable
from asct.store.files import is_full, reason_of, write_error, writing
from asct.store.layout import RUN_ID, run_id, safe_name
from asct.store.model import Run
from asct.store.outputs import occupant
from asct.store.ownership import RESERVED


def new_folder(results: Path, run: Run) -> Path:
    """Create results/<plan>/<run id>/, with the suffix `-2`, `-3`, ... if it exists. Raises StoreError (E501)."""
    name = run.run or run_id(datetime.fromisoformat(run.started_at), run.plan_hash)
    for number in range(1, 1000):
        folder = results / safe_name(run.plan) / (name if number == 1 else f"{name}-{number}")
        try:
            folder.parent.mkdir(parents=True, exist_ok=True)
            folder.mkdir()
        except FileExistsError as error:
            if not folder.parent.is_dir():
                raise _cannot_make(folder, error) from error
        except OSError as error:
            raise _cannot_make(folder, error) from error
        else:
            return folder
    raise _cannot_make(folder, FileExistsError(errno.EEXIST, "a thousand runs were started within this second"))


def given_folder(folder: Path) -> Path:
    """Create `folder`, or use an existing empty one. Raises StoreError (E501, E516)."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
        content = occupant(folder)
    except OSError as error:
        raise _cannot_make(folder, error) from error
    if content:
        message = f"{folder}: the folder is not empty (`{content}`)"
        raise StoreError(Diagnostic("E516", message, hint="use a new folder, or `--force` to replace an earlier run"))
    return folder


def _cannot_make(folder: Path, error: OSError) -> StoreError:
    hint = "select another folder with `--results DIR`, or make this one writable"
    if is_full(error):
        hint = f"free some space on the file system of {folder.parent}, or select another folder with `--results DIR`"
    return StoreError(Diagnostic("E501", f"{folder}: cannot create the results folder: {reason_of(error)}", hint=hint))


def link_latest(root: Path) -> Diagnostic | None:
    """Atomically make the link `latest` next to `root` point to `root`. Return a warning if this fails, otherwise
    None."""
    link = root.with_name("latest")
    try:
        _point(link, root)
    except OSError as error:
        message = f"{link}: cannot create the link to the newest run: {reason_of(error)}"
        return Diagnostic("E514", message, hint=f"refer to this run by its id, {root.name}", severity="warning")
    return None


def link_label(root: Path, label: str) -> Path:
    """Atomically make the link `label` next to `root` point to `root`, and return the link. Raises UsageError (E520)
    as `check_label` does, or if a file or folder that is not a link has this name, and StoreError (E502) if the link
    cannot be created."""
    check_label(label)
    link = root.with_name(label)
    if os.path.lexists(link) and not link.is_symlink():
        raise _not_a_label(label)
    with writing(link):
        _point(link, root)
    return link


def check_label(label: str) -> None:
    """Raise UsageError (E520) if `label` is not a valid name, or the name of something else in the folder of a plan's
    runs."""
    try:
        safe_name(label)
    except ValueError as error:
        legal = re.sub(r"[^\w.@+:-]+|\.\.+", "-", label, flags=re.ASCII).strip("-.")[:40] or "golden"
        raise UsageError(Diagnostic("E520", str(error), hint=f"write `{legal}`")) from None
    if label in ("latest", ACCEPTED) or RUN_ID.fullmatch(label):
        raise _not_a_label(label)


def _not_a_label(label: str) -> UsageError:
    return UsageError(Diagnostic("E520", f"`{label}` cannot be a label", hint="choose another name: `golden`"))


def _point(link: Path, root: Path) -> None:
    temporary = link.with_name(f".{link.name}.{os.getpid()}.tmp")
    try:
        temporary.unlink(missing_ok=True)
        temporary.symlink_to(root.name, target_is_directory=True)
        temporary.replace(link)
    except OSError:
        with suppress(OSError):
            temporary.unlink(missing_ok=True)
        raise


def link_files(source: Path, target: Path, leave_out: Collection[str] = ()) -> None:
    """Link the regular files below `source` into the folder `target`, or copy them if hard links fail.

    Symbolic links, devices, and the files listed in `leave_out` are omitted. Raises OSError if `target` cannot be
    written, and StoreError (E515) if `source` cannot be read.
    """
    with _reading(source), os.scandir(source) as found:
        entries = [entry for entry in found if entry.name not in leave_out]
    for entry in entries:
        place = target / entry.name
        if entry.is_dir(follow_symlinks=False):
            place.mkdir()
            link_files(Path(entry.path), place)
        elif entry.is_file(follow_symlinks=False):
            _link(Path(entry.path), place)


def _link(source: Path, target: Path) -> None:
    try:
        target.hardlink_to(source)
    except OSError:
        with _reading(source):
            stream = source.open("rb")
        with stream, target.open("xb") as copy:
            shutil.copyfileobj(stream, copy)


@contextmanager
def _reading(path: Path) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        raise unreadable(path, error) from error


def _planted(root: Path) -> str:
    """Return the first path in a run that is a link or a device, or an empty string if there is none. Files that do not
    belong to the run are not examined, because a folder that the user chose (`asct run -o`) may contain anything."""
    for name in RESERVED:
        place = root / name
        if place.is_symlink() or (place.exists() and not place.is_file() and not place.is_dir()):
            return name
        if place.is_dir() and (strange := scan(place).strange):
            return f"{name}/{strange[0]}"
    return ""


_WAIT: Final = "wait until it ends, or stop it"


class RunLock:
    """A lock that allows one writer per run: an flock that is released when its process ends.

    The lock file is deleted only together with its run (`asct results prune`, `asct run --force`). A process that
    opened the file before the deletion would lock a file that no other process can find, so `take` detects this and
    opens the path again.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self._descriptor = -1

    def take(self, hint: str = _WAIT) -> None:
        """Take the lock. Raises SafetyError (E504), whose message identifies the process that holds the lock and which
        contains `hint`, and NoSuchRun (E505) if the run was deleted. Raises StoreError (E510) if a file or folder in
        the run is a link, because data written through the link would end up outside the run."""
        if planted := _planted(self.path.parent):
            message = f"{self.path.parent}/{planted} is a link or a device, so nothing is written to this run"
            raise StoreError(Diagnostic("E510", message, hint="remove it if you trust the rest of the folder"))
        while True:
            descriptor = self._open()
            try:
                fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                holder = _holder(descriptor)
                os.close(descriptor)
                raise locked(self.path.parent, holder, hint) from None
            except OSError:  # the file system does not support locks; the user must ensure that there is one writer
                os.close(descriptor)
                return
            if self._is_at_path(descriptor):
                break
            os.close(descriptor)
        with suppress(OSError):
            os.ftruncate(descriptor, 0)
            os.pwrite(descriptor, f"{os.getpid()}\n".encode("ascii"), 0)
        self._descriptor = descriptor

    def _open(self) -> int:
        try:
            return os.open(self.path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW, 0o644)
        except FileNotFoundError as error:
            message = f"{self.path.parent}: the folder does not exist"
            raise NoSuchRun(Diagnostic("E505", message, hint="`asct results list` lists the runs")) from error
        except OSError as error:
            raise write_error(self.path, error) from error

    def _is_at_path(self, descriptor: int) -> bool:
        """Return whether the open lock file is still the one at the path."""
        try:
            return os.path.samestat(os.fstat(descriptor), self.path.lstat())
        except FileNotFoundError:
            return False

    def release(self) -> None:
        """Release the lock. Has no effect if it is not held."""
        if self._descriptor >= 0:
            os.close(self._descriptor)
            self._descriptor = -1


def lock_holder(path: Path) -> str:
    """Return the id of the process that holds a run's lock, or an empty string if none does. Changes nothing."""
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NOFOLLOW)
    except OSError:
        return ""
    try:
        fcntl.flock(descriptor, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except BlockingIOError:
        return _holder(descriptor)
    except OSError:  # the file system does not support locks
        return ""
    finally:
        os.close(descriptor)
    return ""


def _holder(descriptor: int) -> str:
    return os.pread(descriptor, 64, 0).decode("ascii", errors="replace").strip() or "unknown"


def locked(root: Path, holder: str, hint: str = _WAIT) -> SafetyError:
    """Return the error for a run that is in progress."""
    message = f"{root}: asct process {holder} is writing to this run"
    return SafetyError(Diagnostic("E504", message, hint=hint))


@contextmanager
def hold_lock(path: Path, hint: str = _WAIT) -> Iterator[None]:
    """Hold the lock of a completed run while it is changed. Raises SafetyError (E504, with `hint`) and StoreError."""
    lock = RunLock(path)
    lock.take(hint)
    try:
        yield
    finally:
        lock.release()
