"""Write results trees of synthetic runs within seconds, without measuring: `python -m tests.browser.trees NAME FOLDER`.

A tree comes from a real plan, which the real planner resolves. The values of its points are synthetic or parsed from
recorded outputs; the real code converts them to records and judges them. The same name always results in the same
files.
"""

from __future__ import annotations

import json
import sys
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from functools import partial
from pathlib import Path
from typing import Any, Final

from asct.analysis.agreement import agreed
from asct.analysis.baseline import find_baseline
from asct.analysis.expectations import judge, with_units
from asct.analysis.groups import gather
from asct.analysis.losses import losses_of
from asct.diagnostics.model import Diagnostic
from asct.engine.events import EventBus, PointEnded
from asct.engine.failures import judged
from asct.engine.run import exit_code
from asct.engine.values import adjusted, records_of
from asct.plan.load import load_plan, variants
from asct.plan.model import PendingValue
from asct.planner.freeze import freeze
from asct.planner.model import Job, Point, ResolvedPlan
from asct.planner.resolve import resolve
from asct.registry import installed
from asct.sdk.benchmark import Benchmark
from asct.sdk.disturbance import Disturbances
from asct.sdk.record import Measurement, Record
from asct.store.layout import run_id
from asct.store.model import (
    CommandDocument,
    HostEntry,
    HostVerdict,
    JobEntry,
    Moment,
    PointStatus,
    Reason,
    Run,
    Status,
    Telemetry,
)
from asct.store.reader import read_run
from asct.store.writer import RunWriter
from tests.browser.machines import LARGE, SERVER, SMALL, Shape, facts
from tests.browser.memory_values import chance, memory_values
from tests.browser.storage_values import brief, storage_values
from tests.export.sample import disturbances

PLANS = Path(__file__).parents[2] / "plans"
STARTED: Final = datetime(2026, 11, 21, 4, 28, 13, tzinfo=UTC)
_PROGRAMS = {
    "core-to-core-latency": "pingpong", "latency-sweep": "chase", "idle-latency": "chase", "loaded-latency": "load",
}  # fmt: skip
_FLEET = 'hosts:\n  defaults: {{transport: ssh, user: bench}}\n  "n[{first}:{last}]": {{address: 192.0.2.7}}\n'


@dataclass(frozen=True)
class Tree:
    """The properties of a run: its plan, its machines, and what goes wrong.

    `lost` contains the reason why a host supplied no results, keyed by host, and `refused` the reason why a job was not
    started, keyed by `host/id`. `fails` contains the diagnostic of the failed repeats, keyed by job id and the setting
    in which they differ. `busy` contains the hosts on which other programs ran, and `slow` the hosts that take longer
    than others by these factors. `base` is written before the run, as a baseline with this label.
    """

    about: str
    plan: str
    shape: Shape = SMALL
    lost: Mapping[str, Diagnostic] = field(default_factory=dict)
    refused: Mapping[str, Diagnostic] = field(default_factory=dict)
    fails: Mapping[tuple[str, str, Any], Diagnostic] = field(default_factory=dict)
    busy: tuple[str, ...] = ()
    slow: Mapping[str, float] = field(default_factory=dict)
    brief: bool = False
    base: str = ""
    disturbed: bool = True


def _plan(name: str, more: str = "", **replaced: str) -> str:
    """Return a plan that comes with asct, with `more` appended and some texts replaced."""
    text = (PLANS / f"{name}.yaml").read_text(encoding="utf-8")
    for old, new in replaced.items():
        text = text.replace(old, new)
    return text + more


