"""asct is killed, or meets another run: results are kept, and nothing is measured twice or concurrently."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from pathlib import Path

import pytest
import yaml

from asct.hosts.base import SessionSpec
from asct.hosts.factory import make_host
from tests.awaiting import until
from tests.e2e.running import IGNORING, PACE, apply, asct, begin, latest, lines
from tests.e2e.test_ssh import hosts, leftovers, running_from
from tests.sshd import Sshd

pytestmark = [pytest.mark.e2e, pytest.mark.ssh, pytest.mark.fio, pytest.mark.kernels]
CONFIG = f"{{duration: 2s, filesize: 16M, numjobs: 1, rate_iops: {PACE}, rw: randread}}"
PLAN = f"""plan: 1
name: quick
benchmarks:
  - {{uses: noop, id: before, sweep: {{index: [1, 2, 3]}}}}
  - {{uses: storage-fio, id: read, config: {CONFIG}, sweep: {{block_size: [4K, 8K, 16K]}}}}
  - {{uses: noop, id: after, needs: {{read: read}}}}
"""


def points_of(folder: Path, job: str, told: str) -> int:
    """Return the number of points of a job for which the journal contains the event `told` (`point-started` or
    `point-ended`)."""
    try:
        return sum(event["t"] == told and event["id"] == job for event in lines(latest(folder) / "journal.jsonl"))
    except (OSError, ValueError, IndexError):
        return 0


def killed_after(folder: Path, points: int, ready: Callable[[], bool] = lambda: True) -> None:
    """Start `apply`, and kill it while the next point is being measured after this number of points of `read`, as soon
    as `ready` is true."""
    process = begin(folder, "--no-progress")
    until(
        lambda: (points_of(folder, "read", "point-started") > points and ready()) or process.poll() is not None,
        "it did not get so far",
    )
    assert process.poll() is None
    process.kill()
    process.wait()


def test_a_killed_asct_is_resumed_where_its_host_is_by_then(own_sshd: Sshd, tmp_path: Path) -> None:
    (tmp_path / "plan.yaml").write_text(PLAN + hosts(own_sshd))
    killed_after(tmp_path, 1)
    seen = [path for path in leftovers(own_sshd) if path.endswith("/.journal")]
    assert len(seen) == 1, "the host has the session still"
    ended = asct("resume", cwd=tmp_path)
    assert ended.code == 0, ended.err
    assert "resumed the earlier session" in ended.err
    run = latest(tmp_path)
    records = lines(run / "records.jsonl")
    values = Counter((one["id"], one["point_id"], one["metric"], json.dumps(one["coords"])) for one in records)
    assert set(values.values()) == {1} and len({(job, point) for job, point, *_ in values}) == 7
    started = [
        event for event in lines(run / "journal.jsonl") if event["t"] == "point-started" and event["id"] == "read"
    ]
    assert len(started) in (4, 5), "only the point that was running is asked for again"
    assert asct("results", "verify", cwd=tmp_path).code == 0
    assert (leftovers(own_sshd), running_from(own_sshd)) == ([], [])


def test_the_host_measures_what_it_was_given_while_nobody_is_there(own_sshd: Sshd, tmp_path: Path) -> None:
    (tmp_path / "plan.yaml").write_text(PLAN + hosts(own_sshd))
    killed_after(tmp_path, 1)
    (journal,) = (path for path in leftovers(own_sshd) if path.endswith("/.journal"))
    told = Path(journal)  # three points of `before`, the layout of the file, and three points of `read`
    until(lambda: told.read_text().count("asct:done") >= 7, "the host has not done all of it")
    assert points_of(tmp_path, "read", "point-ended") < 3
    assert asct("resume", cwd=tmp_path).code == 0
    found = [
        json.loads(path.read_text())["telemetry"] for path in latest(tmp_path).glob("jobs/*/read/*/r1/status.json")
    ]
    assert len(found) == 3, "one of each repeat"
    assert all(one["growth"]["context_switches"] > 0 for one in found), "they were read while nobody was there"
    assert (leftovers(own_sshd), running_from(own_sshd)) == ([], [])


def test_two_hosts_that_are_one_machine_measure_one_after_the_other(own_sshd: Sshd, tmp_path: Path) -> None:
    plan = yaml.safe_load(hosts(own_sshd))
    plan["hosts"]["twin"] = plan["hosts"]["server"]
    ended = apply("plan: 1\nname: quick\nbenchmarks: [noop]\n" + json.dumps(plan)[1:-1] + "\n", tmp_path)
    assert ended.code == 0, ended.err
    assert {record["host"] for record in lines(latest(tmp_path) / "records.jsonl")} == {"server", "twin"}


def test_a_host_that_another_run_has_is_refused(own_sshd: Sshd, tmp_path: Path) -> None:
    other = make_host(own_sshd.spec())
    other.open(SessionSpec("other", "run other of somebody"))
    try:
        ended = apply("plan: 1\nname: quick\nbenchmarks: [noop]\n" + hosts(own_sshd), tmp_path)
    finally:
        other.close()
    assert ended.code == 4
    assert "E334" in ended.err and "run other of somebody" in " ".join(ended.err.split())
    run = json.loads((latest(tmp_path) / "run.json").read_text())
    assert [host["status"] for host in run["hosts"]] == ["locked"]
    assert asct("resume", cwd=tmp_path).code == 0


@pytest.fixture
def here(tmp_path: Path) -> Iterator[str]:
    """Return the `hosts` of a plan whose only host is this machine, with a separate work folder.

    If a failed test leaves a runner behind, the runner is ended, so that it does not keep other tests from using the
    machine.
    """
    yield json.dumps({"hosts": {"local": {"transport": "local", "workdir": str(tmp_path / "work")}}})[1:-1] + "\n"
    for session in sessions(tmp_path):
        asct("resume", cwd=tmp_path)
        until(lambda folder=session: not folder.exists(), f"{session} is still there")


def sessions(folder: Path) -> list[Path]:
    return list((folder / "work").glob("run-*"))


def running_task(session: Path) -> int | None:
    """Return the process of the task that the runner of a session is executing."""
    try:
        task = int((session / ".task").read_text().split()[0])
    except (OSError, ValueError, IndexError):
        return None
    return task if Path(f"/proc/{task}").exists() else None


def test_a_killed_asct_leaves_this_machine_locked_while_its_point_is_measured(here: str, tmp_path: Path) -> None:
    long = PLAN.replace("duration: 2s", "duration: 12s").replace("[4K, 8K, 16K]", "[4K, 8K]")
    (tmp_path / "plan.yaml").write_text(long + here)
    killed_after(tmp_path, 0, lambda: any(running_task(session) is not None for session in sessions(tmp_path)))
    (session,) = sessions(tmp_path)
    task = running_task(session)
    other = tmp_path / "other"
    other.mkdir()
    refused = apply("plan: 1\nname: quick\nbenchmarks: [noop]\n" + here, other)
    assert refused.code == 4 and "E334" in refused.err
    ended = asct("resume", cwd=tmp_path)
    assert ended.code == 0, ended.err
    events = lines(latest(tmp_path) / "journal.jsonl")
    started = [one for one in events if one["t"] == "point-started" and one["id"] == "read"]
    assert len(started) == 3, "the point that was running is asked for again, and its result taken"
    journal = [path.read_text() for path in tmp_path.glob("work/run-*/.journal")]
    assert journal == [] and sessions(tmp_path) == []
    assert not Path(f"/proc/{task}").exists()


@pytest.mark.parametrize("started_by", [(), IGNORING], ids=["terminal", "ignoring"])
def test_ctrl_c_ends_what_runs_on_this_machine_at_once(here: str, tmp_path: Path, started_by: Sequence[str]) -> None:
    plan = PLAN.replace("duration: 2s", "duration: 60s")
    (tmp_path / "plan.yaml").write_text(plan + here)
    process = begin(tmp_path, "--no-progress", prefix=started_by)
    until(lambda: bool(list(tmp_path.glob("work/run-*/.task"))) and points_of(tmp_path, "read", "point-started") > 0)
    process.send_signal(signal.SIGINT)
    assert process.wait(30) == 130
    assert sessions(tmp_path) == []
    assert asct("apply", "plan.yaml", "--benchmark", "before", cwd=tmp_path).code == 0, "the lock is free"


@pytest.mark.parametrize(
    ("started_by", "code"), [(("env", "--default-signal=HUP"), 143), (("nohup",), 0)], ids=["terminal", "nohup"]
)
def test_a_closed_terminal_ends_a_run_unless_it_was_started_by_nohup(
    here: str, tmp_path: Path, started_by: Sequence[str], code: int
) -> None:
    (tmp_path / "plan.yaml").write_text(PLAN + here)
    process = begin(tmp_path, "--no-progress", prefix=started_by)
    until(lambda: points_of(tmp_path, "read", "point-started") > 0)
    process.send_signal(signal.SIGHUP)
    assert process.wait(60) == code
    assert sessions(tmp_path) == []


@pytest.fixture
def reading(tmp_path: Path) -> Iterator[Callable[[], subprocess.Popen[str]]]:
    """Start a run that does not finish reading the facts of this machine as long as the file `gate` exists."""
    place, reached, gate = tmp_path / "bin" / "awk", tmp_path / "reached", tmp_path / "gate"
    place.parent.mkdir()
    gate.touch()
    wait = f"touch {reached}; while [ -e {gate} ]; do sleep 0.05; done"
    place.write_text(f'#!/bin/sh\n{wait}\nexec {shutil.which("awk")} "$@"\n')
    place.chmod(0o755)

    def start() -> subprocess.Popen[str]:
        process = begin(tmp_path, "--no-progress", env={"PATH": f"{place.parent}:{os.environ['PATH']}"})
        until(lambda: reached.exists() or process.poll() is not None)
        assert process.poll() is None
        return process

    yield start
    gate.unlink(missing_ok=True)


def test_a_run_that_is_ended_while_facts_are_read_leaves_nothing(
    here: str, tmp_path: Path, reading: Callable[[], subprocess.Popen[str]]
) -> None:
    (tmp_path / "plan.yaml").write_text(PLAN + here)
    process = reading()
    process.terminate()
    assert process.wait(60) == 143
    assert sessions(tmp_path) == []
    assert not any(str(tmp_path / "bin") in text for text in command_lines()), "the shell that reads has ended"


def test_a_death_while_facts_are_read_loses_no_session(
    here: str, tmp_path: Path, reading: Callable[[], subprocess.Popen[str]]
) -> None:
    """The journal contains the session before the host is opened."""
    (tmp_path / "plan.yaml").write_text(PLAN + here)
    process = reading()
    process.kill()
    process.wait()
    (session,) = sessions(tmp_path)
    (tmp_path / "gate").unlink()
    ended = asct("resume", cwd=tmp_path)
    assert ended.code == 0, ended.err
    assert "resumed the earlier session" in ended.err
    events = lines(latest(tmp_path) / "journal.jsonl")
    assert [f"run-{one['session']}" for one in events if one["t"] == "host-opening"] == [session.name]
    assert sessions(tmp_path) == []


def command_lines() -> list[str]:
    found = []
    for path in Path("/proc").glob("[0-9]*/cmdline"):
        with suppress(OSError):
            found.append(path.read_bytes().decode(errors="replace"))
    return found
