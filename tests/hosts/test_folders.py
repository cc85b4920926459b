"""The private work folder that open.sh makes on every host."""

from __future__ import annotations

import fcntl
import os
import stat
import subprocess
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from asct.hosts import script

Maker = Callable[[Path], tuple[Path, Path]]


def by_shell(base: Path) -> tuple[Path, Path]:
    text = script.open_script("x", str(base), os.urandom(16).hex())
    done = subprocess.run(["sh", "-s"], input=text, capture_output=True, text=True, check=True)
    found = dict(script.messages(done.stdout.splitlines()))
    if "failed" in found:
        raise OSError(found["failed"])
    return Path(found["work"]), Path(found["cache"])


@pytest.fixture
def make(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Maker:
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.delenv("XDG_CACHE_HOME", raising=False)
    return by_shell


def mode(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


def test_private_and_unpredictable(make: Maker, tmp_path: Path) -> None:
    base = tmp_path / "deep" / "work folder"
    first, cache = make(base)
    second, _ = make(base)
    assert first != second
    assert len(first.name) >= 32
    assert (mode(base), mode(first), mode(cache)) == (0o700, 0o700, 0o700)
    assert cache == tmp_path / ".cache" / "asct"


def test_xdg_cache_home(make: Maker, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "xdg"))
    assert make(tmp_path / "w")[1] == tmp_path / "xdg" / "asct"


def test_cache_without_a_home(make: Maker, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", str(tmp_path / "absent"))
    assert make(tmp_path / "w")[1] == tmp_path / "w" / "cache"


def test_a_link_is_not_followed(make: Maker, tmp_path: Path) -> None:
    (tmp_path / "target").mkdir(mode=0o700)
    (tmp_path / "w").symlink_to(tmp_path / "target")
    work, _ = make(tmp_path / "w")
    assert work.parent == tmp_path / f"w-{os.getuid()}"
    assert list((tmp_path / "target").iterdir()) == []


def test_a_folder_others_may_write_is_not_used(make: Maker, tmp_path: Path) -> None:
    (tmp_path / "w").mkdir()
    (tmp_path / "w").chmod(0o777)
    assert make(tmp_path / "w")[0].parent == tmp_path / f"w-{os.getuid()}"


def test_a_sticky_folder_is_not_used_itself(make: Maker, tmp_path: Path) -> None:
    """Other accounts could place something there under the name of a session that they have seen."""
    (tmp_path / "w").mkdir()
    (tmp_path / "w").chmod(0o1777)
    assert make(tmp_path / "w")[0].parent == tmp_path / f"w-{os.getuid()}"


@pytest.mark.skipif(os.geteuid() != 0, reason="needs root to make another account's folder")
def test_another_accounts_folder_is_not_used(make: Maker, tmp_path: Path) -> None:
    (tmp_path / "w").mkdir(mode=0o700)
    os.chown(tmp_path / "w", 12345, 12345)
    assert make(tmp_path / "w")[0].parent == tmp_path / f"w-{os.getuid()}"


def test_no_place(make: Maker) -> None:
    with pytest.raises(OSError, match="cannot create a folder"):
        make(Path("/proc/asct"))


def test_abandoned_folders_go_and_others_stay(make: Maker, tmp_path: Path) -> None:
    """The decision depends on the lock, then on the boot, the results and the age. The content of an old `.owner` file
    is irrelevant."""
    base = tmp_path / "w"
    living, _ = make(base)
    boot = Path("/proc/sys/kernel/random/boot_id").read_text()
    hour, week = 3700, 8 * 86400
    folders = {  # name: (content of .session, whether there are results, age in seconds)
        "run-held": ("another-boot\n", True, week),
        "run-collectable": (boot, True, hour),
        "run-uncollected": (boot, True, week),
        "run-opening": (None, False, 0),
        "run-given-up": (None, False, hour),
        "run-locking": ("", False, 0),
        "run-new": (boot, False, 0),
        "run-idle": (boot, False, hour),
        "run-rebooted": ("another-boot\n", True, 0),
        "other": (None, False, week),
    }
    for name, (session, results, age) in folders.items():
        (base / name / ".queue").mkdir(parents=True)
        (base / name / ".owner").write_text("4194000\n")
        if results:
            (base / name / ".queue" / "1").touch()
        if session is not None:
            (base / name / ".session").write_text(session)
        os.utime(base / name, (time.time() - age,) * 2)
    (base / "run-link").symlink_to(base / "other")
    with (base / "run-held" / ".session").open() as held:
        fcntl.flock(held, fcntl.LOCK_EX)
        made, _ = make(base)
    left = {path.name for path in base.iterdir()}
    kept = {"run-held", "run-collectable", "run-opening", "run-locking", "run-new", "other", "run-link"}
    assert left == {living.name, made.name, *kept}