_MEMORY_GATE = """
expect:
  - {metric: latency-sweep.latency, at: {level: DRAM}, max: 190 ns, reference: 165 ns}
  - {metric: peak-bandwidth.bandwidth, at: {traffic: all-reads}, min: 120 GB/s, reference: 204.8 GB/s}
  - {metric: loaded-latency.latency_at_80, max: 500 ns, severity: warn}
  - {metric: latency-sweep.latency, at: {level: DRAM}, versus: baseline, no_worse_than: 5%, severity: warn}
  - {metric: peak-bandwidth.bandwidth, versus: baseline, no_worse_than: 2%, severity: warn}
baseline: {run: golden}
"""
_STORAGE_GATE = """
expect:
  - {metric: depths.read_iops, at: {iodepth: 32}, min: 300k, reference: 550k}
  - {metric: sizes.read_bandwidth, at: {block_size: 128K}, reference: 3.2 GB/s}
  - {metric: depths.clat_p99, at: {iodepth: 1}, max: 400 us}
"""
_LARGE_STUDY = """plan: 1
name: five-thousand
description: Request size x read share x queue depth in 5,000 points
limits: {points: 6000}
benchmarks:
  - id: matrix
    uses: storage-fio
    config: {rw: randrw, numjobs: 1, duration: 5s, filesize: 2G}
    sweep:
      block_size: [512, 1K, 2K, 4K, 8K, 16K, 32K, 64K, 128K, 256K]
      rwmixread: {from: 0, to: 90, step: 10}
      iodepth: {from: 1, to: 50, step: 1}
"""
_QUALIFICATION = """  - id: recovery
    uses: storage-recovery
    sweep: {file_names: "${vars.target}"}
    config: {test: demand, profile: fast}
  - id: idle
    uses: storage-recovery
    sweep: {file_names: "${vars.target}"}
    config: {test: idle, profile: fast}
  - id: stimulus
    uses: storage-recovery
    sweep: {file_names: "${vars.target}"}
    config: {test: stimulus, profile: fast}
  - id: composite
    uses: storage-composite-workload
    sweep: {file_names: "${vars.target}"}
    config: {profile: fast}
  - id: streams
    uses: storage-streams
    sweep: {file_names: "${vars.target}"}

profiles:"""
_FAILURES = """plan: 1
name: failures
description: A run in which much goes wrong
hosts:
  defaults: {transport: ssh, user: bench}
  alpha: {address: 192.0.2.11}
  beta: {address: 192.0.2.12}
  gamma: {address: 192.0.2.13}
benchmarks:
  - latency-sweep
  - peak-bandwidth
  - {id: depths, uses: storage-io-depth-sweep, repeats: 3, config: {duration: 2s, filesize: 512M}}
  - {id: patterns, uses: storage-access-pattern-sweep, config: {duration: 2s, filesize: 512M}}
expect:
  - {metric: latency-sweep.latency, at: {level: DRAM}, max: 150 ns}
  - {metric: depths.read_iops, at: {iodepth: 8}, min: 900k}
  - {metric: depths.read_iops, at: {iodepth: 64}, min: 100k}
  - {metric: peak-bandwidth.bandwidth, at: {traffic: all-reads}, min: 20 GB/s}
  - {metric: patterns.write_iops, at: {rw: randwrite}, min: 10k, severity: warn}
"""
_CPUS = """plan: 1
name: cpus
description: Memory of a server with 192 CPUs
benchmarks:
  - latency-sweep
  - idle-latency
  - loaded-latency
  - {id: core-to-core-latency, uses: core-to-core-latency, config: {all_cpus: true, methods: [cas], memory_nodes: [0]}}
  - cross-numa-bandwidth
  - peak-bandwidth
"""
_FLEET_BENCHMARKS = (
    "plan: 1\nname: {name}\ndescription: {count} hosts of one rack\n"
    + _FLEET
    + (
        "benchmarks:\n  - latency-sweep\n  - peak-bandwidth\n"
        "  - {{id: depths, uses: storage-io-depth-sweep, config: {{duration: 2s, filesize: 512M}}}}\n"
        "expect:\n  - {{metric: latency-sweep.latency, at: {{level: DRAM}}, max: 250 ns}}\n"
        "  - {{metric: peak-bandwidth.bandwidth, at: {{traffic: all-reads}}, min: 40 GB/s}}\n"
    )
)


