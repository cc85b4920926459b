"""`asct apply` on nodes of a real Slurm cluster."""

from __future__ import annotations

import json
import signal
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from tests.awaiting import until
from tests.e2e.running import apply, asct, begin, latest, lines
from tests.e2e.test_baseline import check_second_measurement
from tests.slurm import Slurm

pytestmark = [pytest.mark.e2e, pytest.mark.slurm]
HEAD = "plan: 1\nname: quick\n"


@contextmanager
def started(plan: str, cwd: Path) -> Iterator[subprocess.Popen[str]]:
    """Provide a running `asct apply`."""
    (cwd / "plan.yaml").write_text(plan)
    with begin(cwd, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        try:
            yield process
        finally:
            process.kill()


def records(cwd: Path, metric: str = "elapsed") -> list[dict[str, Any]]:
    return [one for one in lines(latest(cwd) / "records.jsonl") if one["metric"] == metric]


def told(cwd: Path, job: str = "") -> list[str]:
    """Return the events of one job, or of all jobs, in the journal of the newest run."""
    try:
        return [one["t"] for one in lines(latest(cwd) / "journal.jsonl") if job in ("", one.get("id"))]
    except (OSError, ValueError):  # not there yet, or a line is being written
        return []


def measured(cwd: Path) -> int:
    """Return the number of repeats in the journal of the newest run."""
    return told(cwd).count("point-ended")


def left(slurm: Slurm, state: Path) -> list[str]:
    """Return what a run should have removed: jobs, files on the nodes, and the stored state of jobs."""
    slurm.await_empty()
    return slurm.left() + [str(file) for file in state.rglob("*.json")]


def test_two_nodes_side_by_side_with_a_job_that_needs_another(slurm: Slurm, tmp_path: Path, own_state: Path) -> None:
    plan = HEAD + (
        "hosts: {lab: {transport: slurm, partition: main, nodelist: 'n[1-2]'}}\n"
        "benchmarks:\n"
        "  - {id: first, uses: noop, sweep: {index: [1, 2, 3]}, repeats: 2}\n"
        "  - {id: second, uses: noop, hosts: [lab-n1], needs: {before: first}}\n"
        "  - {id: third, uses: noop, hosts: [lab]}\n"
    )
    ended = apply(plan, tmp_path)
    assert ended.code == 0, ended.err
    found = sorted({(one["host"], one["id"]) for one in records(tmp_path)})
    assert found == [(f"lab-n{n}", one) for n, ids in ((1, ("first", "second", "third")), (2, ("first", "third")))
                     for one in ids]  # fmt: skip
    assert len(records(tmp_path)) == 2 * 6 + 1 + 2
    done = {slurm_about(slurm, row[0]): row for row in slurm.jobs() if row[1].startswith("asct-")}
    for about in ("look on lab-n1", "look on lab-n2", "first on lab-n1", "second on lab-n1", "third on lab-n2"):
        row = done[f"asct: {about}"]
        assert (row[2], row[3]) == ("COMPLETED", about[-2:])
    assert left(slurm, own_state) == []


def test_a_regression_is_measured_again_in_a_job_of_its_own(slurm: Slurm, tmp_path: Path, own_state: Path) -> None:
    check_second_measurement(tmp_path, "hosts: {lab: {transport: slurm, nodelist: n1}}\n")
    assert left(slurm, own_state) == []


def slurm_about(slurm: Slurm, job: str) -> str:
    return slurm.command("squeue", "--noheader", "--states=all", f"--jobs={job}", "--format=%k").strip()


def running(slurm: Slurm, job: str) -> list[str]:
    """Return the numbers of the Slurm jobs that run a job of the plan."""
    return [row[0] for row in slurm.jobs("RUNNING") if slurm_about(slurm, row[0]).startswith(f"asct: {job} on ")]


def test_kernels_run_with_all_of_the_node(slurm: Slurm, tmp_path: Path) -> None:
    plan = HEAD + (
        "hosts: {lab: {transport: slurm, constraint: n2x}}\n"
        "benchmarks: [{id: sweep, uses: latency-sweep, config: {max_size: 1M, points_per_octave: 1, visits: 1}}]\n"
    )
    ended = apply(plan, tmp_path)
    assert ended.code == 0, ended.err
    run = json.loads((latest(tmp_path) / "run.json").read_text())
    assert [(host["name"], host["transport"], host["status"]) for host in run["hosts"]] == [("lab", "slurm", "ok")]
    assert records(tmp_path, "latency")
    assert [row[3] for row in slurm.jobs() if row[1].endswith(row[1]) and "-lab-" in row[1]][-2:] == ["n2", "n2"]


MANY = HEAD + (
    "hosts: {lab: {transport: slurm, nodelist: n1}}\n"
    "benchmarks:\n"
    "  - {id: many, uses: noop, sweep: {index: {from: 1, to: 150, step: 1}}}\n"
    "  - {id: after, uses: noop}\n"
)


def test_an_interrupted_run_leaves_no_job_and_can_be_resumed(slurm: Slurm, tmp_path: Path, own_state: Path) -> None:
    with started(MANY, tmp_path) as process:
        until(lambda: measured(tmp_path) > 5)
        process.send_signal(signal.SIGINT)
        _, err = process.communicate(timeout=120)
    assert process.returncode == 130, err
    assert left(slurm, own_state) == []
    ended = asct("resume", cwd=tmp_path)
    assert ended.code == 0, ended.err
    _all_once(tmp_path)
    assert left(slurm, own_state) == []


def test_a_killed_asct_is_followed_by_one_that_takes_all_up(slurm: Slurm, tmp_path: Path, own_state: Path) -> None:
    with started(MANY, tmp_path) as process:
        until(lambda: measured(tmp_path) > 5)
        process.kill()
    job = next(row[0] for row in slurm.jobs("RUNNING"))
    ended = asct("resume", cwd=tmp_path)
    assert ended.code == 0, ended.err
    assert "E625" in ended.err
    _all_once(tmp_path)
    states = {row[0]: row[2] for row in slurm.jobs()}
    assert states[job] == "COMPLETED"  # the job was resumed, not replaced
    assert left(slurm, own_state) == []


def _all_once(cwd: Path) -> None:
    found = records(cwd)
    assert len(found) == len({(one["id"], one["point_id"], one["repeat"]) for one in found}) == 151


def test_an_interrupted_wait_in_the_queue(slurm: Slurm, tmp_path: Path, own_state: Path) -> None:
    slurm.command("sbatch", "--exclusive", "--nodelist=n1", "--output=/dev/null", "--wrap=sleep 300")
    until(lambda: slurm.jobs("RUNNING"))
    with started(MANY, tmp_path) as process:
        assert process.stderr is not None
        told = ""
        for line in process.stderr:
            told += line
            if "E355" in line:
                break
        process.send_signal(signal.SIGINT)
        _, err = process.communicate(timeout=120)
    assert process.returncode == 130, told + err
    assert len(slurm.waiting()) == 1
    assert list(own_state.rglob("*.json")) == []


def test_a_partition_that_does_not_exist(slurm: Slurm, tmp_path: Path) -> None:
    hosts = "hosts: {bad: {transport: slurm, partition: nope}, good: {transport: slurm, partition: main}}\n"
    ended = apply(HEAD + hosts + "benchmarks: [noop]\n", tmp_path)
    assert ended.code == 3
    assert "E351" in ended.err and "nope" in ended.err
    assert [one["host"] for one in records(tmp_path)] == ["good"]


def test_a_job_that_takes_longer_than_its_limit(slurm: Slurm, tmp_path: Path, own_state: Path) -> None:
    plan = HEAD + (
        "hosts: {lab: {transport: slurm, options: [--time=5]}}\n"
        "benchmarks:\n"
        "  - {id: quick, uses: noop}\n"
        "  - {id: long, uses: storage-fio, config: {duration: 10m, filesize: 1M, numjobs: 1, direct: false}}\n"
        "  - {id: after, uses: noop}\n"
    )
    with started(plan, tmp_path) as process:
        until(lambda: "point-started" in told(tmp_path, "long"), "the long job does not begin")
        limit = f"JobId={running(slurm, 'long')[0]}", "EndTime=now+1"  # a limit of a plan is a whole number of minutes
        slurm.command("scontrol", "update", *limit)
        _, err = process.communicate(timeout=300)
    assert process.returncode == 3, err
    assert "ended (TIMEOUT): it reached its time limit" in " ".join(err.split()), err
    assert sorted(one["id"] for one in records(tmp_path)) == ["after", "quick"]
    assert left(slurm, own_state) == []
