"""How asct uses Slurm's commands and parses their output, tested without a cluster."""

from __future__ import annotations

import shlex
import subprocess
import threading
import time
from collections.abc import Sequence
from pathlib import Path

import pytest

from asct.diagnostics.model import Diagnostic
from asct.errors import HostError, HostLost
from asct.hosts.slurm import host as slurm_host
from asct.hosts.slurm import jobs as slurm_jobs
from asct.hosts.slurm.host import SlurmState
from asct.hosts.slurm.jobs import (
    Allocation,
    JobOrder,
    JobQueue,
    QueuedJob,
    SbatchRequest,
    arguments,
    batch_text,
    environment,
    job_name,
    message_of,
    minutes,
    read_rows,
    submit,
)
from asct.plan.model import HostSpec
from tests.awaiting import PATIENCE_S, until

SPEC = HostSpec(
    "lab", "slurm", options={"partition": "p", "account": 7, "constraint": "a&b", "options": ["--qos=high", "-t9"]}
)


def test_the_request_becomes_arguments_of_sbatch() -> None:
    argv = arguments(SbatchRequest.of(SPEC), "name", "a comment; $(x)", 600, JobOrder((1, 2), (2,)), ["n3", "n4"])
    assert argv[0] == "sbatch"
    assert {"--exclusive", "--nodes=1", "--no-requeue", "--comment=a comment; $(x)", "--time=20"} <= set(argv)
    assert {"--partition=p", "--account=7", "--constraint=a&b", "--exclude=n3,n4"} <= set(argv)
    assert {"--dependency=afterany:1,afterok:2", "--kill-on-invalid-dep=yes"} <= set(argv)
    assert argv[-2:] == ["--qos=high", "-t9"]
    assert not any("nodelist" in one for one in argv)


def test_a_named_node_wins_over_nodes_to_leave_out() -> None:
    argv = arguments(SbatchRequest(node="n1"), "name", "", 0, JobOrder(), ["n3"])
    assert "--nodelist=n1" in argv
    assert not any(one.startswith(("--exclude", "--dependency", "--partition")) for one in argv)


@pytest.mark.parametrize(("seconds", "limit"), [(0, 5), (1, 6), (600, 20), (3600, 95)])
def test_the_time_limit_comes_from_the_estimate(seconds: float, limit: int) -> None:
    assert minutes(seconds) == limit


def test_a_job_name_is_plain() -> None:
    assert job_name("20261121T042813Z-3f9c2a", "a b/c") == "asct-20261121T042813Z-3f9c2a-a_b_c"
    assert len(job_name("r" * 300, "h")) == 200


def test_the_batch_script_is_a_shell_script(tmp_path: Path) -> None:
    file = tmp_path / "job.sh"
    file.write_text(batch_text("ab12", 7))
    assert file.read_text().startswith("#!/bin/sh\ntoken=ab12 patience=7\n")
    subprocess.run(["sh", "-n", str(file)], check=True)


def test_what_would_change_the_commands_of_slurm_stays_behind() -> None:
    own = {"PATH": "/bin", "SLURM_CONF": "/c", "SLURM_JOB_ID": "3", "SBATCH_ACCOUNT": "x", "SQUEUE_FORMAT": "%i"}
    assert environment(own) == {"PATH": "/bin", "SLURM_CONF": "/c"}


def test_what_slurm_says_is_quoted_in_a_line() -> None:
    err = "sbatch: error: invalid partition specified: nope\nsbatch: error: Batch job submission failed: Invalid name\n"
    done = subprocess.CompletedProcess([], 1, "", err)
    assert message_of(done) == "invalid partition specified: nope; Batch job submission failed: Invalid name"
    assert message_of(subprocess.CompletedProcess([], 1, "", "")) == "no reason given"


