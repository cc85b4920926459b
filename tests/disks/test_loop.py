"""The loop devices and limits on which other tests rely."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from tests.awaiting import until
from tests.disks.loop import behind, kept, loop_device, throttle

pytestmark = [pytest.mark.disks, pytest.mark.fio]


def iops(target: Path, seconds: float, *options: str) -> float:
    """Return the rate that fio itself reports."""
    done = subprocess.run(
        [
            *("fio", "--name=t", f"--filename={target}", "--rw=randread", "--bs=4k", "--direct=1", "--time_based"),
            *(f"--runtime={round(seconds * 1000)}ms", "--output-format=json", *options),
        ],
        capture_output=True,
        text=True,
        check=True,
    )
    return float(json.loads(done.stdout[done.stdout.index("{") :])["jobs"][0]["read"]["iops"])


@pytest.mark.rates
def test_a_limit_holds_and_goes_with_the_group(memory: Path) -> None:
    with loop_device(memory, 16) as loop:
        with throttle(loop, riops=500) as group:
            assert kept(iops(loop.path, 2), 500)
            group.limit(riops=100)
            assert kept(iops(loop.path, 3), 100)  # what was let through under the old limit is counted against the new
            folder = group.folder
        assert not folder.exists()
        assert iops(loop.path, 1) > 1000
    assert not loop.backing.exists()


def test_sectors_of_4_kib(tmp_path: Path) -> None:
    with loop_device(tmp_path, 8, sector=4096) as loop:
        size = Path(f"/sys/block/{loop.path.name}/queue/logical_block_size")
        assert size.read_text().strip() == "4096"


KEEPING = """
import sys, time
from pathlib import Path
from tests.disks.loop import loop_device
with loop_device(Path(sys.argv[1]), 4) as loop:
    print(loop.path, flush=True)
    time.sleep(300)
"""


def test_a_device_goes_with_the_process_that_made_it(tmp_path: Path) -> None:
    """This holds even for a process that cannot clean up."""
    argv = [sys.executable, "-c", KEEPING, str(tmp_path)]
    with subprocess.Popen(argv, stdout=subprocess.PIPE, text=True, cwd=Path(__file__).parents[2]) as process:
        assert process.stdout is not None
        path = Path(process.stdout.readline().strip())
        assert behind(path).startswith(str(tmp_path))
        process.send_signal(signal.SIGKILL)
    until(lambda: not behind(path).startswith(str(tmp_path)))


def test_nobody_is_seen_to_have_it_open(tmp_path: Path) -> None:
    with loop_device(tmp_path, 4) as loop:
        found = [one for one in Path("/proc/self/fd").iterdir() if os.path.lexists(one) and one.is_block_device()]
        assert found == []
        os.close(os.open(loop.path, os.O_RDWR | os.O_EXCL))
