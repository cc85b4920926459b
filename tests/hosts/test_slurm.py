"""The transport `slurm` on a real cluster of two nodes: its jobs, their order, and how they end."""

from __future__ import annotations

import subprocess
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import cast

import pytest

from asct.diagnostics.model import Diagnostic
from asct.errors import ConnectError, HostLost
from asct.hosts.base import JobRequest, Process, SessionSpec, Task
from asct.hosts.factory import make_host
from asct.hosts.slurm.host import SlurmHost
from asct.hosts.slurm.jobs import QUEUE, JobOrder, SbatchRequest, arguments, batch_text
from asct.plan.model import HostSpec
from tests.awaiting import PATIENCE_S, until
from tests.slurm import Slurm

pytestmark = pytest.mark.slurm
RUN = "20260101T000000Z-abc123"
SESSION = SessionSpec(RUN, "the tests", "5e" * 16)
Into = Callable[[str], Path]


def host_of(name: str = "lab", **options: object) -> SlurmHost:
    return cast(SlurmHost, make_host(HostSpec(name, "slurm", options=options)))


@contextmanager
def opened(host: SlurmHost, session: SessionSpec | None = None) -> Iterator[SlurmHost]:
    host.open(session or SESSION)
    try:
        yield host
    finally:
        host.close()


@pytest.fixture
def into(tmp_path: Path) -> Into:
    return lambda name: tmp_path / "into" / name


def shell(host: SlurmHost, into: Path, text: str, key: str = "") -> str:
    """Return the output of a task."""
    task = Task(Process(("sh", "-c", text), f"{host.work}/{into.name}"), into, key=key)
    assert host.run(task).status == 0
    return (into / "stdout").read_text().strip()


def code_of(error: pytest.ExceptionInfo[ConnectError] | pytest.ExceptionInfo[HostLost]) -> str:
    return error.value.diagnostics[0].code


def states(slurm: Slurm) -> dict[str, str]:
    """Return the state of each job, keyed by job number."""
    return {job: state for job, _, state, _, _ in slurm.jobs()}


def test_a_job_for_each_benchmark_one_after_another(slurm: Slurm, into: Into) -> None:
    with opened(host_of(partition="main")) as host:
        look = host.execute(["sh", "-c", "echo $SLURM_JOB_ID"]).stdout.strip()
        host.plan_jobs([JobRequest("a", 60), JobRequest("b", 600, ("a",)), JobRequest("c", 60, ("x",))])
        first, second, third = (row for row in slurm.waiting() if row[2] == "PENDING")
        assert first[4].startswith(f"afterany:{look}(")
        assert second[4].startswith(f"afterok:{first[0]}(")
        assert third[4].startswith(f"afterany:{second[0]}(")
        about = slurm.command("scontrol", "show", "job", second[0])
        node = host.execute(["sh", "-c", "echo $SLURMD_NODENAME"]).stdout.strip()
        assert f"ReqNodeList={node}" in about and "OverSubscribe=NO" in about and "TimeLimit=00:20:00" in about
        for brief, job in (("a", first), ("b", second), ("c", third)):
            host.begin_job(brief)
            assert shell(host, into(brief), "echo $SLURM_JOB_ID $SLURMD_NODENAME") == f"{job[0]} {node}"
            host.end_job(brief, ok=True)
            assert host.execute(["true"]).status == 0  # the node is there until the next job begins
    slurm.await_empty()
    found = states(slurm)
    assert [found[job] for job in (look, first[0], second[0], third[0])] == ["COMPLETED"] * 4
    assert slurm.left() == []


def test_what_needs_a_failed_job_is_cancelled_and_the_next_one_runs(slurm: Slurm, into: Into) -> None:
    with opened(host_of()) as host:
        host.plan_jobs([JobRequest("a", 1), JobRequest("b", 1, ("a",)), JobRequest("c", 1)])
        first, second, third = (row[0] for row in slurm.waiting() if row[2] == "PENDING")
        host.begin_job("a")
        host.end_job("a", ok=False)
        host.begin_job("c")
        assert shell(host, into("c"), "echo $SLURM_JOB_ID") == third
        assert states(slurm)[second] == "CANCELLED"
    slurm.await_empty()
    assert states(slurm)[first] == "FAILED"


def test_a_node_is_measured_on_alone_and_two_hosts_have_two(slurm: Slurm) -> None:
    with opened(host_of("lab-1")) as one, opened(host_of("lab-2")) as two:
        nodes = {host.execute(["sh", "-c", "echo $SLURMD_NODENAME"]).stdout.strip() for host in (one, two)}
        assert nodes == {"n1", "n2"}
        running = slurm.jobs("RUNNING")
        assert sorted(row[3] for row in running) == ["n1", "n2"]
    slurm.await_empty()


