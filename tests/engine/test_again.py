"""Points are measured again in the same run: the numbers of the new repeats follow those of the plan, and nothing else
changes."""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from asct.diagnostics.model import Diagnostic
from asct.engine.again import over_limits
from asct.engine.events import Event, MeasuringAgain, PointEnded
from asct.engine.options import RunOptions
from asct.engine.rebuild import survey
from asct.engine.resume import keep_results, reopen
from asct.engine.run import apply, finish_run, judging, measure_again
from asct.engine.services import RunContext
from asct.engine.stop import signals
from asct.errors import ConnectError
from asct.hosts.factory import make_host
from asct.planner.model import Job, ResolvedPlan
from asct.store.layout import PointKey, RunLayout
from asct.store.reader import StoredRun, read_run
from asct.store.verify import verify
from tests.engine.conftest import Lab
from tests.engine.guarding import Guard, Writer, consented
from tests.engine.plant import Probe, Shelf, collaborators, job, point
from tests.engine.test_gate import writing


def measured(
    lab: Lab, plan: ResolvedPlan, points: Sequence[PointKey], stop_at: int = 0, **options: Any
) -> tuple[StoredRun, dict[PointKey, str], list[Event]]:
    """Measure a plan, and then measure these points again. A signal arrives when repeat `stop_at` ends."""
    events: list[Event] = []
    known: list[RunContext] = []

    def listen(event: Event) -> None:
        events.append(event)
        if isinstance(event, PointEnded) and event.repeat == stop_at > 0:
            known[0].stop.on_signal(signal.SIGTERM, None)

    ports, resume = options.pop("ports", collaborators()), options.pop("resume", None)
    how = RunOptions(results=lab.results, **options)
    run = apply(plan, how, ports, [listen], resume)
    known.append(run)
    problems = measure_again(run, points, how)
    finish_run(run)
    return read_run(run.writer.layout.root), problems, events


def key(chosen: Job, number: int = 0) -> PointKey:
    return chosen.host, chosen.id, chosen.points[number].id


def repeats(stored: StoredRun) -> list[tuple[str, int]]:
    return sorted((record.point_id, record.repeat) for record in stored.records())


def test_only_suspects_are_measured_and_numbered_after_the_plan(lab: Lab) -> None:
    both = job(point(index=1), point(index=2), repeats=2, warmup=1)
    stored, problems, events = measured(lab, lab.plan(both), [key(both, 1)])
    first, second = (one.id for one in both.points)
    assert problems == {}
    assert repeats(stored) == sorted([(first, 1), (first, 2), (second, 1), (second, 2), (second, 3), (second, 4)])
    assert [sorted({record.repeat for record in look}) for look in stored.looks()] == [[1, 2], [3, 4]]
    assert stored.run.counts == {"ok": 4} and stored.run.status == "complete"
    assert [event.measurements for event in events if isinstance(event, MeasuringAgain)] == [3]
    assert verify(stored) == []
    assert lab.leftovers() == []


def test_records_of_both_measurements_can_be_rebuilt(lab: Lab) -> None:
    one = job(repeats=2)
    stored, _, _ = measured(lab, lab.plan(one), [key(one)])
    before = stored.layout.records.read_text()
    stored.layout.records.unlink()
    assert survey(stored, Shelf()).text == before


def test_a_suspect_receives_the_results_that_it_needs(lab: Lab) -> None:
    source = job(point(script="echo 7"), name="source")
    user = job(point(index=3), name="user", needs={"one": "source"})
    stored, problems, _ = measured(lab, lab.plan(source, user), [key(user)])
    assert problems == {}
    ids = [(record.id, record.repeat) for record in stored.records()]
    assert ids == [("source", 1), ("user", 1), ("user", 2)]


def test_an_interrupted_second_measurement_is_completed_by_resume(lab: Lab) -> None:
    one = job(repeats=3)
    plan = lab.plan(one)
    cut, _, _ = measured(lab, plan, [key(one)], stop_at=4)
    assert cut.run.status == "interrupted" and repeats(cut) == [(key(one)[2], number) for number in (1, 2, 3, 4)]
    assert verify(cut) == []
    whole, problems, events = measured(lab, plan, [key(one)], resume=cut.layout)
    assert problems == {} and [event.repeat for event in events if isinstance(event, PointEnded)] == [5, 6]
    assert repeats(whole) == [(key(one)[2], number) for number in range(1, 7)]
    assert verify(whole) == [] and survey(whole, Shelf()).text == whole.layout.records.read_text()


def test_a_host_that_cannot_be_opened_again_is_the_reason(lab: Lab) -> None:
    opened: list[str] = []

    def once(spec: Any, folder: Path) -> Any:
        opened.append(spec.name)
        host = make_host(spec, folder=folder)
        if len(opened) > 1:

            def refuse(*_: object, **__: object) -> None:
                raise ConnectError(spec.name, Diagnostic("E301", "no route to host"))

            host.open = refuse  # type: ignore[method-assign]
        return host

    one = job()
    stored, problems, _ = measured(lab, lab.plan(one), [key(one)], ports=collaborators(make_host=once))
    assert problems == {key(one): "E301 no route to host"}
    assert stored.run.counts == {"ok": 1} and stored.run.hosts[0].status == "ok" and verify(stored) == []


def test_a_stopped_run_measures_nothing_again(lab: Lab) -> None:
    one, how = job(), RunOptions(results=lab.results)
    run = apply(lab.plan(one), how, collaborators())
    run.stop.request("timeout")
    assert measure_again(run, [key(one)], how) == {key(one): "the run was stopped"}
    finish_run(run)
    assert len(read_run(run.writer.layout.root).records()) == 1


