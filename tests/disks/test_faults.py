"""Faults with the real fio through the asct command: a clear message, the right exit code, the other jobs measured, and
nothing left behind."""

from __future__ import annotations

import json
import os
import re
import shutil
import signal
import stat
import subprocess
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import pytest

from tests.awaiting import until
from tests.disks.loop import Loop, loop_device
from tests.disks.running import JOB, Applying, applying, left
from tests.e2e.running import PACE, Ended, apply, latest, lines

pytestmark = [pytest.mark.disks, pytest.mark.fio, pytest.mark.e2e]

MIB = 1 << 20
LONG = {"duration": "120s", "iodepth": 4}
"""A duration long enough for faults to be injected in time, even if the test has to wait for a processor."""


@pytest.fixture
def disk() -> Iterator[Path]:
    """Provide a folder on a real file system, because /tmp may be in memory."""
    with tempfile.TemporaryDirectory(dir="/var/tmp", prefix="asct-faults-") as folder:
        yield Path(folder)


def plan_of(work: Path, *configs: Mapping[str, Any], more: str = "") -> str:
    """Return a plan with the storage-fio jobs `bad-0`, `bad-1`, ... and one that cannot fail, on this machine in
    `work`."""
    entries = [
        {"uses": "storage-fio", "id": f"bad-{index}", "config": dict(config)} for index, config in enumerate(configs)
    ]
    host = {"local": {"transport": "local", "workdir": str(work)}}
    return f"plan: 1\nname: quick\nbenchmarks: {json.dumps([*entries, 'noop'])}\nhosts: {json.dumps(host)}\n{more}\n"


def target(folder: Path, mib: int = 16, name: str = "target.dat") -> Path:
    """A file of random content."""
    path = folder / name
    path.write_bytes(os.urandom(mib * MIB))
    return path


def measured(cwd: Path) -> set[str]:
    """The jobs that have values."""
    return {record["id"] for record in lines(latest(cwd) / "records.jsonl")}


def statuses(cwd: Path) -> dict[str, str]:
    """Return how each repeat of the bad jobs ended."""
    found = latest(cwd).glob("jobs/local/bad-*/*/r1/status.json")
    return {path.parents[2].name: str(json.loads(path.read_text())["status"]) for path in found}


def failed(ended: Ended, cwd: Path, *says: str) -> None:
    """Check that the bad job failed with this message and exit code 3, and that the other job was measured."""
    assert ended.code == 3, ended.err
    for words in says:
        assert words in " ".join(ended.err.split()), ended.err
    assert "Traceback" not in ended.err
    assert measured(cwd) == {"noop"}
    assert set(statuses(cwd).values()) <= {"failed"}


@contextmanager
def small_filesystem(folder: Path, mib: int = 32) -> Iterator[Path]:
    """Provide a separate ext4 file system, mounted from a loop device."""
    point = folder / "mounted"
    point.mkdir()
    with loop_device(folder, mib) as loop:
        subprocess.run(["mkfs.ext4", "-q", "-F", "-O", "^has_journal", "-m", "0", str(loop.path)], check=True)
        subprocess.run(["mount", str(loop.path), str(point)], check=True)
        try:
            yield point
        finally:
            subprocess.run(["umount", str(point)], check=True)


def test_a_file_system_too_small_for_the_temporary_file_is_found_before(disk: Path, tmp_path: Path) -> None:
    with small_filesystem(disk) as small:
        ended = apply(plan_of(small / "work", {"filesize": "128M", "duration": "1s"}), tmp_path)
        failed(ended, tmp_path, "128 MiB", "not enough space")
        assert left(small / "work") == []


def test_holes_for_which_there_is_no_space_are_refused(disk: Path, tmp_path: Path) -> None:
    with small_filesystem(disk) as small:
        config = {"file_names": str(sparse(small, 128)), "rw": "write", "overwrite": True, "duration": "1s"}
        ended = apply(plan_of(disk / "work", config), tmp_path)
        assert ended.code == 4, ended.err
        assert "`size`" in ended.err and "free" in ended.err
    assert left(disk / "work") == []


