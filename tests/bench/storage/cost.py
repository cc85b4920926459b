"""The cost of a point in addition to the time that fio itself needs to start and run, and the cost of a whole
matrix."""

from __future__ import annotations

import json
import re
import statistics
import subprocess
import time
from collections.abc import Callable, Mapping
from datetime import datetime
from pathlib import Path
from typing import Any

from asct.sdk.guard import FIRST_HANDLE
from tests.bench.harness import scratch
from tests.bench.measure import timed
from tests.bench.storage.subjects import applied, by_hand, limited, show
from tests.bench.table import note
from tests.fleet import fleet

POINTS = 9
ROUNDS = 3
_JOB_FILES = "jobs/*/bench/*/r1/job.fio"
MATRIX = {
    "block_size": ["4K", "16K", "32K", "128K"],
    "rwmixread": [100, 0, 50, 70],
    "iodepth": [1, 32, 256, 1024],
}


def point() -> None:
    """Measure the time from the start of the first point to the end of the last, minus the time that fio itself took
    according to guard's clock."""
    with limited(64, riops=20_000) as (loop, _):
        config = {
            "file_names": str(loop.path), "rw": "randread", "iodepth": 8, "numjobs": 1, "duration": "1s",
            "engine": "libaio",
        }  # fmt: skip
        run = applied({"uses": "storage-fio", "config": config, "sweep": {"seed": list(range(1, POINTS + 1))}})
        options = {
            "rw": "randread", "bs": "4096", "iodepth": "8", "direct": "1", "ioengine": "libaio", "runtime": "1",
            "time_based": "1",
        }  # fmt: skip
        hand = [timed(lambda: by_hand(loop.path, **options)) for _ in range(POINTS)]
    programs = [_program_s(path) for path in run.glob("jobs/local/bench/*/r1/stdout")]
    cost = (_span_s(run) - sum(programs)) / len(programs) * 1000
    show(f"harness cost of a point, {len(programs)} points", "under 150 ms", f"{cost:.0f} ms", cost < 150)
    beside = (statistics.median(programs) - statistics.median(hand)) * 1000
    note(f"fio itself took {beside:+.0f} ms below guard against by hand (medians; noise of fio's start)")


def _span_s(run: Path) -> float:
    """Return the time from the start of the first point to the end of the last, according to the journal."""
    events = [json.loads(line) for line in (run / "journal.jsonl").read_text().splitlines()]
    times = [datetime.fromisoformat(event["at"]) for event in events if event["t"] in ("point-started", "point-ended")]
    return (times[-1] - times[0]).total_seconds()


def _program_s(stdout: Path) -> float:
    """Return how long the program that guard started ran."""
    lines = [json.loads(line) for line in stdout.read_text().splitlines()]
    [end] = [line for line in lines if line["t"] == "exit"]
    return float(end["ended_ns"] - end["started_ns"]) / 1e9


def matrix() -> None:
    """Measure 64 points of 1 s, including the start, the creation of the file and the report, on this machine and over
    ssh to it. Compare each with the same fio jobs in a shell script."""
    config = {"rw": "randrw", "numjobs": 1, "duration": "1s", "filesize": "256M"}
    entry = {"uses": "storage-fio", "config": config, "sweep": MATRIX}
    with fleet(1) as made:
        for name, hosts in (("local", None), ("ssh to loopback", made.hosts())):
            ratios = [_ratio(name, entry, hosts) for _ in range(ROUNDS)]
            seen = statistics.median(ratios)
            show(f"a matrix of 64 points of 1 s, {name}", "under 1.05 times its fio jobs", f"{seen:.3f}", seen < 1.05)


def _ratio(name: str, entry: Mapping[str, Any], hosts: Mapping[str, Any] | None) -> float:
    """Return the duration of a run relative to that of its fio jobs alone, which are run right after it."""
    started = time.perf_counter()
    run = applied(entry, hosts=hosts)
    ours, alone = time.perf_counter() - started, timed(lambda: _fio_alone(run))
    note(f"{name}: asct {ours:.1f} s, the script {alone:.1f} s, ratio {ours / alone:.3f}; {_parts(run)}")
    return ours / alone


def _parts(run: Path) -> str:
    """Describe how the time of a run was spent, according to its journal and guard's clock."""
    programs = [_program_s(path) for path in run.glob("jobs/*/bench/*/r1/stdout")]
    idle = (_span_s(run) - sum(programs)) / len(programs) * 1000
    return f"of a point fio takes {sum(programs) / len(programs) * 1000:.0f} ms, all else {idle:.0f} ms"


def _fio_alone(run: Path) -> None:
    """Create the file and run the fio jobs of a run, one after another, in a shell script that does nothing else."""
    folder = scratch()
    scratch_file = folder / "scratch.dat"
    lines = ["set -e"]
    for number, source in enumerate(sorted(run.glob("jobs/*/bench/*/job.fio")) + sorted(run.glob(_JOB_FILES))):
        text = source.read_text()
        if not number:
            text = re.sub(r"(?m)^filename=.*$", f"filename={scratch_file}", text)
        (folder / f"{number}.fio").write_text(text)
        handle = "" if not number else f"{FIRST_HANDLE}<>{scratch_file}"
        lines.append(f"fio --output-format=json+ --output={number}.json --eta=never {number}.fio {handle}")
    subprocess.run(["bash", "-c", "\n".join(lines)], cwd=folder, check=True, capture_output=True)


ROWS: dict[str, Callable[[], None]] = {"point": point, "matrix": matrix}
