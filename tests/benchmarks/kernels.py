"""Run the steps of a benchmark on this machine, with the real kernels (which are built first) or with its tools."""

from __future__ import annotations

import atexit
import os
import shutil
import subprocess
import tempfile
import time
from collections.abc import Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any

from asct.sdk.benchmark import Benchmark, Context
from asct.sdk.facts import Cache, Cpu, HostFacts
from asct.sdk.params import Params
from asct.sdk.record import Measurement, Scalar
from asct.sdk.step import Kernel, Output, Step

SOURCES = Path(__file__).parents[2] / "kernels"


@cache
def built(name: str) -> Path:
    """Return the kernel, built by its own Makefile in a folder that is deleted when the process ends."""
    folder = tempfile.mkdtemp(prefix="asct-kernels-")
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    subprocess.run(["make", "-s", "-C", str(SOURCES), f"O={folder}", name], check=True, capture_output=True)
    return Path(folder) / name


def run_step(step: Step) -> Output:
    """Run the step as one process, without any transport."""
    program = built(step.program.name) if isinstance(step.program, Kernel) else step.program.name
    started = time.monotonic_ns()
    done = subprocess.run([program, *step.arguments], capture_output=True, text=True, check=False)
    elapsed = time.monotonic_ns() - started
    return Output(step, done.returncode, {"stdout": done.stdout, "stderr": done.stderr}, elapsed)


def run_all(
    benchmark: Benchmark[Any], params: Params, facts: HostFacts, needs: Mapping[str, Scalar] | None = None
) -> list[Output]:
    """Run one repeat: call `steps` until there are no more steps. `needs` contains the results of other jobs, keyed by
    `alias.path`."""
    done: list[Output] = []
    while steps := benchmark.steps(params, Context(facts, "/var/tmp/asct", tuple(done), needs or {})):
        done += [run_step(step) for step in steps]
    return done


def measured_here(benchmark: Benchmark[Any], params: Params) -> Sequence[Measurement]:
    """Run one repeat, which must succeed, and return its values."""
    outputs = run_all(benchmark, params, facts_here())
    assert not any(output.status for output in outputs), outputs[-1].stderr
    return benchmark.parse(params, outputs, facts_here())


def facts_here() -> HostFacts:
    """Return the CPUs and caches of this machine, which are the only facts that memory benchmarks use."""
    allowed = sorted(os.sched_getaffinity(0))
    return HostFacts(
        schema="asct.facts/1",
        host="local",
        collected_at="2026-11-21T00:00:00Z",
        cpu=Cpu(allowed=allowed, online=allowed),
        caches=_caches(allowed[0]),
    )


def _caches(cpu: int) -> list[Cache]:
    found = []
    for folder in sorted(Path(f"/sys/devices/system/cpu/cpu{cpu}/cache").glob("index*")):
        kind, size = (folder / "type").read_text().strip(), (folder / "size").read_text().strip()
        shared = _cpus((folder / "shared_cpu_list").read_text().strip())
        level = int((folder / "level").read_text())
        found.append(Cache(level=level, type=kind, size_bytes=int(size.rstrip("K")) * 1024, shared_cpus=shared))
    return found


def _cpus(text: str) -> Sequence[int]:
    ends = [part.split("-") for part in text.split(",") if part]
    return [cpu for part in ends for cpu in range(int(part[0]), int(part[-1]) + 1)]
