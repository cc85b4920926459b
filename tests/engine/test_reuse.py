"""Points that earlier runs measured under the same conditions are reused as a whole, and reported as reused."""

from __future__ import annotations

import json
import os
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from asct.engine.reuse import earlier_runs, reusable
from asct.engine.reuse_key import can_be_reused, changes, conditions, drives
from asct.hosts.base import Host
from asct.hosts.factory import open_host
from asct.hosts.local import LocalHost
from asct.plan.model import HostSpec, PendingValue
from asct.sdk.facts import Cache, Cpu, HostFacts, HugePages, Load, Memory, NumaNode, System, ToolFact
from asct.sdk.needs import Needs
from asct.store.verify import verify
from tests.engine import plant
from tests.engine.conftest import Lab

HOUR = 3600.0
COUNTING = 'n=$(cat "{0}" 2>/dev/null || echo 0); echo $((n + 1)) >"{0}"; echo $((n + 1))'


@pytest.fixture
def script(tmp_path: Path) -> str:
    """Return a script that prints how often it has run."""
    return COUNTING.format(tmp_path / "count")


def reused(done: plant.Done) -> dict[str, int]:
    return {source.run: source.repeats for job in done.stored.run.jobs for source in job.reused}


def name(done: plant.Done) -> str:
    return f"{done.stored.run.plan}/{done.stored.layout.root.name}"


def seen(**changed: Any) -> plant.Services:
    """Return services that report different facts for the host."""

    def facts(host: Host, folder: Path) -> HostFacts:
        return plant.facts(host, folder).model_copy(update=changed)

    return plant.collaborators(collect_facts=facts)


def test_what_was_measured_is_taken_with_all_that_belongs_to_it(lab: Lab, script: str) -> None:
    points = [plant.point(script=f"{script}; echo {index} >kept", index=index, swept=["index"]) for index in (1, 2)]
    job = plant.job(*points, repeats=2, warmup=1)
    first = lab.run(job)
    assert first.values() == [3.0, 4.0, 5.0, 6.0]
    second = lab.run(job, reuse_s=HOUR)
    assert (second.code, second.codes(), second.stored.run.counts) == (0, [], {"ok": 4})
    assert sorted(second.values()) == first.values()
    assert reused(second) == {name(first): 4}
    assert verify(second.stored) == []
    run = second.stored.run
    for record in second.stored.records():
        assert (record.run, record.flags) == (run.run, ["reused"])
        assert (second.stored.layout.root / record.raw / "kept").read_text().strip() == str(record.point["index"])
    status = second.status(number=1, repeat=2)
    assert (status.reused_from, status.flags) == (name(first), ["reused"])
    assert status.started_at == first.status(number=1, repeat=2).started_at
    assert status.reuse_key == first.status(number=1, repeat=2).reuse_key != ""
    assert lab.run(job).values() == [9.0, 10.0, 11.0, 12.0]  # nothing is reused unless requested


def test_a_job_that_is_taken_whole_asks_for_no_machine(lab: Lab, script: str, monkeypatch: pytest.MonkeyPatch) -> None:
    begun: list[str] = []
    monkeypatch.setattr(LocalHost, "begin_job", lambda _, job_id: begun.append(job_id))
    done, new = plant.job(plant.point(script=script)), plant.job(plant.point(script="echo 9"), name="b")
    lab.run(done)
    assert begun == ["a"]
    assert lab.run(done, new, reuse_s=HOUR).stored.run.counts == {"ok": 2}
    assert begun == ["a", "b"]


def test_a_copy_of_a_copy_tells_who_measured_it_and_outlives_it(lab: Lab, script: str) -> None:
    job = plant.job(plant.point(script=script))
    first = lab.run(job)
    lab.run(job, reuse_s=HOUR)
    for path in sorted(first.stored.layout.root.rglob("*"), reverse=True):
        path.rmdir() if path.is_dir() else path.unlink()
    first.stored.layout.root.rmdir()
    third = lab.run(job, reuse_s=HOUR)
    assert (third.values(), reused(third)) == ([1.0], {name(first): 1})
    assert verify(third.stored) == []
    assert third.stored.records()[0].flags == ["reused"]


