"""Runs with the real services (facts, toolchain and kernels), on this machine and over ssh."""

from __future__ import annotations

import os
import signal
import subprocess
from pathlib import Path

import pytest

from asct.engine import events
from asct.engine.services import default_services
from asct.plan.model import HostSpec
from asct.planner.model import Point
from asct.store.verify import verify
from tests.awaiting import until
from tests.engine import plant
from tests.engine.conftest import Lab
from tests.engine.test_trouble import when
from tests.sshd import Sshd


def noop(count: int, host: str = "local") -> plant.Job:
    points = (Point(f"{number:012x}", {"index": number}, {"index": number}) for number in range(count))
    return plant.job(*points, benchmark="noop", name="noop", host=host)


def all_measured(done: plant.Done, number: int) -> bool:
    """Whether each of so many repeats has values. Other programs on this machine may make them noisy."""
    counts = done.stored.run.counts
    return (done.code, done.codes(), sum(counts.values())) == (0, [], number) and counts.keys() <= {"ok", "noisy"}


@pytest.mark.kernels
def test_the_noop_kernel_on_this_machine(lab: Lab) -> None:
    done = lab.run(noop(20), ports=default_services())
    assert all_measured(done, 20)
    assert verify(done.stored) == []
    facts = done.stored.facts()["local"]
    assert facts.cpu.cpus == os.cpu_count()
    assert sorted(record.point["index"] for record in done.stored.records()) == list(range(20))  # type: ignore[type-var]
    assert (done.stored.layout.build("local") / "noop.json").exists()
    assert lab.leftovers() == []


@pytest.mark.kernels
@pytest.mark.ssh
def test_the_noop_kernel_over_ssh_beside_this_machine(lab: Lab, sshd: Sshd) -> None:
    hosts = {"local": HostSpec("local", workdir=str(lab.work)), "peer": sshd.spec()}
    resolved = plant.plan(noop(5), noop(5, "peer"), workdir=lab.work, hosts=hosts)
    done = plant.run(lab.results, resolved, default_services())
    assert all_measured(done, 10)
    assert verify(done.stored) == []
    assert {record.host for record in done.stored.records()} == {"local", "peer"}


@pytest.mark.ssh
def test_a_signal_leaves_nothing_on_the_other_side_of_ssh(lab: Lab, sshd: Sshd) -> None:
    mark = f"sleep 98{os.getpid()}"
    job = plant.job(plant.point(script=f"{mark}; echo 1"), plant.point(), host="peer")
    resolved = plant.plan(job, workdir=lab.work, hosts={"peer": sshd.spec()})
    listener = when(events.PointStarted, lambda: os.kill(os.getpid(), signal.SIGINT))
    done = plant.run(lab.results, resolved, listeners=[listener])
    assert (done.code, done.stored.run.counts) == (130, {"interrupted": 1, "skipped": 1})
    pgrep = ["pgrep", "-f", f"^{mark}"]
    until(lambda: subprocess.run(pgrep, capture_output=True, check=False).stdout == b"", "it goes on")
    for step in done.status(host="peer").command.steps:
        assert not Path(step["cwd"]).exists()


@pytest.mark.ssh
def test_an_unreachable_host_and_a_wrong_key_are_findings(lab: Lab, sshd: Sshd, tmp_path: Path) -> None:
    empty = tmp_path / "known_hosts"
    empty.write_text("")
    hosts = {
        "local": HostSpec("local", workdir=str(lab.work)),
        "closed": HostSpec("closed", "ssh", address="127.0.0.1", port=1),
        "stranger": sshd.spec("stranger", known_hosts=str(empty)),
    }
    jobs = [plant.job(host=name) for name in hosts]
    done = plant.run(lab.results, plant.plan(*jobs, workdir=lab.work, hosts=hosts))
    assert (done.code, done.stored.run.counts) == (3, {"ok": 1, "skipped": 2})
    states = {host.name: host.status for host in done.stored.run.hosts}
    assert states == {"local": "ok", "closed": "unreachable", "stranger": "unreachable"}
    assert all(code.startswith("E3") for code in done.codes())
    assert verify(done.stored) == []
