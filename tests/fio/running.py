"""Run the steps of a benchmark on this machine, as a transport would, for tests with the real fio."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import time
from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import cache, partial
from pathlib import Path
from typing import Any

from asct.engine import values
from asct.sdk.benchmark import Benchmark, Context
from asct.sdk.facts import Cpu, HostFacts, ToolFact
from asct.sdk.guard import Consent
from asct.sdk.params import Params
from asct.sdk.record import Measurement, Record
from asct.sdk.step import Kernel, Output, Program, Step
from tests.benchmarks.kernels import built

ENGINES = ["io_uring", "libaio", "psync", "posixaio"]


def facts_here(engines: Sequence[str] = ENGINES, **changes: Any) -> HostFacts:
    """Return the facts of this machine that the storage benchmarks use."""
    tools = {
        name: ToolFact(path=path, version=_version(path), features=list(engines) if name == "fio" else [])
        for name in ("fio", "mpstat")
        if (path := shutil.which(name))
    }
    allowed = sorted(os.sched_getaffinity(0))
    cpu = Cpu(allowed=allowed, online=allowed)
    known = {"tools": tools, "io_uring": True, "work_filesystem": "ext4", "cpu": cpu} | changes
    return HostFacts(host="local", collected_at="2026-11-21T00:00:00Z", **known)


@cache
def _version(path: str) -> str | None:
    done = subprocess.run([path, "--version"], capture_output=True, text=True, check=False)
    return done.stdout.strip() or None


def run_step(step: Step, folder: Path) -> Output:
    """Run one step in a separate folder. Its companions start before the step and receive SIGINT after it."""
    folder.mkdir(parents=True)
    for name, text in step.files.items():
        (folder / name).write_text(text)
    argv = [_path(step.program), *step.arguments]
    companions = []
    for companion in step.companions:
        with (folder / companion.stdout_file).open("w") as target:
            beside = [_path(companion.program), *companion.arguments]
            companions.append(subprocess.Popen(beside, cwd=folder, stdout=target, env=_env(companion.env)))
    started = time.monotonic_ns()
    done = subprocess.run(
        argv,
        cwd=folder,
        env=_env(step.env),
        capture_output=True,
        text=True,
        check=False,
    )
    elapsed = time.monotonic_ns() - started
    for process in companions:
        process.send_signal(signal.SIGINT)
        process.wait()
    files = {name: (folder / name).read_text() for name in step.collect if (folder / name).is_file()}
    return Output(step, done.returncode, files | {"stdout": done.stdout, "stderr": done.stderr}, elapsed)


def _path(program: Program) -> str:
    return str(built(program.name)) if isinstance(program, Kernel) else program.name


def _env(extra: Any) -> dict[str, str]:
    return {"PATH": "/usr/sbin:/usr/bin:/sbin:/bin", **extra}


def run_points(
    benchmark: Benchmark[Any],
    points: Sequence[Params],
    work: Path,
    facts: HostFacts,
    consents: Mapping[str, Consent] | None = None,
) -> list[tuple[list[Output], Sequence[Measurement]]]:
    """Settle the settings and lay out the file, then run and parse every point."""
    points = benchmark.settle(points, facts)
    context = Context(facts, str(work), consents=consents or {})
    for step in benchmark.prepare(points, context):
        output = run_step(step, work / f"prepare-{step.name}")
        assert output.status == 0, output.stderr
    results = []
    for index, point in enumerate(points):
        outputs: list[Output] = []
        while steps := benchmark.steps(point, replace(context, done=tuple(outputs))):
            outputs += [run_step(step, work / f"p{index}-{step.name}") for step in steps]
        results.append((outputs, benchmark.parse(point, outputs, facts)))
    return results


def records_of(
    benchmark: Benchmark[Any], measured: Sequence[tuple[dict[str, Any], Sequence[Measurement]]]
) -> list[Record]:
    """Return records as the engine creates them: the swept settings of each point together with its measurements."""
    record_of = partial(
        Record, run="r", plan="p", host="local", benchmark=benchmark.name, id=benchmark.name,
        version=benchmark.version, repeat=1, raw="jobs/x",
    )  # fmt: skip
    return [
        record
        for index, (point, found) in enumerate(measured)
        for record in values.records_of(found, benchmark, partial(record_of, point=point, point_id=f"{index:012x}"))
    ]
