"""The private folders of a run on this machine, and files in them; the rules are those of open.sh."""

from __future__ import annotations

import contextlib
import errno
import os
import secrets
import shutil
import stat
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO

from asct.hosts.incoming import save

OWNER = ".owner"
SESSION = ".session"
"""Of a folder that a runner works in (runner.sh): it outlives its connection."""
_COPY_BYTES = 1 << 20


@dataclass(frozen=True, slots=True)
class Folders:
    """`work` goes with the run, `cache` outlives it; both absolute, without links, mode 0700."""

    work: str
    cache: str

    @classmethod
    def make(cls, base: Path) -> Folders:
        """Make a new work folder below `base`, or beside it when `base` is another account's; raises OSError."""
        places = (base, base.with_name(f"{base.name}-{os.getuid()}"), base / f"asct-{os.getuid()}")
        found = next((place for place in places if _usable(place)), None)
        if found is None:
            raise OSError(errno.EACCES, "no folder of this account can be made there", str(base))
        found = found.resolve()
        _clear_stale(found)
        work = found / f"run-{secrets.token_hex(16)}"
        work.mkdir(mode=0o700)
        (work / OWNER).write_text(f"{os.getpid()} {began(os.getpid())} {boot_id()}\n")
        return cls(str(work), str(_cache_folder(found).resolve()))


def _usable(place: Path) -> bool:
    """A folder of this account, made when missing; not a link, and nobody else may rename what lies in it."""
    with contextlib.suppress(OSError):
        if not place.exists():
            place.mkdir(parents=True, mode=0o700)
    try:
        found = place.lstat()
    except OSError:
        return False
    open_to_others = found.st_mode & 0o022 and not found.st_mode & stat.S_ISVTX
    own = stat.S_ISDIR(found.st_mode) and found.st_uid == os.geteuid()
    return own and not open_to_others and os.access(place, os.W_OK)


def _cache_folder(base: Path) -> Path:
    given = os.environ.get("XDG_CACHE_HOME", "")
    home = os.environ.get("HOME", "")
    places = [base / "cache"]
    if given.startswith("/"):
        places.insert(0, Path(given, "asct"))
    elif home and Path(home).is_dir():
        places.insert(0, Path(home, ".cache", "asct"))
    found = next((place for place in places if _usable(place)), None)
    if found is None:
        raise OSError(errno.EACCES, "cannot be made", str(places[-1]))
    if found.stat().st_mode & 0o077:
        found.chmod(0o700)
    return found


def boot_id() -> str:
    try:
        return Path("/proc/sys/kernel/random/boot_id").read_text().strip()
    except OSError:
        return ""


def began(pid: int) -> str:
    """When a process began, in ticks since boot: field 22 of its stat, counted from behind the name.

    Empty for one that is gone, or has ended and is only not yet reaped.
    """
    try:
        fields = Path(f"/proc/{pid}/stat").read_text().rpartition(") ")[2].split()
        return "" if fields[0] == "Z" else fields[19]
    except (OSError, IndexError):
        return ""


def _clear_stale(base: Path) -> None:
    """Remove what a killed asct left: its owner (process, start time, boot) is gone."""
    for old in base.glob("run-*"):
        try:
            if old.is_symlink() or old.stat().st_uid != os.geteuid() or (old / SESSION).exists():
                continue
            pid, start, boot = (old / OWNER).read_text().split()
        except (OSError, ValueError):
            continue
        if boot != boot_id() or not pid.isdigit() or began(int(pid)) != start:
            shutil.rmtree(old, ignore_errors=True)


def remove_tree(path: Path) -> None:
    """Remove a file or folder; what is missing is fine."""
    if path.is_dir() and not path.is_symlink():
        shutil.rmtree(path, ignore_errors=True)
    else:
        path.unlink(missing_ok=True)


def empty_folder(path: Path, *, fresh: bool) -> None:
    """Make `path` with mode 0700; `fresh` also empties it."""
    if fresh and os.path.lexists(path):
        remove_tree(path)
    make_folder(path)


def make_folder(path: Path) -> None:
    """Make `path` and what is missing above it with mode 0700."""
    if not path.is_dir():
        path.mkdir(parents=True, mode=0o700, exist_ok=True)


def open_output(path: Path) -> BinaryIO:
    """A file of mode 0600 for a program's output; folders above it are made."""
    make_folder(path.parent)
    return os.fdopen(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "wb")


def write_text(path: Path, text: str) -> None:
    """Write a file of mode 0600; folders above it are made."""
    with open_output(path) as file:
        file.write(text.encode("utf-8", "surrogateescape"))


def copy_file(source: Path, target: Path, max_bytes: int) -> bool:
    """Copy a regular file; False when it is larger than `max_bytes`. A link or device raises ValueError."""
    if not stat.S_ISREG(source.lstat().st_mode):
        raise ValueError(str(source))
    data = os.open(source, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK)
    try:
        size = os.fstat(data).st_size
        if size > max_bytes:
            return False
        save(target, _blocks(data, size))
    finally:
        os.close(data)
    return True


def _blocks(data: int, size: int) -> Iterator[bytes]:
    """The first `size` bytes of an open file: one that still grows is taken as it was."""
    while size and (block := os.read(data, min(_COPY_BYTES, size))):
        size -= len(block)
        yield block


def fetch_output(source: Path, target: Path, max_bytes: int) -> str | None:
    """Copy a program's file; returns None when there is none, else what went wrong, or an empty text."""
    try:
        if copy_file(source, target, max_bytes):
            return ""
    except FileNotFoundError:
        return None
    except ValueError:
        return "is not a regular file and was not fetched"
    except OSError as error:
        return f"cannot be read ({error.strerror}) and was not fetched"
    return f"is larger than {max_bytes} bytes and was not fetched"


def store_file(source: Path, target: Path, mode: int) -> None:
    """Copy a file under a temporary name, then rename it; folders above it are made with mode 0700."""
    target.parent.mkdir(parents=True, mode=0o700, exist_ok=True)
    partial = target.with_name(f"{target.name}.{secrets.token_hex(6)}.part")
    try:
        with source.open("rb") as data, partial.open("xb") as out:
            shutil.copyfileobj(data, out, _COPY_BYTES)
        partial.chmod(mode)
        partial.replace(target)
    except BaseException:
        partial.unlink(missing_ok=True)
        raise