def _unreachable(host: str) -> Diagnostic:
    message = f"{host}: connection to 192.0.2.13 port 22 timed out after 10 s"
    return Diagnostic("E301", message, hint="check the address and the firewall")


_FULL_DISK = Diagnostic(
    "E601", "fio ended with exit status 1: No space left on device", hint="free some space in the work folder"
)
_REFUSED = Diagnostic(
    "E424", "beta: /dev/nvme0n1 is mounted at /", hint="choose another device, or unmount it"
)  # fmt: skip
TREES: Final[Mapping[str, Tree]] = {
    "quickstart": Tree("the first run on a virtual machine", _plan("quickstart")),
    "memory": Tree(
        "all memory benchmarks on two nodes, with bounds, references and a baseline", _plan("memory", _MEMORY_GATE),
        SERVER, base="golden",
    ),
    "storage": Tree("the four storage sweeps, with bounds", _plan("storage", _STORAGE_GATE), SERVER),
    "points-64": Tree("request size x read share x queue depth", _plan("seeds/fio-matrix"), SERVER),
    "points-5000": Tree("the same in 5,000 points", _LARGE_STUDY, SERVER, brief=True),
    "qualification": Tree(
        "every test of a drive in its steady state", _plan("seeds/tkperf", **{"profiles:": _QUALIFICATION}), SERVER
    ),
    "failures": Tree(
        "failures and refusals", _FAILURES, lost={"gamma": _unreachable("gamma")}, refused={"beta/patterns": _REFUSED},
        fails={("depths", "iodepth", 64): _FULL_DISK, ("patterns", "rw", "randwrite"): _FULL_DISK}, busy=("beta",),
    ),
    "hosts-3": Tree("three hosts", _FLEET_BENCHMARKS.format(name="three", count=3, first=1, last=3), busy=("n2",)),
    "hosts-100": Tree(
        "a hundred hosts", _FLEET_BENCHMARKS.format(name="hundred", count=100, first="001", last="100"),
        busy=("n042", "n077"), slow={"n042": 1.5, "n088": 1.3}, lost={"n013": _unreachable("n013")},
    ),
    "cpus-192": Tree("a server with 192 CPUs", _CPUS, LARGE),
}  # fmt: skip


def write_tree(name: str | Tree, results: Path) -> Path:
    """Write the run of this name below `results`, and return its folder."""
    tree = TREES[name] if isinstance(name, str) else name
    if tree.base:
        _write(tree, results, label=tree.base, slow=0.97, started=STARTED - timedelta(days=1))
    return _write(tree, results)


def _resolved(tree: Tree) -> ResolvedPlan:
    loaded = load_plan(Path("plan.yaml"), text=tree.plan)
    assert loaded.partial is not None, loaded.diagnostics
    return resolve(loaded.partial, installed(), None, partial(variants, loaded.partial)).required()


def _write(
    tree: Tree, results: Path, *, label: str | None = None, slow: float = 1.0, started: datetime = STARTED
) -> Path:
    resolved = _resolved(tree)
    run = Run(
        run=run_id(started, resolved.hash), plan=resolved.name, description=resolved.description,
        title=resolved.report.title or resolved.name, label=label, plan_hash=resolved.hash, plan_file="plan.yaml",
        tool_version="0.1.0", git_commit="9e21ce706f5a" + "0" * 28, git_dirty=False, started_at=_iso(started),
        command=["asct", "apply", "plan.yaml"],
    )  # fmt: skip
    writer = RunWriter.create(results, run, resolved.text, json.dumps(freeze(resolved), indent=1))
    try:
        scene = _Scene(tree, resolved, writer, slow, started)
        scene.write()
    finally:
        writer.close()
    return writer.layout.root


def _iso(moment: datetime) -> str:
    return moment.isoformat(timespec="milliseconds").replace("+00:00", "Z")