def test_another_plan_and_another_id_will_do(lab: Lab, script: str) -> None:
    point = plant.point(script=script, more=(script,))
    first = lab.run(plant.job(point))
    other = lab.plan(plant.job(point, name="again"), name="other")
    second = plant.run(lab.results, other, reuse_s=HOUR)
    assert (second.values(), reused(second)) == ([2.0], {name(first): 1})
    assert verify(second.stored) == []
    assert all((second.stored.layout.root / str(row["folder"])).is_dir() for row in second.status("again").steps)
    assert (second.stored.records()[0].plan, second.stored.records()[0].id) == ("other", "again")


@pytest.mark.parametrize(
    "change",
    [
        {"system": System(kernel="6.2")},
        {"cpu": Cpu(cpus=2, model="Test CPU", governor="powersave")},
        {"cpu": Cpu(cpus=2, model="Test CPU", microcode="0x2")},
        {"memory": Memory(total_bytes=16 << 30, available_bytes=4 << 30)},
        {"tools": {"sh": ToolFact(path="/bin/sh", version="2")}},
    ],
    ids=lambda change: next(iter(change)),
)
def test_a_host_that_changed_is_measured_again(lab: Lab, script: str, change: dict[str, Any]) -> None:
    job = plant.job(plant.point(script=script))
    first = lab.run(job)
    second = lab.run(job, ports=seen(**change), reuse_s=HOUR)
    assert (second.values(), reused(second), second.codes()) == ([2.0], {}, ["E623"])
    message = second.outcome.events.findings[-1][1].message
    assert name(first) in message
    fact = next(iter(change))
    assert fact == "tools" or f"{fact}." in message
    assert lab.run(job, ports=seen(**change), reuse_s=HOUR).values() == [2.0]  # the newest run is examined first
    assert lab.run(job, reuse_s=HOUR).values() == [1.0]  # and then older ones


def test_facts_that_always_move_do_not_count(lab: Lab, script: str) -> None:
    job = plant.job(plant.point(script=script))
    lab.run(job)
    moved = {
        "load": Load(load1=7.0),
        "memory": Memory(total_bytes=(8 << 30) - 4096, available_bytes=1 << 30),
        "work_free_bytes": 5 << 30,
        "tools": {"sh": ToolFact(path="/bin/sh"), "gcc": ToolFact(path="/usr/bin/gcc", version="13")},
    }
    assert reused(lab.run(job, ports=seen(**moved), reuse_s=HOUR))


def test_settings_and_repeats_decide(lab: Lab, script: str) -> None:
    lab.run(plant.job(plant.point(script=script), repeats=2))
    assert lab.run(plant.job(plant.point(script=script), repeats=1), reuse_s=HOUR).values() == [1.0]
    assert lab.run(plant.job(plant.point(script=script), repeats=3), reuse_s=HOUR).values() == [3.0, 4.0, 5.0]
    assert lab.run(plant.job(plant.point(script=f"{script} #"), repeats=1), reuse_s=HOUR).values() == [6.0]


def test_what_is_too_old_is_measured(lab: Lab, script: str) -> None:
    job = plant.job(plant.point(script=script))
    first = lab.run(job)
    path = first.stored.layout.status(first.stored.layout.repeat("local", "a", job.points[0].id, 1))
    old = json.loads(path.read_text()) | {"started_at": "2020-01-01T00:00:00.000Z"}
    path.write_text(json.dumps(old))
    assert lab.run(job, reuse_s=HOUR).values() == [2.0]


@pytest.mark.parametrize(
    "other",
    [{"sha256": "b" * 64}, {"flags": ("-O3", "-march=native")}, {"compiler": "clang 19"}],
    ids=lambda other: next(iter(other)),
)
def test_another_build_of_a_kernel_is_measured_again(lab: Lab, other: dict[str, Any]) -> None:
    def build(**made: Any) -> plant.Services:
        def provide(host: Host, kernel: str, facts: HostFacts, folder: Path) -> plant.FakeBuilt:
            return replace(plant.provide(host, kernel, facts, folder), **made)

        return plant.collaborators(provide=provide)

    lab.run(plant.kernel_job(), ports=build())
    changed = lab.run(plant.kernel_job(), ports=build(**other), reuse_s=HOUR)
    assert (reused(changed), changed.codes()) == ({}, ["E623"])
    assert "a program, a drive" in changed.outcome.events.findings[-1][1].message
    assert reused(lab.run(plant.kernel_job(), ports=build(**other), reuse_s=HOUR))


