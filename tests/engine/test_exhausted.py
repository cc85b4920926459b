"""Runs on a machine that has no threads or no memory left. `Thread.start` fails in the same way as on such a machine
(RLIMIT_NPROC)."""

from __future__ import annotations

import json
import threading

import pytest

from asct.errors import NotMeasured, exhausted
from asct.hosts.base import Host
from asct.plan.model import HostSpec
from asct.store.layout import RunLayout
from tests.engine import plant
from tests.engine.conftest import Lab
from tests.engine.plant import job
from tests.engine.test_run import locked_apart


def allow(monkeypatch: pytest.MonkeyPatch, number: int) -> None:
    """Allow only `number` threads for hosts to start."""
    start = threading.Thread.start

    def limited(thread: threading.Thread) -> None:
        if thread.name.startswith("host_") and int(thread.name.removeprefix("host_")) >= number:
            raise RuntimeError("can't start new thread")
        start(thread)

    monkeypatch.setattr(threading.Thread, "start", limited)


def test_the_threads_that_started_measure_all_hosts(lab: Lab, monkeypatch: pytest.MonkeyPatch) -> None:
    allow(monkeypatch, 1)
    hosts = {name: HostSpec(name, workdir=str(lab.work)) for name in ("one", "two", "three")}
    plan = plant.plan(*(job(host=name) for name in hosts), workdir=lab.work, hosts=hosts)
    done = plant.run(lab.results, plan, locked_apart(lab))
    assert (done.code, done.stored.run.counts, done.codes()) == (0, {"ok": 3}, ["E916"])
    assert done.stored.run.findings[0]["message"].startswith("measuring 1 of 3 hosts at a time")


def test_without_any_thread_the_run_is_not_measured_and_can_be_resumed(
    lab: Lab, monkeypatch: pytest.MonkeyPatch
) -> None:
    with monkeypatch.context() as patch, pytest.raises(NotMeasured) as caught:
        allow(patch, 0)
        lab.run(job())
    (root,) = (path for path in (lab.results / "test").iterdir() if not path.is_symlink())
    (found,) = caught.value.diagnostics
    assert found.code == "E916" and f"reduce `--forks`, then run `asct resume {root}`" in found.hint
    written = json.loads((root / "run.json").read_text())
    assert (written["status"], written["exit_code"]) == ("incomplete", 3)
    done = lab.run(job(), resume=RunLayout(root))
    assert (done.code, done.stored.run.counts) == (0, {"ok": 1})


@pytest.mark.parametrize("problem", [MemoryError(), RuntimeError("can't start new thread")])
def test_a_host_that_runs_out_leaves_the_others_alone(lab: Lab, problem: Exception) -> None:
    hosts = {name: HostSpec(name, workdir=str(lab.work)) for name in ("one", "two")}
    ports = locked_apart(lab)

    def make(spec: HostSpec, folder: object) -> Host:
        if spec.name == "one":
            raise problem
        return ports.make_host(spec, folder)  # type: ignore[arg-type]

    plan = plant.plan(*(job(host=name) for name in hosts), workdir=lab.work, hosts=hosts)
    done = plant.run(lab.results, plan, plant.collaborators(make_host=make))
    assert (done.code, done.stored.run.counts, done.codes()) == (3, {"ok": 1, "skipped": 1}, ["E916"])


def test_other_errors_remain_bugs() -> None:
    assert exhausted(RuntimeError("dictionary changed size during iteration")) is None
    assert exhausted(ValueError("can't start new thread")) is None
