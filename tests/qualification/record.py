"""Record the testdata of the qualification benchmarks again: `python -m tests.qualification.record [CASE...]`.

This requires root, for a loop device that is limited by the Linux kernel's block throttle. The limits are low, so that
a few requests with short histograms are sufficient as testdata.
"""

from __future__ import annotations

import json
import sys
import tempfile
from pathlib import Path
from typing import Any

from asct.registry import Registry
from asct.sdk.guard import Consent
from tests.disks.loop import loop_device, throttle
from tests.fio.record import FOLDER, document_of
from tests.fio.running import run_points
from tests.qualification.test_disks import facts

LOW = {"riops": 200, "wiops": 100}
SHORT = {"round_time": 0.6, "window": 2, "numjobs": 1, "iodepth": 2, "rounds_max": 3}
BRIEF = {**SHORT, "profile": "fast", "precondition": 1}
CASES: dict[str, dict[str, dict[str, Any]]] = {
    "storage-iops": {
        "pts": {"block_sizes": "4K,64K", "mixes": "100,65,0", "dependent": "4K:0,64K:65", "steady_volume": 2, **SHORT},
        "fast": {"profile": "fast", "block_sizes": "4K", "mixes": "100,0", "dependent": "4K:0", **SHORT},
        "not-steady": {"block_sizes": "4K", "mixes": "0", "dependent": "4K:0", "steady_volume": 50, **SHORT},
    },
    "storage-latency": {
        "pts": {"block_sizes": "4K,512", "mixes": "100,65,0", "response_time": 1.0, **SHORT, "iodepth": 1},
    },
    "storage-throughput": {
        "pts": {"block_sizes": "64K,16K", **SHORT},
        "fast": {"profile": "fast", "block_sizes": "64K,16K", **SHORT},
    },
    "storage-write-saturation": {
        "volume": {"volume_factor": 0.12, "histogram_time": 0.6, **SHORT},
        "steady": {"profile": "fast", "rw": "rw", "rwmixread": 50, "steady_volume": 0.05, "histogram_time": 0, **SHORT},
    },
    "storage-recovery": {
        "idle": {"test": "idle", "waits": "1s,2s", "bursts": 3, "burst_time": 0.5, "baseline_time": 2, **BRIEF},
        "stimulus": {"test": "stimulus", "sequential_time": 1.5, "random_time": 0.6, **BRIEF},
        "demand": {
            "test": "demand", "threads": "1,2", "depths": "1,2", "prewrite_time": 0.3, "settle_time": 0.3,
            "histogram_time": 0.6, "latency_bound": "25ms", **BRIEF,
        },
    },
    "storage-composite-workload": {
        "fast": {
            "threads": "1,2", "depths": "2", "prewrite_time": 0.3, "settle_time": 0.3, "histogram_time": 0.6,
            "latency_bound": "25ms", "matrix_rounds": 2, "excursion": 50, "slope": 50, **BRIEF,
        },
    },
    "storage-streams": {
        "pts": {**SHORT, "streams": "SEQ 64K W, RND 4K W", "steady_volume": 0},
        "fast": {**BRIEF, "streams": "SEQ 16K W Q1, RND 4K R", "excursion": 100, "slope": 100},
    },
    "storage-hdd": {
        "written": {
            "zones": 4, "duration": 0.4, "block_sizes": "4K", "sequential_block_sizes": "64K", "mixes": "100,50",
        },
        "read-only": {"zones": 2, "duration": 0.4, "block_sizes": "16K", "test": "iops", "write": False},
    },
}  # fmt: skip


def main(wanted: list[str]) -> None:
    for benchmark_name, cases in CASES.items():
        for case, settings in cases.items():
            if not wanted or case in wanted:
                record(benchmark_name, case, settings)


def record(benchmark_name: str, case: str, settings: dict[str, Any]) -> None:
    """Record one repeat on a separate device."""
    benchmark = Registry().get(benchmark_name)
    assert benchmark is not None
    with tempfile.TemporaryDirectory(dir="/var/tmp") as name, loop_device(Path(name), 8) as loop, throttle(loop, **LOW):
        target = str(loop.path)
        own = settings | {"file_names": target}
        consents = {target: Consent(target, str(loop.backing))}
        [(outputs, measured)] = run_points(benchmark, [benchmark.params_model(**own)], Path(name), facts(), consents)
    document = document_of(own, facts(), outputs, measured)
    path = FOLDER / benchmark_name.replace("-", "_") / "testdata" / f"{case}.json"
    path.parent.mkdir(exist_ok=True)
    path.write_text(json.dumps(document, indent=1) + "\n")


if __name__ == "__main__":
    main(sys.argv[1:])