def test_two_hosts_do_not_share_a_node_that_is_free_again(slurm: Slurm) -> None:
    """The second host is opened while the first one, between two jobs, does not hold a node."""
    blocker = _occupy(slurm, "n2")
    with opened(host_of("lab-1")) as one:
        with ThreadPoolExecutor(1) as pool:
            opening = pool.submit(host_of("lab-2").open, SESSION)
            try:
                until(lambda: len(slurm.jobs("PENDING")) == 1)
                one._end_allocation()  # n1 is free: if Slurm gives it to the second host, that does not keep it
                until(lambda: any("-lab-2-" in row[1] for row in slurm.jobs("PENDING")))
            finally:
                slurm.command("scancel", blocker)
            opening.result(PATIENCE_S)
        assert [row[3] for row in slurm.jobs("RUNNING")] == ["n2"]


def test_a_run_interrupted_between_two_jobs_cleans_up(slurm: Slurm) -> None:
    """Another user's job takes the node, a job of the run still waits, and the engine keeps interrupting the host."""
    host = host_of("lab-1")
    host.open(SESSION)
    assert any(Path(host.work).name in left for left in slurm.left())
    blocker = _submit(slurm, slurm.jobs("RUNNING")[0][3])
    host.plan_jobs([JobRequest("a", 60.0), JobRequest("b", 60.0)])
    with ThreadPoolExecutor(1) as pool:
        try:
            beginning = pool.submit(host.begin_job, "a")
            until(lambda: states(slurm)[blocker] == "RUNNING")
            host.interrupt()
            with pytest.raises(HostLost):
                beginning.result(PATIENCE_S)
            known = {row[0] for row in slurm.jobs()}
            closing = pool.submit(host.close)
            until(lambda: any(row[0] not in known for row in slurm.jobs("PENDING")))
            host.interrupt()
            rounds = QUEUE.rounds
            until(lambda: QUEUE.rounds > rounds + 2)  # by then, a host that heeds the interruption has given up
        finally:
            slurm.command("scancel", blocker)
        closing.result(PATIENCE_S)
    assert slurm.left() == []
    slurm.await_empty()


def _submit(slurm: Slurm, node: str) -> str:
    argv = ["sbatch", "--parsable", "--exclusive", f"--nodelist={node}", "--output=/dev/null", "--wrap=sleep 300"]
    return slurm.command(*argv).strip()


def _occupy(slurm: Slurm, node: str) -> str:
    job = _submit(slurm, node)
    until(lambda: states(slurm)[job] == "RUNNING")
    return job


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"partition": "nope"}, "nope"), ({"constraint": "fast"}, "feature"), ({"nodelist": "n9"}, "node"),
        ({"options": ["--qos"]}, "argument"),
    ],
)  # fmt: skip
def test_what_slurm_refuses_is_told_in_its_words(slurm: Slurm, options: dict[str, object], words: str) -> None:
    host = host_of(**options)
    with pytest.raises(ConnectError) as error:
        host.open(SESSION)
    assert (code_of(error), words in str(error.value)) == ("E351", True)
    assert slurm.waiting() == []


def test_a_job_that_would_never_start_is_cancelled(slurm: Slurm, own_state: Path) -> None:
    with pytest.raises(ConnectError) as error:
        host_of(partition="short").open(SESSION)
    assert (code_of(error), "(Partition" in str(error.value)) == ("E352", True)
    slurm.await_empty()
    assert list(own_state.rglob("*.json")) == []


def test_why_a_job_waits_is_told_and_the_wait_can_be_given_up(slurm: Slurm) -> None:
    for node in ("n1", "n2"):
        _occupy(slurm, node)
    told: list[Diagnostic] = []
    host = host_of()
    with ThreadPoolExecutor(1) as pool:
        opening = pool.submit(host.open, SessionSpec(RUN, "the tests", notice=told.append))
        until(lambda: told)
        assert (told[0].code, "Resources" in told[0].message or "Priority" in told[0].message) == ("E355", True)
        host.interrupt()
        with pytest.raises(ConnectError) as error:
            opening.result(PATIENCE_S)
    assert code_of(error) == "E353"
    assert len(slurm.waiting()) == 2


def test_a_job_that_is_cancelled_from_outside(slurm: Slurm, into: Into) -> None:
    with opened(host_of()) as host:
        job = host.execute(["sh", "-c", "echo $SLURM_JOB_ID"]).stdout.strip()
        threading.Timer(1.0, lambda: slurm.command("scancel", job)).start()
        with pytest.raises(HostLost) as error:
            shell(host, into("a"), "exec sleep 120")
        assert (code_of(error), "CANCELLED" in str(error.value)) == ("E353", True)
    slurm.await_empty()


