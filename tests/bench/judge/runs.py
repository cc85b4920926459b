"""The plan whose results are judged, and its runs."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[3]
_PLAN = """\
plan: 1
name: judge
benchmarks:
  - {{id: cache, uses: idle-latency, config: {{data_size: 256KiB, visits: 12}}}}
  - {{id: memory, uses: idle-latency, config: {{data_size: 64MiB, visits: 12}}}}
  - {{id: cores, uses: core-to-core-latency, config: {{methods: [token], visits: 12}}}}
  - {{id: bandwidth, uses: bandwidth-sweep, config: {{sizes: [16KiB, 256KiB], visits: 12}}}}
  - id: storage
    uses: storage-fio
    repeats: 8
    config: {{file_names: {device}, rw: randread, numjobs: 1, iodepth: 4, engine: libaio, duration: 1s}}
baseline: {{run: golden}}
expect:
  - {{metric: "*", versus: baseline, no_worse_than: 3%, if_missing: warn}}
"""


def apply(results: Path, device: Path, checkout: Path = ROOT) -> tuple[int, Path]:
    """Apply the plan with `device` as its drive and the asct in `checkout`. Return the exit code and the folder of the
    run."""
    results.mkdir(parents=True, exist_ok=True)
    (results / "judge.yaml").write_text(_PLAN.format(device=device))
    ended = subprocess.run(
        [sys.executable, "-m", "asct", "apply", "judge.yaml", "--results", str(results), "--wait", "10m", "-q"],
        cwd=results, env={**os.environ, "PYTHONPATH": str(checkout)}, capture_output=True, text=True, check=False,
    )  # fmt: skip
    if ended.returncode not in (0, 1, 3):
        raise RuntimeError(f"asct apply ended with {ended.returncode}:\n{ended.stderr}")
    return ended.returncode, (results / "judge" / "latest").resolve()


def label(results: Path, run: Path, name: str = "golden") -> None:
    """Label a run, so that the plan uses it as its baseline."""
    arguments = ["results", "label", f"judge/{run.name}", name, "--results", str(results)]
    subprocess.run([sys.executable, "-m", "asct", *arguments], cwd=ROOT, check=True, capture_output=True)
