"""A slice of the fault campaign (`make chaos`): fifteen faults on two transports."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.e2e.running import environment

pytestmark = [
    pytest.mark.e2e,
    pytest.mark.ssh,
    pytest.mark.fio,
    pytest.mark.timeout(900),
    pytest.mark.skipif(os.geteuid() != 0, reason="namespaces, links and disks need root"),
]
KINDS = (
    "asct SIGKILL", "asct SIGTERM", "asct SIGSTOP", "runner SIGKILL", "task SIGKILL", "session SIGKILL",
    "sshd restarted", "link down", "power off", "host disk full", "results disk full", "status cut",
)  # fmt: skip


def test_nothing_is_lost_doubled_wrong_or_left_behind() -> None:
    command = [sys.executable, "-m", "tests.chaos", "--faults", "15", "--workers", "2"]
    command += ["--transports", "local", "ssh", "--kinds", *KINDS]
    done = subprocess.run(
        command, cwd=Path(__file__).parents[2], env=environment(), capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert " 0 violations" in done.stdout.splitlines()[-1]