def test_another_version_of_a_benchmark_is_measured_again(lab: Lab, script: str) -> None:
    job = plant.job(plant.point(script=script))
    lab.run(job)
    assert lab.run(job._replace(version="2"), reuse_s=HOUR).values() == [2.0]


def test_what_wipes_its_target_or_writes_to_it_is_not_repeatable() -> None:
    assert can_be_reused(Needs(targets=("/dev/a",)))
    assert not can_be_reused(Needs(targets=("/dev/a",), purges=("/dev/a",), may_overwrite=True))
    assert not can_be_reused(Needs(targets=("/dev/a",), writes_bytes=(("/dev/a", 1),), may_overwrite=True))


def test_failures_and_doubtful_results_are_not_taken(lab: Lab, script: str) -> None:
    failing = plant.job(plant.point(script=f"{script}; exit 3"))
    assert lab.run(failing).code == 3
    assert lab.run(failing, reuse_s=HOUR).stored.run.counts == {"failed": 1}
    invalid = plant.job(plant.point(script=f"{script} >/dev/null; echo invalid-x 5"))
    lab.run(invalid)
    assert reused(lab.run(invalid, reuse_s=HOUR)) == {}
    noisy = plant.job(plant.point(script=f"{script} >/dev/null; echo noisy 5"))
    lab.run(noisy)
    assert reused(lab.run(noisy._replace(strict=True), reuse_s=HOUR)) == {}
    assert lab.run(noisy, reuse_s=HOUR).status().flags == ["noisy", "reused"]


def test_an_invalid_result_that_an_older_version_counted_as_measured_is_not_reused(lab: Lab, script: str) -> None:
    """Since then, the status of such a repeat is `invalid`. Before, it was `ok`."""
    job = plant.job(plant.point(script=script))
    first = lab.run(job)
    [path] = first.stored.layout.root.rglob("r1/status.json")
    status = json.loads(path.read_text())
    assert status["status"] == "ok"
    path.write_text(json.dumps({**status, "flags": ["invalid-x"]}))
    assert reused(lab.run(job, reuse_s=HOUR)) == {}


def test_what_writes_to_a_named_file_is_measured_each_time(lab: Lab, script: str, tmp_path: Path) -> None:
    point = plant.point(script=script, writes=str(tmp_path / "target"), overwrite=True)
    first = lab.run(plant.job(point))
    assert first.status().reuse_key == ""
    assert lab.run(plant.job(point), reuse_s=HOUR).values() == [2.0]


def test_a_file_that_is_read_counts_by_its_size(lab: Lab, script: str, tmp_path: Path) -> None:
    target = tmp_path / "data"
    target.write_bytes(bytes(4096))
    job = plant.job(plant.point(script=script, reads=str(target)))
    lab.run(job)
    os.utime(target, (0, 0))
    assert reused(lab.run(job, reuse_s=HOUR))
    target.write_bytes(bytes(8192))
    assert lab.run(job, reuse_s=HOUR).values() == [2.0]


def test_drives_are_known_by_what_they_are(lab: Lab, tmp_path: Path) -> None:
    odd = tmp_path / "a'b\n=\n$(x)"
    odd.write_text("four")
    host = open_host(HostSpec("local", workdir=str(lab.work)))
    try:
        found = drives(host, [str(tmp_path), "/nowhere", str(odd)])
        assert drives(host, ()) == {}
    finally:
        host.close()
    assert found["/nowhere"] == "file system on: \n"
    assert found[str(tmp_path)].startswith("file system on: ")
    assert found[str(odd)] == f"bytes: 4\n{found[str(tmp_path)]}"
    assert str(tmp_path) not in found[str(tmp_path)]


def test_jobs_that_need_a_taken_result_get_it(lab: Lab, script: str) -> None:
    size = PendingValue("${needs.first.best}", ("first",))
    first = plant.job(plant.point(script=script), name="one")
    point = plant.point(script=script, index=1, memory=size)
    second = plant.job(point, name="two", needs={"first": "one"})
    before = lab.run(first)
    done = lab.run(first, second, reuse_s=HOUR)
    assert (done.values(), reused(done)) == ([1.0, 2.0], {name(before): 1})
    assert lab.run(first, second, reuse_s=HOUR).values() == [1.0, 2.0]
    lab.run(first)  # if the result differs, the job that reads it is a different job
    assert lab.run(first, second, reuse_s=HOUR).values() == [3.0, 4.0]


