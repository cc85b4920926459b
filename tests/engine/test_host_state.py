"""The state of the host during whole runs: busy programs, a CPU quota, and a host that is not read."""

from __future__ import annotations

import json
import os
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from asct.engine.telemetry.readings import READING
from asct.store.model import Telemetry
from asct.store.schemas import violations
from asct.store.verify import verify
from tests.engine import plant
from tests.engine.conftest import Lab
from tests.engine.plant import job, point
from tests.engine.rounds import LAST, ports, rounds_job

WORK = "i=0; while [ $i -lt 400000 ]; do i=$((i + 1)); done; echo 3"


@pytest.fixture(autouse=True)
def observed(unobserved: None, monkeypatch: pytest.MonkeyPatch) -> None:
    """Read the state of the host, unlike in the other tests of the engine."""
    monkeypatch.setattr("asct.engine.host.READING", READING)


@pytest.fixture
def busy() -> Iterator[None]:
    """Run programs that use all CPUs as far as possible."""
    running = [subprocess.Popen(["sh", "-c", "while :; do :; done"]) for _ in range(os.cpu_count() or 1)]
    try:
        yield
    finally:
        for one in running:
            one.kill()
            one.wait()


@contextmanager
def spinner(cpu: int) -> Iterator[None]:
    """Run a program that uses as much of one CPU as it can."""
    loop = ["sh", "-c", "while :; do :; done"]
    spins = subprocess.Popen(loop)
    os.sched_setaffinity(spins.pid, {cpu})
    try:
        yield
    finally:
        spins.kill()
        spins.wait()


def telemetry(done: plant.Done, repeat: int = 1) -> Telemetry:
    """Return the telemetry of a repeat of the only point, after checking it against its schema."""
    (path,) = done.stored.layout.job("local", "a").glob(f"*/r{repeat}/status.json")
    body = json.loads(path.read_text())["telemetry"]
    assert violations("telemetry", body, "telemetry") == []
    return Telemetry.model_validate(body)


def test_telemetry_is_kept_of_each_repeat(lab: Lab) -> None:
    done = lab.run(job(point(script="sleep 0.2; echo 1"), repeats=2))
    for repeat in (1, 2):
        found = telemetry(done, repeat)
        assert found.growth["context_switches"] > 0 and found.steps == 1
        assert found.own_cpu_s is not None and found.elapsed_s >= 0.1
        assert found.before.uptime_s is not None and found.after.uptime_s is not None
        assert found.after.uptime_s - found.before.uptime_s >= 0.1
    assert sum(done.stored.run.jobs[0].host_states.values()) == 2
    assert verify(done.stored) == []


def test_a_noisy_host_is_told_and_flags_the_values(lab: Lab, busy: None) -> None:
    slow = point(script="sleep 0.6; echo 3")
    done = lab.run(job(slow))
    assert (done.code, done.stored.run.counts) == (0, {"noisy": 1})
    assert telemetry(done).verdict.state == "noisy"
    assert (done.stored.records()[0].flags, done.status().flags) == (["noisy-host"], ["noisy-host"])
    assert done.stored.run.jobs[0].host_states == {"noisy": 1}
    assert done.stored.run.jobs[0].host_reasons["others"] == 1
    strict = lab.run(job(slow, strict=True))
    assert (strict.code, strict.stored.run.counts) == (3, {"noisy": 1})
    assert strict.status().diagnostic["code"] == "E617"
    assert strict.stored.records()[0].flags == ["noisy-host"]


def test_one_spinner_beside_short_steps_is_found(lab: Lab) -> None:
    """The program uses a CPU next to a benchmark that uses the others. Each step takes only a few ticks of the
    counters."""
    with spinner(min(os.sched_getaffinity(0))):
        done = lab.run(job(point(script="sleep 0.06; echo 3", more=("sleep 0.06; echo 3",) * 11)))
    found = telemetry(done)
    assert found.steps == 12 and found.others_cpus is not None
    assert [reason.what for reason in found.verdict.reasons if reason.what == "others"] == ["others"]
    assert "noisy-host" in done.stored.records()[0].flags


