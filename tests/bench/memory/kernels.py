"""Run asct's kernels directly, and return their samples and the values of one round."""

from __future__ import annotations

import json
import os
import subprocess
import time
from dataclasses import dataclass
from typing import Any

from tests.benchmarks.kernels import SOURCES, built


@dataclass(frozen=True)
class Taken:
    """The output of a kernel, and the time that the kernel took."""

    lines: list[dict[str, Any]]
    seconds: float

    @property
    def samples(self) -> list[dict[str, Any]]:
        return [line for line in self.lines if line["t"] == "sample"]

    @property
    def meta(self) -> dict[str, Any]:
        return self.lines[0]


def kernel(name: str, *arguments: str) -> Taken:
    """Run a kernel to its end. Raises RuntimeError with its error message, and LookupError if there is no such
    kernel."""
    if not (SOURCES / name).is_dir():
        raise LookupError(f"there is no kernel {name}")
    program = built(name)
    started = time.perf_counter()
    done = subprocess.run([program, *arguments], capture_output=True, text=True, check=False, env=dict(os.environ))
    seconds = time.perf_counter() - started
    if done.returncode != 0:
        raise RuntimeError(f"{name} {' '.join(arguments)} ended with {done.returncode}: {done.stderr.strip()}")
    return Taken([json.loads(line) for line in done.stdout.splitlines()], seconds)


def bandwidth_sample(size: int, traffic: str, cpus: list[int]) -> dict[str, Any]:
    """Return the sample of the best `stream` variant for one size (bytes per thread) and kind of traffic."""
    taken = kernel("stream", "--cpus", ",".join(map(str, cpus)), "--sizes", str(size), "--traffic", traffic)
    (best,) = [sample for sample in taken.samples if sample["best"]]
    return best