def test_a_file_system_that_fills_up_is_said(disk: Path, tmp_path: Path) -> None:
    with small_filesystem(disk) as small:
        slow = {"file_names": str(sparse(small, 24)), "rw": "write", "overwrite": True, "rate_iops": 100, **LONG}
        with applying(plan_of(disk / "work", slow), tmp_path) as running:
            working(running, "write_bytes")
            with (small / "other").open("wb") as other, suppress(OSError):
                while other.write(bytes(MIB)):
                    other.flush()
            failed(running.ended(), tmp_path, "bad-0", "full")
    assert left(disk / "work") == []


def sparse(folder: Path, mib: int) -> Path:
    path = folder / "sparse.dat"
    path.touch()
    os.truncate(path, mib * MIB)
    return path


def test_a_target_that_is_too_small_is_said(disk: Path, tmp_path: Path) -> None:
    config = {"file_names": str(target(disk)), "filesize": "64M", "duration": "1s"}
    failed(apply(plan_of(disk / "work", config), tmp_path), tmp_path, "smaller than `filesize`")
    assert left(disk / "work") == []


def test_a_target_on_a_read_only_file_system_is_not_written(disk: Path, tmp_path: Path) -> None:
    with small_filesystem(disk) as small:
        path = target(small)
        subprocess.run(["mount", "-o", "remount,ro", str(small)], check=True)
        config = {"file_names": str(path), "rw": "randwrite", "overwrite": True, "duration": "1s"}
        ended = apply(plan_of(disk / "work", config), tmp_path)
        assert ended.code in (3, 4), ended.err
        assert "ead-only" in ended.err
        assert "Traceback" not in ended.err
    assert left(disk / "work") == []


def consent(loop: Loop) -> str:
    item = {"host": "local", "device": str(loop.path), "serial": str(loop.backing), "reason": "test"}
    return f"safety: {json.dumps({'destroys': [item]})}"


def test_a_read_only_device_is_refused(disk: Path, tmp_path: Path) -> None:
    with loop_device(disk, 16) as loop:
        subprocess.run(["blockdev", "--setro", str(loop.path)], check=True)
        config = {"file_names": str(loop.path), "rw": "randwrite", "duration": "1s"}
        ended = apply(plan_of(disk / "work", config, more=consent(loop)), tmp_path)
        subprocess.run(["blockdev", "--setrw", str(loop.path)], check=True)
        assert ended.code == 4, ended.err
        assert "read-only" in ended.err
        assert loop.backing.read_bytes() == bytes(16 * MIB)
    assert left(disk / "work") == []


def test_a_target_that_shrinks_while_it_is_read_makes_no_valid_figure(disk: Path, tmp_path: Path) -> None:
    """fio counts reads beyond the end as requests, and exits with status 0."""
    path = target(disk)
    config = {"file_names": str(path), "duration": "12s", "iodepth": 4}
    with applying(plan_of(disk / "work", config, more="strict: true"), tmp_path) as running:
        working(running)
        os.truncate(path, 4096)
        ended = running.ended()
    assert ended.code == 3, ended.err
    flags = {flag for record in lines(latest(tmp_path) / "records.jsonl") for flag in record["flags"]}
    assert "invalid" in flags
    assert left(disk / "work") == []


def test_a_target_whose_name_goes_is_measured_to_the_end(disk: Path, tmp_path: Path) -> None:
    path = target(disk)
    config = {"file_names": str(path), "duration": "4s", "rate_iops": PACE}
    with applying(plan_of(disk / "work", config), tmp_path) as running:
        working(running)
        path.unlink()
        ended = running.ended()
    assert ended.code == 0, ended.err
    assert measured(tmp_path) == {"noop", "bad-0"}
    assert left(disk / "work") == []