def test_a_strict_job_takes_nothing_from_a_noisy_host(lab: Lab, busy: None) -> None:
    slow = job(point(script="sleep 0.6; echo 3"))
    assert telemetry(lab.run(slow)).verdict.state == "noisy"
    assert not lab.run(slow._replace(strict=True), reuse_s=3600.0).stored.run.jobs[0].reused
    taken = lab.run(slow, reuse_s=3600.0)
    assert taken.stored.run.jobs[0].reused and taken.stored.run.jobs[0].host_states == {"noisy": 1}
    assert telemetry(taken).verdict.state == "noisy"


def test_what_a_point_does_itself_is_not_done_by_others(lab: Lab) -> None:
    done = lab.run(job(point(script=WORK)))
    found = telemetry(done)
    assert found.own_cpu_s is not None and found.own_cpu_s >= 0.1
    whole = sum(found.growth[f"ticks_{kind}"] for kind in ("user", "nice", "system")) / 100
    window = (found.after.uptime_s or 0) - (found.before.uptime_s or 0)
    assert found.others_cpus == pytest.approx(max(0.0, whole - found.own_cpu_s) / window, abs=0.001)


def test_a_host_that_is_not_read_is_of_unknown_state(lab: Lab, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("asct.engine.host.READING", None)
    done = lab.run(job(point(script="sleep 0.2; echo 1"), strict=True))
    assert (done.code, telemetry(done).verdict.state) == (0, "unknown")
    assert "not read" in telemetry(done).unknown["before"]


def test_a_repeat_that_goes_on_keeps_what_was_read_around_its_first_steps(lab: Lab, tmp_path: Path) -> None:
    log, marker = tmp_path / "log", tmp_path / "marker"
    resolved = lab.plan(rounds_job(log, f'sleep 0.1; [ "$1" != 3 ] || [ -e {marker} ] || exit 5'))
    first = plant.run(lab.results, resolved, ports())
    assert first.code == 3
    marker.touch()
    done = plant.run(lab.results, resolved, ports(), resume=first.stored.layout)
    found = telemetry(done)
    assert (done.code, found.steps) == (0, LAST) and "steps" not in found.unknown


def test_the_state_of_what_was_measured_before_is_counted_again(lab: Lab) -> None:
    resolved = lab.plan(job(repeats=2))
    first = plant.run(lab.results, resolved)
    again = plant.run(lab.results, resolved, resume=first.stored.layout)
    assert again.stored.run.jobs[0].host_states == first.stored.run.jobs[0].host_states
    assert sum(again.stored.run.jobs[0].host_states.values()) == 2


@pytest.fixture
def quota() -> Iterator[None]:
    """Move this process into a control group that may use a tenth of a CPU."""
    one, two = Path("/sys/fs/cgroup/cpu"), Path("/sys/fs/cgroup")
    group = (one if one.is_dir() else two) / f"asct-test-{os.getpid()}"
    home = two / _group_of(0) if not one.is_dir() else one / _group_of("cpu")
    group.mkdir()
    try:
        if one.is_dir():
            (group / "cpu.cfs_quota_us").write_text("10000")
        elif not (group / "cpu.max").exists():
            pytest.skip("the CPU controller is not for groups at the root of the hierarchy")
        else:
            (group / "cpu.max").write_text("10000 100000")
        (group / "cgroup.procs").write_text(str(os.getpid()))
        yield
    finally:
        (home / "cgroup.procs").write_text(str(os.getpid()))
        group.rmdir()


def _group_of(which: str | int) -> str:
    """Return the control group of this process, relative to the root of its hierarchy."""
    for line in Path("/proc/self/cgroup").read_text().splitlines():
        number, names, path = line.split(":", 2)
        if which in names.split(",") or (which == 0 and number == "0"):
            return path.lstrip("/")
    raise AssertionError(f"no control group of {which}")


@pytest.mark.skipif(os.geteuid() != 0, reason="makes a control group")
def test_a_quota_makes_what_was_measured_invalid(lab: Lab, quota: None) -> None:
    done = lab.run(job(point(script=WORK)))
    found = telemetry(done)
    assert found.verdict.state == "invalid", found
    assert "quota" in {reason.what for reason in found.verdict.reasons if reason.state == "invalid"}
    assert (done.code, done.stored.run.counts) == (3, {"invalid": 1})
    assert done.stored.records()[0].flags == ["invalid-host"]
    assert done.status().flags == ["invalid-host"]
