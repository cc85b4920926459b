"""Plans, benchmarks and services for tests of the engine, with real processes on this machine and synthetic facts."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from asct.diagnostics.model import Diagnostic
from asct.engine.events import Event
from asct.engine.options import RunOptions
from asct.engine.run import apply, finish_run
from asct.engine.services import RunContext, Services
from asct.engine.stop import StopRequest, signals
from asct.errors import NotMeasured
from asct.hosts.base import Host
from asct.hosts.factory import make_host
from asct.plan.model import HostSpec, ReportSpec, Safety
from asct.planner.model import Job, Point, ResolvedPlan
from asct.sdk.benchmark import Benchmark, Context, ResultField
from asct.sdk.facts import Cpu, HostFacts, Memory, System, ToolFact
from asct.sdk.metric import Metric
from asct.sdk.needs import Needs, Scratch
from asct.sdk.params import Params, setting
from asct.sdk.record import Measurement, Scalar
from asct.sdk.step import Companion, Kernel, Output, Step, Tool
from asct.store.reader import StoredRun, read_run


class ProbeParams(Params):
    script: str = setting("echo 1", "what sh runs")
    index: int = setting(0, "a number to sweep")
    sizes: list[int] = setting([], "a list to sweep")
    more: tuple[str, ...] = setting((), "scripts of further steps")
    memory: int = setting(0, "bytes needed")
    scratch: int = setting(0, "bytes of scratch")
    reads: str = setting("", "a file that is read")
    writes: str = setting("", "a file that is written")
    overwrite: bool = setting(False, "leave to overwrite")
    beside: str = setting("", "script of a companion")


class Probe(Benchmark[ProbeParams]):
    """Runs shell scripts. Each line of the last output is a value; `noisy 3` is a value with a flag, and `detail:noisy
    3` a detail."""

    name = "probe"
    title = summary = "probe"
    version = "1"
    params_model = ProbeParams
    metrics = (Metric("value", "1", "neither", "what was printed"),)
    results = (ResultField("best", "1", "the first value", 1.0),)
    tool = ("sh", "")

    def needs(self, params: ProbeParams, facts: HostFacts | None) -> Needs:
        return Needs(
            tools=(self.tool,),
            memory_bytes=params.memory,
            scratch=Scratch("scratch", params.scratch) if params.scratch else None,
            seconds=0.5,
            writes_bytes=((params.writes, 10),) if params.writes else (),
            targets=tuple(path for path in (params.reads, params.writes) if path),
            may_overwrite=params.overwrite,
        )

    def prepare(self, points: Sequence[ProbeParams], context: Context) -> Sequence[Step]:
        if not points[0].scratch:
            return ()
        return (Step("layout", Tool("sh"), ("-c", f"echo full > {context.work}/scratch")),)

    def steps(self, params: ProbeParams, context: Context) -> Sequence[Step]:
        scripts = (params.script.replace("@WORK@", context.work), *params.more)
        number = len(context.done)
        if number >= len(scripts):
            return ()
        beside = (Companion(Tool("sh"), ("-c", params.beside), "beside.txt"),) if params.beside else ()
        name = "probe" if number == 0 else "again"
        return (Step(name, Tool("sh"), ("-c", scripts[number]), collect=("kept",), companions=beside),)

    def parse(self, params: ProbeParams, outputs: Sequence[Output], facts: HostFacts) -> Sequence[Measurement]:
        found = []
        for line in outputs[-1].stdout.splitlines():
            word, _, rest = line.partition(" ")
            flag = word.removeprefix("detail:")
            found.append(Measurement("value", float(rest or word), flags=(flag,) if rest else (), detail=flag != word))
        return found

    def export(self, measurements: Sequence[Measurement]) -> Mapping[str, Scalar]:
        return {"best": measurements[0].value}


class KernelParams(Params):
    status: int = setting(0, "what it ends with")
    end: str = setting('{"t":"end","ok":true}', "its last line")


class KernelProbe(Benchmark[KernelParams]):
    """Runs the fake kernel."""

    name = "kernel-probe"
    title = summary = "kernel"
    version = "1"
    params_model = KernelParams
    metrics = (Metric("value", "s", "lower", "a value"),)

    def needs(self, params: KernelParams, facts: HostFacts | None) -> Needs:
        return Needs(kernels=("fake",))

    def steps(self, params: KernelParams, context: Context) -> Sequence[Step]:
        return () if context.done else (Step("fake", Kernel("fake"), (str(params.status), params.end)),)

    def parse(self, params: KernelParams, outputs: Sequence[Output], facts: HostFacts) -> Sequence[Measurement]:
        return (Measurement("value", 1e-9),)


FAKE_KERNEL = """#!/bin/sh
echo '{"t":"meta"}'
echo "what the kernel says" >&2
case $1 in
segv) kill -SEGV $$ ;;
esac
[ -n "$2" ] && echo "$2"
exit "$1"
"""


@dataclass
class Shelf:
    """A catalog of the given benchmarks."""

    benchmarks: Sequence[Benchmark[Any]] = (Probe(), KernelProbe())

    def names(self) -> list[str]:
        return sorted(item.name for item in self.benchmarks)

    def get(self, name: str) -> Benchmark[Any] | None:
        return next((item for item in self.benchmarks if item.name == name), None)


@dataclass(frozen=True)
class FakeBuilt:
    path: str
    compiler: str = "sh"
    flags: tuple[str, ...] = ()
    sha256: str = "0" * 64
    cached: bool = False


def facts(host: Host, _folder: Path) -> HostFacts:
    return HostFacts(
        host=host.name,
        collected_at="2026-11-21T04:28:13Z",
        system=System(kernel="6.1"),
        cpu=Cpu(cpus=2, model="Test CPU"),
        memory=Memory(total_bytes=8 << 30, available_bytes=4 << 30),
        tools={"sh": ToolFact(path="/bin/sh")},
        work_free_bytes=10 << 30,
    )


def provide(host: Host, kernel: str, _facts: HostFacts, _folder: Path) -> FakeBuilt:
    if kernel != "fake":
        raise NotMeasured(Diagnostic("E401", f"{kernel} cannot be built", hint="install gcc"))
    path = f"{host.work}/fake-kernel"  # the cache is shared by tests that run side by side
    host.execute(["sh", "-c", 'cat >"$1" && chmod 700 "$1"', "sh", path], stdin=FAKE_KERNEL)
    return FakeBuilt(path)


def collaborators(**changed: Any) -> Services:
    ports: dict[str, Any] = {
        "catalog": Shelf(),
        "make_host": make_host,
        "collect_facts": facts,
        "provide": provide,
    }
    return Services(**{**ports, **changed})


def point(benchmark: str = "probe", swept: Sequence[str] = (), **settings: Any) -> Point:
    text = json.dumps([benchmark, {key: str(value) for key, value in settings.items()}], sort_keys=True)
    identity = hashlib.sha256(text.encode()).hexdigest()[:12]
    return Point(identity, {name: settings[name] for name in swept}, settings)


def job(*points: Point, name: str = "a", host: str = "local", benchmark: str = "probe", **fields: Any) -> Job:
    return Job(id=name, benchmark=benchmark, version="1", host=host, points=points or (point(),), **fields)


def kernel_job(**settings: Any) -> Job:
    return job(point("kernel-probe", **settings), benchmark="kernel-probe")


def plan(
    *jobs: Job, workdir: Path | str, hosts: Mapping[str, HostSpec] | None = None, name: str = "test"
) -> ResolvedPlan:
    specs = hosts or {job.host: HostSpec(job.host, workdir=str(workdir)) for job in jobs}
    digest = hashlib.sha256(repr(jobs).encode()).hexdigest()
    return ResolvedPlan(
        name=name, description="", path="", text="plan: 1\n", hash=digest, hosts=specs, jobs=jobs, checks=(),
        report=ReportSpec(), safety=Safety(),
    )  # fmt: skip


@dataclass
class Done:
    """A finished run."""

    outcome: RunContext
    code: int
    events: list[Event]
    stored: StoredRun = field(init=False)

    def __post_init__(self) -> None:
        self.stored = read_run(self.outcome.writer.layout.root)

    def codes(self) -> list[str]:
        """Return the codes of the findings in order. E432 is omitted, because it only means that the test machine is
        busy."""
        return [diagnostic.code for _, diagnostic in self.outcome.events.findings if diagnostic.code != "E432"]

    def status(self, job_id: str = "a", number: int = 0, repeat: int = 1, host: str = "local") -> Any:
        chosen = next(job for job in self.outcome.plan.jobs if job.id == job_id and job.host == host)
        folder = self.stored.layout.repeat(host, job_id, chosen.points[number].id, repeat)
        return self.stored.status(folder)

    def values(self) -> list[float]:
        return [record.value for record in self.stored.records()]


def run(results: Path, resolved: ResolvedPlan, ports: Services | None = None, **options: Any) -> Done:
    events: list[Event] = []
    resume = options.pop("resume", None)
    listeners = [events.append, *options.pop("listeners", ())]
    chosen = RunOptions(results=results, **options)
    stop = StopRequest()
    with signals(stop):
        outcome = apply(resolved, chosen, ports or collaborators(), listeners, resume, stop)
        return Done(outcome, finish_run(outcome), events)