class _Scene:
    """A run while it is written. `clock` is the time within the run."""

    def __init__(self, tree: Tree, resolved: ResolvedPlan, writer: RunWriter, slow: float, started: datetime) -> None:
        self.tree, self.resolved, self.writer, self.slow, self.clock = tree, resolved, writer, slow, started
        self.events = EventBus(writer, ())
        self.catalog = installed()

    def write(self) -> None:
        hosts = [self._host(number, host) for number, host in enumerate(self.resolved.hosts)]
        jobs = [self._job(job) for job in self.resolved.jobs]
        totals: Counter[str] = Counter()
        for job in jobs:
            totals.update(job.counts)
        layout = self.writer.layout
        self.writer.finish(hosts=hosts, jobs=jobs, counts=dict(sorted(totals.items())))
        stored = read_run(layout.root)
        known = stored.facts()
        records, found = agreed(stored.looks()[0], stored.resolved(), known, self.catalog)
        lost = losses_of(self.writer.run, self.resolved, stored.journal)
        name = self.resolved.baseline
        baseline = find_baseline(name, layout.root, self.catalog) if name and not self.writer.run.label else None
        places = gather(records, found)
        checks = [check for check in self.resolved.checks if baseline is not None or check.versus is None]
        verdicts = judge(checks, places, self.writer.run, known, losses=lost, baseline=baseline)
        verdicts = with_units(verdicts, self.writer.run, self.catalog)
        code = exit_code(jobs, verdicts)
        self.writer.finish(
            verdicts=verdicts, exit_code=code, ended_at=_iso(self.clock),
            status="incomplete" if code in (3, 4) else "complete",
            findings=[{**item.to_json(), "host": host} for host, item in self.events.findings],
        )  # fmt: skip
        self.writer.seal()

    def _host(self, number: int, host: str) -> HostEntry:
        spec = self.resolved.hosts[host]
        lost = self.tree.lost.get(host)
        if lost is not None:
            self.events.notice(host, lost)
            return HostEntry(name=host, transport=spec.transport, address=spec.address, status="unreachable",
                             reason=lost.cause)  # fmt: skip
        layout = self.writer.layout
        known = facts(host, self.tree.shape)
        self.writer.document(layout.facts(host), known)
        busy = number % 4 == 0 and self.tree.disturbed
        self.writer.document(layout.disturbances(host), disturbances(host) if busy else Disturbances(host=host))
        description = f"{known.cpu.model}, {known.cpu.cpus} CPUs"
        return HostEntry(
            name=host, transport=spec.transport, address=spec.address, status="ok", description=description
        )

    def _job(self, job: Job) -> JobEntry:
        entry = JobEntry(
            id=job.id, benchmark=job.benchmark, version=job.version, host=job.host, points=len(job.points),
            repeats=job.repeats, reason=job.reason, strict=job.strict,
        )  # fmt: skip
        refused, lost = self.tree.refused.get(job.key), self.tree.lost.get(job.host)
        if refused is not None or lost is not None:
            if refused is not None:
                self.events.notice(job.host, refused)
            cause = (refused or lost or _REFUSED).cause
            return entry.model_copy(update={"note": cause, "refused": refused is not None})
        benchmark = self.catalog.get(job.benchmark)
        assert benchmark is not None
        before, ended = self.clock, list(self._repeats(job, benchmark))
        states = Counter(state.state for _, state in ended)
        return entry.model_copy(
            update={
                "counts": dict(Counter(status for status, _ in ended)),
                "elapsed_s": (self.clock - before).total_seconds(),
                "host_states": dict(states),
                "host_reasons": {"others": states["noisy"]} if states["noisy"] else {},
            }
        )

    def _repeats(self, job: Job, benchmark: Benchmark[Any]) -> Iterator[tuple[PointStatus, HostVerdict]]:
        for repeat in range(1, job.repeats + 1):
            for point in job.points:
                yield self._repeat(job, benchmark, point, repeat)

    def _repeat(
        self, job: Job, benchmark: Benchmark[Any], point: Point, repeat: int
    ) -> tuple[PointStatus, HostVerdict]:
        folder = self.writer.repeat_folder(self.writer.layout.repeat(job.host, job.id, point.id, repeat))
        settings = {key: value for key, value in point.settings.items() if not isinstance(value, PendingValue)}
        state = self._state(job, point)
        failure = next(
            (found for (job_id, key, value), found in self.tree.fails.items()
             if job_id == job.id and point.swept.get(key) == value), None
        )  # fmt: skip
        values = [] if failure else adjusted(self._values(job, point, settings, repeat), state)
        status, problem = ("failed", failure) if failure else judged(values, strict=job.strict)
        (folder / "stderr").write_text(f"{failure.message}\n" if failure else "")
        (folder / "stdout").write_text("" if failure else '{"t":"end","ok":true}\n')
        swept = dict(point.swept)
        run = self.writer.run
        record_of = partial(
            Record, run=run.run, plan=run.plan, host=job.host, benchmark=job.benchmark, id=job.id, version=job.version,
            point=swept, point_id=point.id, repeat=repeat, raw=self.writer.layout.relative(folder),
        )  # fmt: skip
        elapsed = float(settings.get("duration", 2.0) or 2.0) + 0.4
        document = Status(
            status=status, point_id=point.id, repeat=repeat, started_at=_iso(self.clock), elapsed_s=elapsed,
            flags=sorted({flag for item in values if not item.detail for flag in item.flags}),
            diagnostic=problem.to_json() if problem else None, command=_command(job, settings, swept),
            telemetry=Telemetry(verdict=state, steps=1, elapsed_s=elapsed, before=Moment(), after=Moment()),
        )  # fmt: skip
        self.writer.finish_repeat(folder, document, records_of(values, benchmark, record_of))
        self.clock += timedelta(seconds=elapsed)
        if problem is not None:
            self.events.emit(PointEnded(job.host, job.id, point.id, repeat, status, elapsed, diagnostic=problem))
        return status, state

    def _state(self, job: Job, point: Point) -> HostVerdict:
        if job.host not in self.tree.busy or chance(point.id) < 0.2:
            return HostVerdict(state="stable")
        means = "other programs took CPU time, memory bandwidth and cache"
        reason = Reason(what="others", state="noisy", seen=1.8, limit=0.5, unit="CPUs", means=means)
        return HostVerdict(state="noisy", reasons=[reason])

    def _values(self, job: Job, point: Point, settings: dict[str, Any], repeat: int) -> Sequence[Measurement]:
        number = list(self.resolved.hosts).index(job.host)
        own = self.slow * self.tree.slow.get(job.host, 1.0)
        slow = own * (1.0 + 0.02 * (number % 7) + 0.01 * chance(job.host, job.benchmark))
        seed = (job.host, point.id, repeat, self.slow)
        if job.benchmark.startswith("storage-"):
            values = storage_values(job.benchmark, settings, slow, seed)
            return brief(values) if self.tree.brief else values
        return memory_values(job.benchmark, settings, self.tree.shape, slow, seed)


def _command(job: Job, settings: Mapping[str, Any], swept: dict[str, Any]) -> CommandDocument:
    program = _PROGRAMS.get(job.benchmark, "stream")
    argv = [f"/var/tmp/asct/k/{program}-1f2e", "--cpus", "0-3", "--pages", "thp"]
    if job.benchmark.startswith("storage-"):
        program, argv = "fio", ["/usr/bin/fio", "--output-format=json+", "--output=fio.json", "point.fio"]
    shared = {key: value for key, value in settings.items() if key not in swept}
    steps = [{"name": program, "argv": argv}]
    return CommandDocument(host=job.host, benchmark=job.benchmark, settings=shared, swept=swept, steps=steps)


def main(arguments: Sequence[str]) -> int:
    """Write a tree and print its folder, or list the trees."""
    if len(arguments) != 2 or arguments[0] not in TREES:
        print("usage: python -m tests.browser.trees NAME FOLDER\n")
        print("".join(f"  {name:<14} {tree.about}\n" for name, tree in TREES.items()), end="")
        return 2
    print(write_tree(arguments[0], Path(arguments[1])))
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