def test_a_controller_that_is_started_anew_concerns_no_job(slurm: Slurm, into: Into) -> None:
    with opened(host_of(nodelist="n2")) as host:
        host.plan_jobs([JobRequest("a", 1)])
        host.begin_job("a")
        slurm.stop("slurmctld")
        assert shell(host, into("a"), "sleep 1; echo done") == "done"
        slurm.start_controller()
        slurm.await_answer()
        host.end_job("a", ok=True)
    slurm.await_empty()


def test_a_run_that_is_interrupted_between_two_jobs_leaves_nothing(slurm: Slurm, own_state: Path) -> None:
    host = host_of()
    host.open(SESSION)
    host.plan_jobs([JobRequest("a", 60), JobRequest("b", 60)])
    host.begin_job("a")
    host.interrupt()
    with pytest.raises(HostLost) as error:
        host.begin_job("b")
    host.close()
    assert (code_of(error), list(own_state.rglob("*.json"))) == ("E353", [])
    slurm.await_empty()
    assert slurm.left() == []


def test_a_node_that_is_looked_at_has_no_session(slurm: Slurm) -> None:
    host = host_of()
    host.open()
    assert host.execute(["true"]).status == 0
    host.close()
    slurm.await_empty()
    assert slurm.left() == []


def test_another_asct_takes_the_work_up(slurm: Slurm, into: Into, own_state: Path) -> None:
    """As after `kill -9`, the connection breaks, the node continues, and the resumed session finds all results."""
    host = host_of()
    host.open(SESSION)
    host.plan_jobs([JobRequest("a", 60), JobRequest("b", 60)])
    host.begin_job("a")
    tasks = [
        Task(Process(("sh", "-c", "sleep 1; echo $SLURM_JOB_ID >>../count; echo $SLURM_JOB_ID"), f"{host.work}/{key}"),
             into(key), key=key)
        for key in ("one", "two", "three")
    ]  # fmt: skip
    host.announce(tasks)
    assert host.run(tasks[0]).status == 0
    work = host.work
    host._steps.cut()
    with opened(host_of(), SESSION) as again:
        assert (again.resumed, again.work) == (True, work)
        again.wait_until_idle()
        job = again.execute(["sh", "-c", "echo $SLURM_JOB_ID"]).stdout.strip()
        assert [row[0] for row in slurm.waiting()] == [job]  # waiting jobs are planned again
        again.plan_jobs([JobRequest("a", 60), JobRequest("b", 60)])
        again.begin_job("a")
        for task in tasks:
            assert again.run(task).status == 0
            assert (task.into / "stdout").read_text().strip() == job
        assert again.execute(["cat", f"{work}/count"]).stdout.split() == [job] * 3  # each was done once
        again.begin_job("b")
        assert shell(again, into("b"), "echo $SLURM_JOB_ID") != job
    slurm.await_empty()
    assert slurm.left() == []
    assert list(own_state.rglob("*.json")) == []


def test_what_a_lost_job_left_on_its_node_is_fetched_by_the_next(slurm: Slurm, into: Into) -> None:
    host = host_of()
    host.open(SESSION)
    host.plan_jobs([JobRequest("a", 60)])
    host.begin_job("a")
    task = Task(Process(("sh", "-c", "echo $SLURM_JOB_ID"), f"{host.work}/x"), into("x"), key="x")
    assert host.run(task).status == 0
    job = (into("x") / "stdout").read_text().strip()
    slurm.command("scancel", job)
    until(lambda: states(slurm)[job] == "CANCELLED")
    host.close()
    (into("x") / "stdout").unlink()
    with opened(host_of(), SESSION) as again:
        assert again.resumed
        assert "asct: a on lab" in slurm.command("scontrol", "show", "job", _running(slurm))
        assert again.run(replace(task, main=replace(task.main, cwd=f"{again.work}/x"))).status == 0
        assert (into("x") / "stdout").read_text().strip() == job
    slurm.await_empty()


def _running(slurm: Slurm) -> str:
    (row,) = slurm.jobs("RUNNING")
    return row[0]


def test_a_job_that_nobody_comes_to_ends_and_takes_the_waiting_ones_with_it(slurm: Slurm) -> None:
    argv = arguments(SbatchRequest(node="n1"), "asct-forgotten", "", 60, JobOrder())
    jobs = []
    for _ in range(2):
        done = subprocess.run(argv, input=batch_text("f" * 32, 5), capture_output=True, text=True, check=True)
        jobs.append(done.stdout.strip())
    until(lambda: states(slurm)[jobs[0]] == "FAILED")
    slurm.await_empty()
    assert states(slurm)[jobs[1]] == "CANCELLED"
    assert not Path("/tmp/asct-job-" + "f" * 32).exists()