def working(running: Applying, counter: str = "read_bytes") -> None:
    """Wait until fio has begun, that is, until the counter of its process or of one that it started has changed."""

    def moved() -> bool:
        texts = []
        for pid in running.below("fio", JOB):
            with suppress(OSError):  # it has ended meanwhile
                texts.append(Path(f"/proc/{pid}/io").read_text())
        return any(int(value) > 0 for text in texts for value in re.findall(rf"^{counter}: (\d+)$", text, re.MULTILINE))

    running.first("fio")
    until(moved, "fio does nothing")


@pytest.mark.parametrize("program", ["fio", "guard"])
def test_a_program_that_is_killed_takes_the_others_along(disk: Path, tmp_path: Path, program: str) -> None:
    with loop_device(disk, 16) as loop:
        config = {"file_names": str(loop.path), "rw": "randwrite", **LONG}
        with applying(plan_of(disk / "work", config, more=consent(loop)), tmp_path) as running:
            running.first("fio")
            os.kill(running.first(program), signal.SIGKILL)
            failed(running.ended(), tmp_path, "bad-0", "killed by")
            assert running.below("fio") == running.below("guard") == []
        assert left(disk / "work") == []
    assert not Path(f"/sys/block/{loop.path.name}/loop").exists()


def test_an_interrupt_lets_go_of_the_device(disk: Path, tmp_path: Path) -> None:
    with loop_device(disk, 16) as loop:
        config = {"file_names": str(loop.path), "rw": "randwrite", **LONG}
        with applying(plan_of(disk / "work", config, more=consent(loop)), tmp_path) as running:
            running.first("fio")
            running.process.send_signal(signal.SIGTERM)
            assert running.ended().code == 143
        assert left(disk / "work") == []
        os.close(os.open(loop.path, os.O_RDWR | os.O_EXCL))


def test_a_device_that_a_process_opens_for_itself_first_is_refused(disk: Path, tmp_path: Path) -> None:
    with loop_device(disk, 16) as loop, loop.path.open("r+b"):
        config = {"file_names": str(loop.path), "rw": "randwrite", "duration": "1s"}
        ended = apply(plan_of(disk / "work", config, more=consent(loop)), tmp_path)
        assert ended.code == 4, ended.err
        assert str(os.getpid()) in ended.err
        assert loop.backing.read_bytes() == bytes(16 * MIB)


FAKE = """#!/bin/sh
# A fake fio for tests: answers what it is asked about itself by the real one, and instead of measuring leaves {what}.
case "$*" in
*--output=*) ;;
*) exec {real} "$@" ;;
esac
for word; do case $word in --output=*) out=${{word#--output=}} ;; esac; done
{body}
"""


def fake_fio(folder: Path, what: str, body: str) -> dict[str, str]:
    """Return a PATH on which fio is a script that identifies itself as a fake."""
    folder.mkdir()
    path = folder / "fio"
    path.write_text(FAKE.format(what=what, real=shutil.which("fio"), body=body))
    path.chmod(path.stat().st_mode | stat.S_IXUSR)
    return {"PATH": f"{folder}:{os.environ['PATH']}"}


@pytest.mark.parametrize(
    ("what", "body"),
    [
        ("a document that breaks off", """printf '{"fio version": "fio-3.33", "jobs": [ {"jobname"' >"$out" """),
        ("no document", ': >"$out"'),
        ("bytes that are no text", """printf '\\377\\376{}' >"$out" """),
        ("a document of something else", "echo '[1, 2]' >\"$out\""),
        ("a document without jobs", """echo '{"fio version": "fio-3.33", "jobs": []}' >"$out" """),
    ],
)
def test_what_fio_leaves_that_cannot_be_read_is_a_failure(disk: Path, tmp_path: Path, what: str, body: str) -> None:
    config = {"file_names": str(target(disk)), "duration": "1s"}
    env = fake_fio(tmp_path / "fake", what, body)
    ended = apply(plan_of(disk / "work", config), tmp_path, env=env)
    failed(ended, tmp_path, "bad-0", "fio")
    assert left(disk / "work") == []