def test_the_limit_on_the_duration_holds(lab: Lab) -> None:
    one = job()
    plan = lab.plan(one)._replace(limit_s=0.1)
    stored, problems, _ = measured(lab, plan, [key(one)])
    assert problems == {key(one): "the run would exceed its limit of 100ms (`limits.duration`)"}
    assert len(stored.records()) == 1


@pytest.mark.parametrize(("forks", "late"), [(1, ["b"]), (2, []), (0, ["b"])])
def test_hosts_that_wait_for_others_count_their_time_too(
    tmp_path: Path, lab: Lab, forks: int, late: Sequence[str]
) -> None:
    """`a` and `b` take 600 s each and `c` takes 300 s. About 1000 s are available."""
    repeats = {"a": 1200, "b": 1200, "c": 600}
    jobs = [job(host=host, repeats=number) for host, number in repeats.items()]
    run: Any = SimpleNamespace(
        plan=lab.plan(*jobs)._replace(limit_s=1000.0), services=collaborators(), started=time.monotonic(),
        writer=SimpleNamespace(layout=RunLayout(tmp_path)),
    )  # fmt: skip
    problems = over_limits(run, jobs, forks)
    assert [host for host, *_ in problems] == late


@pytest.mark.parametrize(("limit", "programs"), [(1000, 2), (1300, 3)])
def test_the_limit_on_bytes_written_holds(lab: Lab, tmp_path: Path, limit: int, programs: int) -> None:
    guard = Guard(tmp_path, takes=400)
    both = writing({}, {})
    ports = collaborators(catalog=Shelf((Probe(), Writer())), provide=guard.provide)
    stored, problems, _ = measured(lab, lab.plan(both)._replace(safety=consented(limit)), [key(both)], ports=ports)
    assert guard.programs == programs
    assert (f"would receive more than {limit} B" in problems.get(key(both), "")) is (programs == 2)
    assert stored.run.counts == {"ok": 2} and verify(stored) == []


def test_a_repeat_that_fails_is_the_reason(lab: Lab, tmp_path: Path) -> None:
    once = f"test ! -e {tmp_path}/done && touch {tmp_path}/done && echo 1"
    one, other = job(point(script=once), name="one"), job(point(index=5), name="other")
    stored, problems, _ = measured(lab, lab.plan(one, other), [key(one), key(other)])
    assert list(problems) == [key(one)] and problems[key(one)].startswith("E6")
    assert stored.run.counts == {"ok": 2} and verify(stored) == []
    assert [(record.id, record.repeat) for record in stored.records()] == [("one", 1), ("other", 1), ("other", 2)]


@pytest.mark.parametrize(
    ("code", "options"), [("E618", {"timeout_s": 0.0}), ("E619", {"fail_fast": True})], ids=["timeout", "fail-fast"]
)
def test_resume_is_not_advised_for_points_to_measure_again(
    lab: Lab, tmp_path: Path, code: str, options: Mapping[str, Any]
) -> None:
    one = job(point(script=f"test ! -e {tmp_path}/done && touch {tmp_path}/done && echo 1"))
    how = RunOptions(results=lab.results, fail_fast="fail_fast" in options)
    run = apply(lab.plan(one), how, collaborators())
    measure_again(run, [key(one)], replace(how, **options))
    assert finish_run(run) == 0
    [hint] = [item.hint or "" for _, item in run.events.findings if item.code == code]
    assert "resume" not in hint


def test_other_jobs_receive_the_results_of_the_first_measurement_only(lab: Lab, tmp_path: Path) -> None:
    source = job(point(script=f"echo x >> {tmp_path}/times; wc -l < {tmp_path}/times"), name="source")
    plan = lab.plan(source, job(point(index=3), name="user", needs={"one": "source"}))
    stored, problems, _ = measured(lab, plan, [key(source)])
    assert problems == {} and [one.value for one in stored.records() if one.id == "source"] == [1, 2]
    writer, before = reopen(plan, stored.layout)
    earlier = keep_results(plan, before, writer, collaborators())
    writer.close()
    assert earlier.exports == {key(source)[:2]: {"best": 1.0}}


@pytest.mark.parametrize("problem", [ValueError("a bug"), KeyboardInterrupt()], ids=["bug", "interrupt"])
def test_an_exception_while_a_run_is_judged_ends_the_run(lab: Lab, problem: BaseException) -> None:
    rendered: list[RunLayout] = []

    def render(layout: RunLayout) -> Mapping[str, str]:
        rendered.append(layout)
        return {}

    run = apply(lab.plan(job()), RunOptions(results=lab.results), collaborators())
    with pytest.raises(type(problem)), judging(run, render):
        raise problem
    stored = read_run(run.writer.layout.root)
    assert (stored.run.status, stored.run.exit_code) == ("incomplete", 70)
    assert rendered == [run.writer.layout] and stored.layout.sums.exists() and verify(stored) == []


def test_a_signal_while_a_run_is_judged_interrupts_the_run(lab: Lab) -> None:
    one, how = job(), RunOptions(results=lab.results)
    run = apply(lab.plan(one), how, collaborators())
    with signals(run.stop), judging(run, lambda _: {}):
        os.kill(os.getpid(), signal.SIGINT)
        assert measure_again(run, [key(one)], how) == {key(one): "the run was stopped"}
    assert finish_run(run) == 130
    stored = read_run(run.writer.layout.root)
    assert stored.run.status == "interrupted" and verify(stored) == []