def test_a_damaged_run_is_told_and_not_taken_from(lab: Lab, script: str) -> None:
    job = plant.job(plant.point(script=script), plant.point(script=script, index=1), repeats=2)
    first = lab.run(job)
    path = first.stored.layout.records
    path.write_text("".join(path.read_text().splitlines(keepends=True)[:3]))
    second = lab.run(job, reuse_s=HOUR)
    assert (second.code, second.codes(), list(reused(second).values())) == (0, ["E624"], [2])
    assert verify(second.stored) == []
    path.write_text("{")
    third = lab.run(plant.job(plant.point(script=script), repeats=2), reuse_s=HOUR)
    assert list(reused(third)) == [name(first)]  # of the second run, which has a whole copy


def test_raw_files_that_are_gone_leave_no_half_point(lab: Lab, script: str) -> None:
    job = plant.job(plant.point(script=script, more=(script,)), repeats=2)
    first = lab.run(job)
    folder = first.stored.layout.repeat("local", "a", job.points[0].id, 2)
    for path in (folder / "2-again").iterdir():
        path.unlink()
    (folder / "2-again").rmdir()
    second = lab.run(job, reuse_s=HOUR)
    assert (second.codes(), reused(second), len(second.values())) == (["E624"], {}, 2)
    assert verify(second.stored) == []
    assert not list(second.stored.layout.root.glob("jobs/local/a/*/*.try*"))


def test_a_resumed_run_keeps_what_it_took(lab: Lab, script: str, tmp_path: Path) -> None:
    good, late = plant.point(script=script), plant.point(script=f"[ -e {tmp_path}/there ] && echo 7", index=1)
    first = lab.run(plant.job(good))
    job = plant.job(good, late, warmup=1)
    second = lab.run(job, reuse_s=HOUR)
    assert (second.code, second.stored.run.counts) == (3, {"failed": 1, "ok": 1})
    (tmp_path / "there").touch()
    third = lab.run(job, resume=second.stored.layout)
    assert (third.code, third.values(), reused(third)) == (0, [1.0, 7.0], {name(first): 1})
    assert verify(third.stored) == []


def test_the_preview_counts_what_may_be_taken(lab: Lab, script: str) -> None:
    points = [plant.point(script=script, index=index) for index in range(3)]
    wanted = lab.plan(plant.job(*points), plant.job(plant.point(writes="/x"), name="b"))
    shelf = plant.Shelf()
    assert reusable(wanted, shelf, earlier_runs(lab.results, HOUR)) == {"local/a": 0, "local/b": 0}
    lab.run(plant.job(*points[:2]))
    assert reusable(wanted, shelf, earlier_runs(lab.results, HOUR)) == {"local/a": 2, "local/b": 0}
    assert reusable(wanted, shelf, earlier_runs(lab.results, 0.0))["local/a"] == 0
    lab.run(plant.job(points[2]), ports=seen(system=System(kernel="6.2")))
    assert reusable(wanted, shelf, earlier_runs(lab.results, HOUR))["local/a"] == 1


def test_conditions_are_named_as_facts_are() -> None:
    facts = HostFacts(
        host="h", collected_at="", cpu=Cpu(model="M", frequency_hz=2e9),
        caches=[Cache(level=1, type="Data", size_bytes=1)],
        nodes=[NumaNode(id=0, cpus=[0], memory_bytes=8 << 30, free_bytes=1)],
        memory=Memory(huge_pages=[HugePages(page_bytes=2 << 20, total=4, free=4)]),
    )  # fmt: skip
    found = conditions(facts)
    assert {"cpu.model", "caches", "nodes", "memory.huge_pages", "system.kernel"} <= found.keys()
    assert not {"cpu.frequency_hz", "work_free_bytes", "load.load1", "memory.available_bytes"} & found.keys()
    steady = facts.model_copy(update={"cpu": Cpu(model="M", frequency_hz=2e9, governor="performance")})
    assert changes(facts, steady) == ["cpu.governor", "cpu.frequency_hz"]
    used = facts.model_copy(update={"memory": Memory(huge_pages=[HugePages(page_bytes=2 << 20, total=4, free=0)])})
    assert changes(facts, used) == []
    json.dumps(found)
