"""Exit codes and results if stdout or stderr is closed or cannot be written, or if resources run out."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from tests.cli import threadless

FULL = "/dev/full"
"""Every write to it fails with ENOSPC (null(4))."""


def asct(
    folder: Path, *arguments: str, redirect: str = "", limit: str = "", prefix: Sequence[str] = ()
) -> subprocess.CompletedProcess[str]:
    """Run asct through a shell, with redirections such as `>/dev/full` and limits such as `ulimit -v 60000;`. `prefix`
    is a command that runs asct."""
    return subprocess.run(
        ["sh", "-c", f'{limit} exec "$@" {redirect}', "sh", *prefix, sys.executable, "-m", "asct", *arguments],
        cwd=folder, capture_output=True, text=True, check=False, timeout=120,
    )  # fmt: skip


def whole(folder: Path) -> dict[str, Any]:
    """Return the content of the only run.json."""
    found: dict[str, Any] = json.loads((folder / "results/small/latest/run.json").read_text(encoding="utf-8"))
    return found


@pytest.mark.parametrize(
    ("option", "redirect"),
    [
        ("--json", f">{FULL}"),
        ("--json", ">&-"),
        ("--json", f"2>{FULL}"),
        ("--no-progress", f">{FULL}"),
        ("--no-progress", "2>&-"),
        ("--no-progress", f">{FULL} 2>{FULL}"),
        ("--no-progress", ">&- 2>&- <&-"),
    ],
)
def test_a_run_keeps_its_results_and_its_exit_code(plan_file: Path, tmp_path: Path, option: str, redirect: str) -> None:
    ended = asct(tmp_path, "apply", str(plan_file), option, "--wait", "2m", redirect=redirect)
    assert ended.returncode == whole(tmp_path)["exit_code"] == 0
    assert (tmp_path / "results/small/latest/report.html").is_file()
    assert ("cannot write to stdout" in ended.stderr) == (redirect == f">{FULL}")
    assert "Traceback" not in ended.stderr


@pytest.mark.parametrize(
    "arguments", [("check", "small.yaml"), ("list",), ("--help",), ("plan", "small.yaml", "--json")]
)
def test_a_command_whose_output_is_lost_says_so_and_does_not_end_with_0(
    plan_file: Path, tmp_path: Path, arguments: tuple[str, ...]
) -> None:
    ended = asct(tmp_path, *arguments, redirect=f">{FULL}")
    assert ended.returncode == 3
    assert "error[E912]: cannot write to stdout: No space left on device" in ended.stderr
    assert asct(tmp_path, *arguments, redirect=">&-").returncode == 0
    assert asct(tmp_path, *arguments, redirect=f"2>{FULL}").returncode == 0


@pytest.mark.parametrize("redirect", [f"2>{FULL}", f">{FULL} 2>{FULL}", "2>&-"])
@pytest.mark.parametrize(
    ("arguments", "code"), [(("check", "nope.yaml"), 2), (("bogus",), 2), (("run", "storage-recovery"), 4)]
)
def test_an_error_that_nobody_can_read_keeps_its_code(
    tmp_path: Path, redirect: str, arguments: tuple[str, ...], code: int
) -> None:
    assert asct(tmp_path, *arguments, redirect=redirect).returncode == code


@pytest.mark.parametrize("outputs", [("stderr",), ("stdout", "stderr")])
@pytest.mark.parametrize(
    ("arguments", "code"), [(("check", "nope.yaml"), 2), (("bogus",), 2), (("run", "storage-recovery"), 4)]
)
def test_an_error_keeps_its_code_if_the_pipe_is_closed(
    tmp_path: Path, outputs: tuple[str, ...], arguments: tuple[str, ...], code: int
) -> None:
    reader, writer = os.pipe()
    os.close(reader)
    streams = {"stdout": subprocess.DEVNULL} | dict.fromkeys(outputs, writer)
    try:
        ended = subprocess.run([sys.executable, "-m", "asct", *arguments], cwd=tmp_path, check=False, **streams)  # type: ignore[call-overload]
    finally:
        os.close(writer)
    assert ended.returncode == code


@pytest.mark.parametrize("both", [False, True])
def test_a_run_keeps_its_exit_code_if_the_reader_leaves_before_the_summary(
    plan_file: Path, tmp_path: Path, both: bool
) -> None:
    reader, writer = os.pipe()
    words = [sys.executable, "-m", "asct", "apply", str(plan_file), "--no-progress", "--wait", "2m"]
    running = subprocess.Popen(words, cwd=tmp_path, stdout=writer if both else subprocess.DEVNULL, stderr=writer)
    os.close(writer)
    with os.fdopen(reader, encoding="utf-8") as lines:
        assert any("idle: " in line and ("ok" in line or "noisy" in line) for line in lines)
    assert running.wait() == whole(tmp_path)["exit_code"] == 0


@pytest.mark.parametrize("kilobytes", [20_000, 24_500, 27_500, 29_000, 35_000, 45_000, 60_000])
def test_without_memory_a_run_is_not_measured_and_not_a_bug(plan_file: Path, tmp_path: Path, kilobytes: int) -> None:
    ended = asct(tmp_path, "apply", str(plan_file), "--wait", "2m", limit=f"ulimit -v {kilobytes};")
    if "memory allocation of" in ended.stderr:  # pydantic aborts
        assert ended.returncode == -signal.SIGABRT
    else:
        assert ended.returncode in (0, 3), ended.stderr
    assert ended.returncode != 3 or "E916" in ended.stderr
    if (tmp_path / "results/small/latest").exists() and ended.returncode == 3:
        assert whole(tmp_path)["exit_code"] == 3
        assert asct(tmp_path, "resume", "--wait", "2m").returncode == 0


def test_without_threads_a_run_is_not_measured_and_can_be_resumed(plan_file: Path, tmp_path: Path) -> None:
    prefix = (sys.executable, threadless.__file__)
    ended = asct(tmp_path, "apply", str(plan_file), "--wait", "2m", prefix=prefix)
    assert ended.returncode == 3
    assert "error[E916]: the system cannot start another thread" in ended.stderr
    assert whole(tmp_path)["exit_code"] == 3 and whole(tmp_path)["status"] == "incomplete"
    assert asct(tmp_path, "resume", "--wait", "2m", prefix=prefix).returncode == 3
    assert asct(tmp_path, "resume", "--wait", "2m").returncode == whole(tmp_path)["exit_code"] == 0


def test_a_report_that_does_not_fit_on_the_disk_is_written_by_the_same_command(plan_file: Path, tmp_path: Path) -> None:
    assert asct(tmp_path, "apply", str(plan_file), "--wait", "2m").returncode == 0
    ended = asct(tmp_path, "report", "-o", "out", limit="ulimit -f 1;")
    assert ended.returncode == 3 and list((tmp_path / "out").iterdir()) == []
    assert "error[E503]: out/report.html: file too large" in ended.stderr
    assert "free some space on the file system of out, then run the command again" in " ".join(ended.stderr.split())


def test_a_file_that_cannot_be_written_completely_is_no_bug_and_is_removed(tmp_path: Path) -> None:
    ended = asct(tmp_path, "config", "save", "noop", "--config-file", "settings.json", limit="ulimit -f 0;")
    assert (ended.returncode, list(tmp_path.iterdir())) == (3, [])
    assert "error[E912]: cannot write settings.json: file too large" in ended.stderr


def test_a_log_that_cannot_be_written_is_reported_once(tmp_path: Path) -> None:
    ended = asct(tmp_path, "results", "show", "nothing", "--log-file", "log", limit="ulimit -f 0;")
    assert ended.returncode == 2 and "error[E505]" in ended.stderr
    [first] = [line for line in ended.stderr.splitlines() if "E912" in line]
    assert first.startswith("warning[E912]: cannot write") and "Traceback" not in ended.stderr
