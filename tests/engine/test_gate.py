"""Devices are written only with consent and up to a limit, and what was found and written is recorded."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from asct.diagnostics.model import Diagnostic
from asct.engine.failures import failure_of
from asct.plan.model import Retry, Safety
from asct.planner.model import Job
from asct.sdk.guard import Target, guarded
from asct.sdk.step import Output, Step, Tool
from asct.store.verify import verify
from tests.engine import plant
from tests.engine.guarding import DEVICE, SERIAL, Guard, Writer, consented
from tests.engine.plant import job, point


def writing(*points: dict[str, Any], name: str = "a", **fields: Any) -> Job:
    made = [point("writer", index=number, **settings) for number, settings in enumerate(points or ({},))]
    return job(*made, name=name, benchmark="writer", **fields)


def run(tmp_path: Path, guard: Guard, *jobs: Job, safety: Safety | None = None, **options: Any) -> plant.Done:
    ports = plant.collaborators(catalog=plant.Shelf((plant.Probe(), Writer())), provide=guard.provide)
    plan = plant.plan(*jobs, workdir=tmp_path / "work")._replace(safety=safety or consented())
    return plant.run(tmp_path / "results", plan, ports, **options)


def audit(done: plant.Done, name: str = "a") -> Any:
    return json.loads(done.outcome.writer.layout.audit("local", name).read_text())


def test_a_device_that_passes_is_written_and_audited(tmp_path: Path) -> None:
    guard = Guard(tmp_path, takes=100)
    done = run(tmp_path, guard, writing(repeats=2))
    assert (done.code, done.codes(), done.stored.run.counts) == (0, [], {"ok": 2})
    found = audit(done)
    assert [(look["occasion"], look["decision"]) for look in found["looks"]] == [
        ("preflight", "allowed"), ("start", "allowed"),
    ]  # fmt: skip
    assert found["consents"] == [{"device": DEVICE, "serial": SERIAL, "overwrite": False, "reason": "test"}]
    (target,) = found["targets"]
    assert target == {
        "path": DEVICE, "planned_bytes": 20, "written_bytes": 200, "capacity_bytes": 1 << 30,
        "drive_writes": pytest.approx(200 / 2**30, abs=1e-6), "percentage_used": None, "begun": True,
    }  # fmt: skip
    assert found["looks"][0]["devices"][0]["serial"] == SERIAL and len(found["looks"][0]["checks"]) > 5
    assert verify(done.stored) == []
    (done.outcome.writer.layout.root / found["looks"][0]["raw"] / "stdout").unlink()
    assert [item.code for item in verify(done.stored)] == ["E512"]


def test_what_the_run_itself_wrote_is_its_own(tmp_path: Path) -> None:
    guard = Guard(tmp_path)
    assert run(tmp_path, guard, writing({}, {}), writing(name="b")).code == 0
    dirty = [(("--" in arguments), fields[2]) for arguments, (fields,) in guard.calls]
    looks, steps = [flag for step, flag in dirty if not step], [flag for step, flag in dirty if step]
    assert looks == ["0", "0", "0", "1"], "both jobs before, each right before it begins"
    assert steps == ["0", "1", "1"]


@pytest.mark.parametrize(
    ("say", "code"),
    [
        ({"checks": {"mounted": [False, "on /mnt"]}}, "E442"),
        ({"checks": {"serial": [False, "it is S2"]}}, "E440"),
        ({"checks": {"signature": [None, "Operation not permitted"]}}, "E444"),
        ({"silent": ["exclusive"]}, "E445"),
    ],
)
def test_a_refused_device_is_never_written(tmp_path: Path, say: dict[str, Any], code: str) -> None:
    guard = Guard(tmp_path, **say)
    done = run(tmp_path, guard, writing(), job(name="b"))
    assert (done.code, done.codes(), guard.programs) == (4, [code], 0)
    assert done.stored.run.counts == {"ok": 1, "refused": 1} and done.stored.run.jobs[0].refused
    (look,) = audit(done)["looks"]
    assert (look["decision"], look["refusals"][0]["code"]) == ("refused", code)
    assert verify(done.stored) == []


def test_every_refusal_is_told_at_once(tmp_path: Path) -> None:
    guard = Guard(tmp_path, checks={"mounted": [False, "on /mnt"], "swap": [False, "in use"], "serial": [False, "X"]})
    done = run(tmp_path, guard, writing())
    assert sorted(done.codes()) == ["E440", "E442", "E442"]


def test_a_device_that_changes_before_its_job_is_refused(tmp_path: Path) -> None:
    guard = Guard(tmp_path, checks={"holders": [False, "dm-0"]}, **{"from": 2})
    done = run(tmp_path, guard, writing())
    assert (done.code, done.codes(), guard.programs) == (4, ["E442"], 0)
    assert [look["decision"] for look in audit(done)["looks"]] == ["allowed", "refused"]


def test_a_step_that_is_refused_ends_its_job(tmp_path: Path) -> None:
    guard = Guard(tmp_path, checks={"exclusive": [False, "busy"]}, **{"from": 4})
    done = run(tmp_path, guard, writing({}, {}, {}, retry=Retry(2, ("failed",))), job(name="b"))
    assert (done.code, done.stored.run.counts) == (4, {"ok": 2, "refused": 2})
    assert len(guard.calls) == 4, "a refusal is not tried again"
    status = done.status(number=1)
    assert status.diagnostic["code"] == "E442"
    assert "check `exclusive` failed: busy" in status.diagnostic["message"]
    assert [look["occasion"] for look in audit(done)["looks"]] == ["preflight", "start", "step"]
    assert verify(done.stored) == []


@pytest.mark.parametrize(
    "safety",
    [Safety(), consented(host="elsewhere"), consented(device="/dev/loop1"), consented(serial="")],
)
def test_no_consent_no_look(tmp_path: Path, safety: Safety) -> None:
    guard = Guard(tmp_path)
    done = run(tmp_path, guard, writing(), safety=safety)
    assert (done.code, done.codes(), guard.calls) == (4, ["E431"], [])
    (look,) = audit(done)["looks"]
    assert (look["decision"], look["refusals"][0]["code"], look["raw"]) == ("refused", "E431", "")
    assert verify(done.stored) == []


def test_a_link_to_a_device_is_no_consent(tmp_path: Path) -> None:
    link = tmp_path / "link"
    link.symlink_to(DEVICE)
    done = run(tmp_path, Guard(tmp_path), writing({"device": str(link)}))
    assert (done.code, done.codes()) == (4, ["E431"])


@pytest.mark.parametrize("path", ["/dev/loop00", "/dev/disk/by-id/no-such-drive"])
def test_a_device_that_is_not_there_is_never_made(tmp_path: Path, path: str) -> None:
    done = run(tmp_path, Guard(tmp_path), writing({"device": path}), safety=consented(device=path))
    assert (done.code, done.codes()) == (3, ["E424"])
    assert not Path(path).exists()


def test_without_its_checks_nothing_is_written(tmp_path: Path) -> None:
    ports = plant.collaborators(catalog=plant.Shelf((Writer(),)))
    plan = plant.plan(writing(), workdir=tmp_path / "work")._replace(safety=consented())
    done = plant.run(tmp_path / "results", plan, ports)
    assert (done.code, done.stored.run.counts) == (3, {"skipped": 1})
    assert done.codes() == ["E401"]


# ---- limits ----


def limits(guard: Guard) -> list[int | None]:
    """Return the limit that each program was given."""
    found = []
    for arguments, _ in guard.calls:
        if "--" in arguments:
            head = arguments[: arguments.index("--")]
            assert head.count("--max-write-bytes") <= 1
            given = "--max-write-bytes" in head
            found.append(int(head[head.index("--max-write-bytes") + 1]) if given else None)
    return found


def test_the_limit_holds_over_repeats_and_jobs(tmp_path: Path) -> None:
    guard = Guard(tmp_path, takes=400)
    done = run(tmp_path, guard, writing(repeats=2), writing({}, {}, name="b"), safety=consented(1000))
    assert limits(guard) == [1000, 600, 200]
    assert (done.code, done.stored.run.counts) == (4, {"ok": 2, "refused": 2})
    diagnostic = done.status("b").diagnostic
    assert (diagnostic["code"], "permits 1000 B for all targets" in diagnostic["message"]) == ("E446", True)
    assert audit(done, "b")["targets"][0]["written_bytes"] == 200


def test_without_a_limit_the_steps_are_as_they_are(tmp_path: Path) -> None:
    guard = Guard(tmp_path, takes=400)
    assert run(tmp_path, guard, writing({}, {})).code == 0
    assert limits(guard) == [None, None]


def test_a_resumed_run_remembers(tmp_path: Path) -> None:
    guard = Guard(tmp_path, takes=400)
    jobs = writing({}, {}, {})
    done = run(tmp_path, guard, jobs, safety=consented(1000))
    assert (done.code, limits(guard)) == (4, [1000, 600, 200])
    again = run(tmp_path, guard, jobs, safety=consented(1000), resume=done.outcome.writer.layout)
    assert (again.code, guard.programs) == (4, 3), "nothing more is written"
    found = audit(again)
    assert found["targets"][0]["written_bytes"] == 1000
    assert [look["occasion"] for look in found["looks"]] == ["preflight", "start"] * 2
    assert guard.calls[-1][1][0][2] == "1", "what this run wrote is its own"


def test_what_was_refused_is_not_of_the_run(tmp_path: Path) -> None:
    """A program that was not started wrote nothing. Any content that exists when the run is resumed therefore comes
    from somewhere else."""
    guard = Guard(tmp_path, checks={"exclusive": [False, "busy"]}, **{"from": 3})
    done = run(tmp_path, guard, writing())
    assert done.code == 4 and [target["begun"] for target in audit(done)["targets"]] == [False]
    guard.say.clear()
    again = run(tmp_path, guard, writing(), resume=done.outcome.writer.layout)
    assert again.code == 0 and [target["begun"] for target in audit(again)["targets"]] == [True]
    assert {targets[0][2] for _, targets in guard.calls} == {"0"}, "never dirty"


# ---- messages ----


def failure(stdout: str, status: int) -> Diagnostic | None:
    step = guarded(Step("point", Tool("fio")), "/usr/bin/fio", [Target(DEVICE, "write", SERIAL)])
    return failure_of(Output(step, status, {"stdout": stdout, "stderr": ""}), "h", "raw", ("guard",))


def test_a_refused_program_is_no_failed_self_check() -> None:
    check = {"t": "check", "path": DEVICE, "name": "swap", "ok": False, "detail": "it is swap"}
    end = {"t": "end", "ok": False, "error": "refused: swap: it is swap"}
    found = failure("".join(json.dumps(item) + "\n" for item in (check, end)), 4)
    assert found is not None
    assert (found.code, found.message) == ("E442", f"host h: refused to use {DEVICE}: check `swap` failed: it is swap")
    other = failure('{"t":"end","ok":false,"error":"it broke"}\n', 4)
    assert other is not None and other.code == "E606"