def test_a_machine_without_slurm_is_told_so(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(HostError) as caught:
        submit("lab", arguments(SbatchRequest(), "name", "", 0, JobOrder()))
    assert _code(caught.value) == "E350"


def _fake_sbatch(folder: Path, text: str) -> None:
    (folder / "sbatch").write_text(f"#!/bin/sh\n{text}\n")
    (folder / "sbatch").chmod(0o755)


@pytest.mark.parametrize("answer", ["echo nonsense", "echo >&2 'sbatch: error: no such account'; exit 1", "exit 0"])
def test_a_job_that_is_not_taken(answer: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    _fake_sbatch(tmp_path, answer)
    monkeypatch.setenv("PATH", f"{tmp_path}:/usr/bin:/bin")
    with pytest.raises(HostError) as caught:
        submit("lab", ["sbatch"])
    assert _code(caught.value) == "E351"


def test_a_number_with_the_name_of_a_cluster(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    _fake_sbatch(tmp_path, f"cat >{shlex.quote(str(tmp_path / 'script'))}; echo '12;west'")
    monkeypatch.setenv("PATH", f"{tmp_path}:/usr/bin:/bin")
    found = submit("lab", ["sbatch"])
    assert found.job == 12
    assert f"token={found.token}" in (tmp_path / "script").read_text()


def test_rows_of_squeue() -> None:
    text = "12|RUNNING|n1|None\n 13|PENDING||ReqNodeNotAvail, UnavailableNodes:n[1-2]|x\nslurm says\n14_1|RUNNING|n|x\n"
    assert read_rows(text) == {
        12: QueuedJob("RUNNING", "n1", "None"),
        13: QueuedJob("PENDING", "", "ReqNodeNotAvail, UnavailableNodes:n[1-2]|x"),
    }


class Cluster:
    """Replaces squeue: the test sets its output."""

    def __init__(self) -> None:
        self.jobs: dict[int, QueuedJob] = {}
        self.asked: list[list[int]] = []
        self.silent = False

    def query_jobs(self, jobs: Sequence[int]) -> dict[int, QueuedJob]:
        self.asked.append(list(jobs))
        if self.silent:
            raise HostError("slurm", Diagnostic("E354", "unable to contact slurm controller"))
        return {job: self.jobs.get(job, QueuedJob("GONE")) for job in jobs}


def test_one_call_for_all_jobs_and_none_when_nobody_waits() -> None:
    cluster = Cluster()
    cluster.jobs = {1: QueuedJob("RUNNING", "n1"), 2: QueuedJob("PENDING", "", "Resources")}
    queue = JobQueue(cluster.query_jobs)
    for job in (1, 2, 3):
        queue.follow(job)
    assert [queue.fresh("lab", job).state for job in (1, 2, 3)] == ["RUNNING", "PENDING", "GONE"]
    assert cluster.asked[-1] in ([1, 2, 3], [1, 2])  # a job that has ended is not queried again
    for job in (1, 2, 3):
        queue.forget(job)
    until(lambda: not [one for one in threading.enumerate() if one is queue._thread])
    count = len(cluster.asked)
    time.sleep(2 * slurm_jobs.SOONEST_S)
    assert len(cluster.asked) == count


def test_a_wait_ends_when_the_job_changes() -> None:
    cluster = Cluster()
    cluster.jobs = {1: QueuedJob("PENDING", "", "Priority")}
    queue = JobQueue(cluster.query_jobs)
    queue.follow(1)
    known = queue.fresh("lab", 1)
    threading.Timer(0.3, lambda: cluster.jobs.update({1: QueuedJob("RUNNING", "n1")})).start()
    assert queue.change("lab", 1, known, PATIENCE_S) == QueuedJob("RUNNING", "n1")
    assert queue.change("lab", 1, QueuedJob("RUNNING", "n1"), 0.1) == QueuedJob("RUNNING", "n1")
    queue.forget(1)


def test_a_silent_slurm_is_borne_for_a_while(monkeypatch: pytest.MonkeyPatch) -> None:
    cluster = Cluster()
    cluster.jobs = {1: QueuedJob("RUNNING", "n1")}
    queue = JobQueue(cluster.query_jobs)
    queue.follow(1)
    known = queue.fresh("lab", 1)
    cluster.silent = True
    queue.hurry()
    until(lambda: queue._silent_since is not None)
    assert queue.change("lab", 1, known, 0.2) == known
    monkeypatch.setattr(slurm_jobs, "SILENCE_S", 0.0)
    with pytest.raises(HostLost) as caught:
        queue.fresh("lab", 1)
    assert (_code(caught.value), "unable to contact" in str(caught.value)) == ("E354", True)
    queue.forget(1)


def _code(error: HostError) -> str:
    return error.diagnostics[0].code


def test_what_is_remembered_of_a_host(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
    file = slurm_host.state_file("r", "h")
    assert slurm_host.load_state(file) is None
    memory = SlurmState("n1", "/w/run", "sweep", Allocation(12, "ab"), [13, 14], {"sweep": 3.5})
    slurm_host.save_state(file, memory)
    assert slurm_host.load_state(file) == memory
    assert (file.stat().st_mode & 0o777, file.parent.stat().st_mode & 0o777) == (0o600, 0o700)
    file.write_text('{"held": {}, "node": ')
    assert slurm_host.load_state(file) is None


def test_a_memory_of_another_version_or_none_at_all_is_no_trouble(tmp_path: Path) -> None:
    file = tmp_path / "asct.json"
    for text in ("[]", "{}", '{"held": null, "nodes": 3}'):
        file.write_text(text)
        assert slurm_host.load_state(file) is None
    slurm_host.save_state(
        tmp_path / "asct.json" / "below" / "x.json", SlurmState()
    )  # the folder does not exist, but no exception is raised
