"""Two readings of a host: what they show, even if they are truncated or damaged, and readings of this machine."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from asct.disturbances.sample import SCRIPT, BusyProcess, sample_of

FIRST = """\
look 1
uptime:1000.00
/proc/stat:cpu  0 0 0 0 0 0 0 0 0 0
/proc/stat:cpu0 100 0 50 800 50 0 0 0 0 0
/proc/stat:cpu1 100 0 50 800 50 0 0 0 0 0
/proc/stat:cpu3 7 7 7 7 7 7 7 7 0 0
/proc/stat:procs_running 2
/proc/pressure/cpu:some avg10=0.00 avg60=0.00 avg300=0.00 total=1000000
/proc/pressure/io:some avg10=0.00 avg60=0.00 avg300=0.00 total=5
/sys/devices/system/cpu/cpu0/thermal_throttle/core_throttle_count:3
interrupts:CPU0 100
interrupts:CPU1 4000000000
process:7 100 500 (sd-pam) a b
process:8 200 40 sleeper
process:9 300 900 ended
process:10 400 900 reused
"""
SECOND = """\
look 2
uptime:1002.00
/proc/stat:cpu0 120 0 60 860 60 0 0 0 9 0
/proc/stat:cpu1 250 0 50 800 50 0 0 50 0 0
/proc/stat:cpu2 1 1 1 1 1 1 1 1 1 1
/proc/stat:cpu3 7 7 7 7 7 7 7 7 0 0
/proc/stat:procs_running 6
/proc/pressure/cpu:some avg10=0.00 avg60=0.00 avg300=0.00 total=1500000
/proc/pressure/cpu:full avg10=0.00 avg60=0.00 avg300=0.00 total=9
/sys/devices/system/cpu/cpu0/thermal_throttle/core_throttle_count:5
interrupts:CPU0 300
interrupts:CPU1 4000000000
process:7 100 650 (sd-pam) a b
process:8 200 40 sleeper
process:10 99900 20 begun
process:odd 1 2 cut
"""


def test_shares_and_rates() -> None:
    found = sample_of(FIRST + SECOND)
    assert found is not None
    assert found.busy == {0: 0.3, 1: 0.75}, "CPU 2 came online between, CPU 3 did not tick"
    assert found.steal == {0: 0.0, 1: 0.25} and found.steal_share == 0.125
    assert found.interrupts == {0: 100.0, 1: 0.0}
    assert (found.running, found.throttled) == (5, 2)
    assert found.pressure == {"cpu": 0.25}
    assert found.processes == (BusyProcess(7, "(sd-pam) a b", 0.75), BusyProcess(10, "begun", 0.1)), (
        "a sleeper and one that ended are left out; a number used again counts from its start"
    )


@pytest.mark.parametrize("text", ["", FIRST, "look 1\nlook 2\n", "sh: not found"])
def test_one_look_is_no_sample(text: str) -> None:
    assert sample_of(text) is None


def test_without_throttle_counts_it_is_not_known() -> None:
    text = "\n".join(line for line in (FIRST + SECOND).splitlines() if "throttle" not in line)
    found = sample_of(text)
    assert found is not None and found.throttled is None


@given(st.integers(0, len(FIRST + SECOND)), st.integers(0, 40), st.text(max_size=20))
def test_what_is_cut_or_garbled_is_left_out(start: int, length: int, put: str) -> None:
    whole = FIRST + SECOND
    found = sample_of(whole[:start] + put + whole[start + length :])
    if found is not None:
        assert all(0 <= share <= 1 for share in (*found.busy.values(), *found.steal.values()))


@pytest.mark.parametrize("shell", ["sh", "busybox sh", "bash"])
def test_a_busy_process_of_this_machine_is_named(shell: str, tmp_path: Path) -> None:
    """The name contains characters that may confuse a parser of /proc/PID/stat: spaces and parentheses."""
    if shutil.which(shell.split()[0]) is None:
        pytest.skip(f"no {shell}")
    program = tmp_path / "a) R 1 (b"
    program.symlink_to(shutil.which("sh") or "/bin/sh")
    with subprocess.Popen([str(program), "-c", "while :; do :; done"]) as busy:
        try:
            done = subprocess.run([*shell.split(), "-s"], input=SCRIPT, capture_output=True, text=True, check=True)
        finally:
            busy.kill()
    found = sample_of(done.stdout)
    assert found is not None
    (mine,) = [one for one in found.processes if one.pid == busy.pid]
    assert mine.name == program.name and 0 < mine.share <= 1.1


def test_this_machine() -> None:
    done = subprocess.run(["sh", "-s"], input=SCRIPT, capture_output=True, text=True, check=True, timeout=60)
    assert done.stderr == ""
    found = sample_of(done.stdout)
    assert found is not None
    assert set(found.busy) <= set(range(os.cpu_count() or 1)) and found.busy
    assert found.running is not None and set(found.interrupts) == set(range(os.cpu_count() or 1))
