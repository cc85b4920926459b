"""Output files that the user specifies: devices are never opened, and existing files only with --force."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from .conftest import Asct

DEVICES = ("/dev/null", "/dev/zero")


@pytest.fixture
def loop(tmp_path: Path) -> str:
    """Return the node of a block device without a driver. Opening it would fail, so the test shows that it is never
    opened."""
    node = tmp_path / "disk"
    try:
        os.mknod(node, 0o60600, os.makedev(240, 7))
    except PermissionError:
        pytest.skip("needs root")
    return str(node)


@pytest.mark.parametrize("more", [(), ("--force",)])
@pytest.mark.parametrize(
    "words",
    [("plan", "small.yaml", "-o"), ("init",), ("config", "save", "noop", "--config-file")],
    ids=["plan", "init", "config"],
)
def test_no_output_goes_to_a_device(
    asct: Asct, plan_file: Path, loop: str, words: tuple[str, ...], more: tuple[str, ...]
) -> None:
    for name in (loop, *DEVICES):
        ended = asct(*words, name, *more)
        assert ended.code == 2, ended.err
        assert "E915" in ended.err and name in ended.err
    assert "block device" in asct(*words, loop, *more).err


def test_no_log_goes_to_a_device(asct: Asct, plan_file: Path, loop: str) -> None:
    ended = asct("check", "small.yaml", "--log-file", loop)
    assert (ended.code, ended.out) == (2, "")
    assert ended.err.count("E915") == 1 and "block device" in ended.err


@pytest.mark.parametrize(
    "words", [("plan", "small.yaml", "-o"), ("init",), ("config", "save", "noop", "--config-file")]
)
def test_an_existing_file_is_overwritten_only_with_force(
    asct: Asct, plan_file: Path, tmp_path: Path, words: tuple[str, ...]
) -> None:
    mine, link = tmp_path / "mine", tmp_path / "link"
    mine.write_text("keep " * 10_000)
    link.symlink_to(mine)
    for name in ("mine", "link", "small.yaml"):
        ended = asct(*words, name)
        assert ended.code == 2
        assert "E911" in ended.err and "--force" in ended.err
    assert mine.read_text() == "keep " * 10_000
    assert asct(*words, "link", "--force").code == 0
    assert link.is_symlink() and "keep" not in mine.read_text()


def test_a_plan_goes_to_a_pipe(plan_file: Path) -> None:
    words = [sys.executable, "-m", "asct", "plan", str(plan_file), "-q", "-o", "/dev/stderr"]
    done = subprocess.run(words, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert '"asct.plan/' in done.stderr


def test_a_log_is_appended(asct: Asct, plan_file: Path, tmp_path: Path) -> None:
    log = tmp_path / "my.log"
    log.touch()
    for level in ("info", "debug"):
        before = log.read_text()
        assert asct("check", "small.yaml", "--log-file", "my.log", "-L", level).code == 0
        assert log.read_text().startswith(before) and log.read_text() != before


@pytest.mark.parametrize("text", [b"plan: 1\n", b"\0", b"2026-01-01"])
def test_no_log_is_appended_to_another_file(asct: Asct, plan_file: Path, tmp_path: Path, text: bytes) -> None:
    (tmp_path / "mine").write_bytes(text)
    ended = asct("check", "small.yaml", "--log-file", "mine", "--json")
    assert (ended.code, ended.document["code"], "another name" in ended.document["hint"]) == (2, "E911", True)
    assert (tmp_path / "mine").read_bytes() == text


def test_the_log_of_a_run_can_be_continued(asct: Asct, plan_file: Path, tmp_path: Path) -> None:
    assert asct("apply", "small.yaml", "-q").code == 0
    assert asct("results", "verify", "--log-file", "results/small/latest/asct.log", "-q").code == 0


def test_files_in_an_existing_folder_are_not_devices(asct: Asct, loop: str, tmp_path: Path) -> None:
    (tmp_path / "out").mkdir()
    (tmp_path / "out" / "benchmark_list.json").symlink_to(loop)
    ended = asct("list", "-f", "json", "-o", "out", "--force")
    assert ended.code == 2 and "E915" in ended.err


@pytest.mark.kernels
def test_a_report_overwrites_only_with_force(asct: Asct, plan_file: Path, tmp_path: Path) -> None:
    assert asct("apply", "small.yaml", "--benchmark", "idle", "-q").code == 0
    (tmp_path / "out").mkdir()
    (tmp_path / "out" / "report.jsonl").write_text("mine")
    refused = asct("report", "-f", "json", "-f", "jsonl", "-o", "out")
    assert refused.code == 2
    assert "E911" in refused.err and "report.jsonl" in refused.err
    assert [path.name for path in (tmp_path / "out").iterdir()] == ["report.jsonl"]
    assert asct("report", "-f", "json", "-o", "out").code == 0
    assert asct("report", "-f", "json", "-f", "jsonl", "-o", "out", "--force").code == 0
    assert (tmp_path / "out" / "report.jsonl").read_text() != "mine"
    for words in ((), ("--bundle",)):
        refused = asct("report", "-o", "/dev/null", *words)
        assert refused.code == 2 and "/dev/null is not a directory" in refused.err
    assert asct("report").code == 0, "the reports of a run itself are rendered again"
