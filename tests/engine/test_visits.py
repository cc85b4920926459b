"""A failed visit ends its repeat: the host does not run the remaining visits, and later repeats are measured."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest

from asct.engine import events
from asct.engine.events import Event
from asct.engine.rebuild import survey
from asct.hosts.base import Host
from asct.instruments.memory.visits import VisitedBenchmark, VisitedParams
from asct.sdk.benchmark import Context
from asct.sdk.facts import Cpu, HostFacts, Memory, System
from asct.sdk.metric import Metric
from asct.sdk.needs import Needs
from asct.sdk.params import setting
from asct.sdk.record import Measurement, Stats
from asct.sdk.samples import KernelRun
from asct.sdk.step import Output, Step, Tool
from asct.statistics.visits import t_975
from tests.engine import plant
from tests.engine.conftest import Lab
from tests.sshd import Sshd

VISITS = 4
# $1 is a folder, $2 the name of the step; the second visit fails once, and those behind it wait until they may go on
SCRIPT = """
case $2 in
*-visit2) [ -e "$1/failed" ] || { : >"$1/failed"; echo "$2" >>"$1/log"; exit 7; } ;;
*-visit*) until [ -e "$1/go" ]; do sleep 0.05; done ;;
esac
echo "$2" >>"$1/log"
"""


class VisitsParams(VisitedParams):
    folder: str = setting("", "where the log is")


class Visits(VisitedBenchmark[VisitsParams]):
    """A benchmark with one process (a shell) per visit. All of them are announced to the host, because their number is
    set."""

    name = title = summary = "visits"
    version = "1"
    params_model = VisitsParams
    metrics = (Metric("count", "1", "neither", "of visits"),)

    def needs(self, params: VisitsParams, facts: HostFacts | None) -> Needs:
        return Needs(tools=(("sh", ""),), seconds=0.1)

    def processes(self, params: VisitsParams, context: Context) -> Sequence[Step]:
        return [Step("once", Tool("sh"))]

    def steps(self, params: VisitsParams, context: Context) -> Sequence[Step]:
        return [
            Step(step.name, step.program, ("-c", SCRIPT, "sh", params.folder, step.name))
            for step in super().steps(params, context)
        ]

    def values(self, params: VisitsParams, runs: Mapping[str, KernelRun], facts: HostFacts) -> Sequence[Measurement]:
        raise NotImplementedError

    def parse(self, params: VisitsParams, outputs: Sequence[Output], facts: HostFacts) -> Sequence[Measurement]:
        return [Measurement("count", len(outputs))]


@pytest.mark.ssh
def test_the_announced_visits_behind_a_failed_one_are_not_run(lab: Lab, sshd: Sshd) -> None:
    shared = sshd.folder / "account" / "visits"
    shared.mkdir()
    shared.chmod(0o777)

    def release(event: Event) -> None:
        if isinstance(event, events.PointStarted) and event.repeat == 2:
            (shared / "go").touch()

    point = plant.point("visits", folder=str(shared), visits=VISITS)
    job = plant.job(point, benchmark="visits", repeats=2, host="peer")
    resolved = plant.plan(job, workdir=lab.work, hosts={"peer": sshd.spec()})
    ports = plant.collaborators(catalog=plant.Shelf((Visits(),)))
    done = plant.run(lab.results, resolved, ports, listeners=[release])
    assert (done.code, done.stored.run.counts) == (3, {"failed": 1, "ok": 1})
    assert done.values() == [VISITS]
    ran = (shared / "log").read_text().split()
    assert ran == ["once", "once-visit2", "once", "once-visit2", "once-visit3", "once-visit4"]


class SpreadProbe(plant.Probe):
    """A benchmark whose value is 10 times the number of its runs. The interval of its visits extends by 1 on each
    side."""

    name = "spread"
    uses_earlier = True

    def steps(self, params: plant.ProbeParams, context: Context) -> Sequence[Step]:
        known = sum(record.value for record in context.earlier if not record.coords)
        return () if context.done else (Step("probe", Tool("sh"), ("-c", f"echo {known + 10}")),)

    def parse(self, params: plant.ProbeParams, outputs: Sequence[Output], facts: HostFacts) -> Sequence[Measurement]:
        value = float(outputs[0].stdout)
        stats = Stats(n=6, median=value, mad=1, ci95=(value - 1, value + 1), min=value, max=value, visits=6)
        return [
            Measurement("value", value, stats=stats),
            Measurement("value", value, {"of": "detail"}, stats, detail=True),
        ]


def test_intervals_cover_the_spread_between_runs_from_the_third_run_on(lab: Lab) -> None:
    job = plant.job(plant.point("spread"), benchmark="spread")
    ports = plant.collaborators(catalog=plant.Shelf((SpreadProbe(),)))
    runs = [lab.run(job, ports=ports) for _ in range(3)]
    stats = [record.stats for run in runs for record in run.stored.records() if not record.coords]
    assert [(one.median, one.runs) for one in stats if one] == [(10, None), (20, None), (30, 3)]
    widths = [one.ci95[1] - one.median for one in stats if one and one.ci95]
    assert widths == pytest.approx([2**0.5, 2**0.5, t_975(2) * 10])


def test_a_lost_record_is_rebuilt_with_the_spread_of_the_runs_before_it(lab: Lab) -> None:
    job = plant.job(plant.point("spread"), benchmark="spread")
    ports = plant.collaborators(catalog=plant.Shelf((SpreadProbe(),)))
    *_, last = [lab.run(job, ports=ports) for _ in range(3)]
    path = last.stored.layout.records
    before = path.read_text()
    path.write_text("")
    found = survey(last.stored, ports.catalog)
    assert found.text == before
    assert '"runs":3' in before.replace(" ", "")


class LearningProbe(plant.Probe):
    """A benchmark whose step prints the values of the earlier run."""

    name = "learning"
    uses_earlier = True

    def steps(self, params: plant.ProbeParams, context: Context) -> Sequence[Step]:
        known = " ".join(str(record.value + 1) for record in context.earlier)
        return () if context.done else (Step("probe", Tool("sh"), ("-c", f"printf '%s\\n' {known or 1}")),)


def test_a_benchmark_gets_the_records_of_the_newest_earlier_run_of_its_point(lab: Lab) -> None:
    class Newer(LearningProbe):
        version = "2"

    job = plant.job(plant.point("learning"), benchmark="learning")
    old, new = (plant.collaborators(catalog=plant.Shelf((found,))) for found in (LearningProbe(), Newer()))
    assert [lab.run(job, ports=old).values() for _ in range(3)] == [[1.0], [2.0], [3.0]]
    assert lab.run(job, ports=new).values() == [1.0], "records of another version are no pilot"
    other = plant.job(plant.point("learning", index=1), benchmark="learning")
    assert lab.run(other, ports=old).values() == [1.0]


def on(benchmark: plant.Probe, **changed: Any) -> plant.Services:
    """Return services with one benchmark and a host with other facts."""

    def facts(host: Host, folder: Path) -> HostFacts:
        return plant.facts(host, folder).model_copy(update=changed)

    return plant.collaborators(catalog=plant.Shelf((benchmark,)), collect_facts=facts)


@pytest.mark.parametrize(
    "changed",
    [
        {"cpu": Cpu(cpus=2, model="Another CPU")},
        {"system": System(kernel="6.2")},
        {"memory": Memory(total_bytes=4 << 30, available_bytes=4 << 30)},
    ],
    ids=["cpu", "kernel", "memory"],
)
def test_a_run_on_a_host_that_was_different_is_no_pilot(lab: Lab, changed: dict[str, Any]) -> None:
    job = plant.job(plant.point("learning"), benchmark="learning")
    usual, other = on(LearningProbe()), on(LearningProbe(), **changed)
    assert lab.run(job, ports=usual).values() == [1.0]
    assert lab.run(job, ports=other).values() == [1.0]
    assert lab.run(job, ports=usual).values() == [2.0], "the run before the change"


def test_a_run_on_a_noisy_host_is_no_pilot(lab: Lab) -> None:
    class Noisy(LearningProbe):
        def steps(self, params: plant.ProbeParams, context: Context) -> Sequence[Step]:
            return () if context.done else (Step("probe", Tool("sh"), ("-c", "echo noisy-host 7")),)

    job = plant.job(plant.point("learning"), benchmark="learning")
    assert lab.run(job, ports=on(Noisy())).values() == [7.0]
    assert lab.run(job, ports=on(LearningProbe())).values() == [1.0]


def test_the_spread_between_runs_is_that_of_runs_under_the_same_conditions(lab: Lab) -> None:
    job = plant.job(plant.point("spread"), benchmark="spread")
    usual, other = on(SpreadProbe()), on(SpreadProbe(), system=System(kernel="6.2"))
    runs = [lab.run(job, ports=ports) for ports in (usual, usual, other, usual)]
    stats = [record.stats for run in runs for record in run.stored.records() if not record.coords]
    assert [one.runs for one in stats if one] == [None, None, None, 3]
