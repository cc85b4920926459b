"""The private work folder that open.sh makes on every host."""

from __future__ import annotations

import os
import stat
import subprocess
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


def test_a_sticky_folder_is_used(make: Maker, tmp_path: Path) -> None:
    (tmp_path / "w").mkdir()
    (tmp_path / "w").chmod(0o1777)
    assert make(tmp_path / "w")[0].parent == tmp_path / "w"


@pytest.mark.skipif(os.geteuid() != 0, reason="needs root to make another account's folder")
def test_another_accounts_folder_is_not_used(make: Maker, tmp_path: Path) -> None:
    (tmp_path / "w").mkdir(mode=0o700)
    os.chown(tmp_path / "w", 12345, 12345)
    assert make(tmp_path / "w")[0].parent == tmp_path / f"w-{os.getuid()}"


def test_no_place(make: Maker) -> None:
    with pytest.raises(OSError, match="cannot make a folder"):
        make(Path("/proc/asct"))


def test_stale_folders_go_and_others_stay(make: Maker, tmp_path: Path) -> None:
    base = tmp_path / "w"
    living, _ = make(base)
    child = subprocess.Popen(["sleep", "60"])
    try:
        began = Path(f"/proc/{child.pid}/stat").read_text().rpartition(") ")[2].split()[19]
        boot = Path("/proc/sys/kernel/random/boot_id").read_text().strip()
        owners = {
            "run-living": f"{child.pid} {began} {boot}",
            "run-dead": f"4194000 77 {boot}",
            "run-reused": f"{child.pid} 5 {boot}",
            "run-rebooted": f"{child.pid} {began} another-boot",
            "run-odd": "what",
            "other": "4194000 77 x",
        }
        for name, text in owners.items():
            (base / name / "deep").mkdir(parents=True)
            (base / name / ".owner").write_text(text + "\n")
        (base / "run-empty").mkdir()
        (base / "run-link").symlink_to(base / "other")
        made, _ = make(base)
    finally:
        child.kill()
        child.wait()
    left = {path.name for path in base.iterdir()}
    assert left == {living.name, made.name, "run-living", "run-odd", "other", "run-empty", "run-link"}
