"""Obstacles that prevent a job from running are found before anything is measured."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pytest

from asct.engine.preflight import check, unfit
from asct.sdk.facts import HostFacts, Memory, ToolFact
from asct.sdk.needs import JobNeeds, Needs, Scratch
from asct.values.version import version_key
from tests.engine import plant
from tests.engine.conftest import Lab
from tests.engine.plant import job, point

GIB = 1 << 30


def facts(**fields: object) -> HostFacts:
    return HostFacts.model_validate({"host": "h", "collected_at": "now", **fields})


def codes(need: Needs, known: HostFacts, found: dict[str, str] | None = None) -> list[str]:
    lacking = unfit(need, known, "job on h")
    findings = [finding.code for finding in check(JobNeeds.of([need]), known, found or {}, "h")]
    return [lacking.code, *findings] if lacking else findings


@pytest.mark.parametrize(
    ("text", "key"), [("fio-3.33", (3, 33)), ("3.30", (3, 30)), ("12.5.6 (x)", (12, 5, 6)), ("", ()), ("git", ())]
)
def test_version_numbers(text: str, key: tuple[int, ...]) -> None:
    assert version_key(text) == key


def test_cpus_that_may_be_used_at_once() -> None:
    need = Needs(cpus=2)
    lacking = unfit(need, facts(cpu={"online": [0, 1, 2], "allowed": [2]}), "job on h")
    assert lacking is not None
    assert (lacking.code, lacking.message) == ("E427", "job on h: requires 2 CPUs, but only 1 can be used (CPU 2)")
    assert codes(need, facts(cpu={"online": [0, 1], "allowed": [0, 1]})) == []
    assert codes(need, facts()) == []
    assert codes(Needs(), facts(cpu={"online": [0], "allowed": [0]})) == []


def test_tools() -> None:
    need = Needs(tools=(("fio", "3.30"),))
    assert codes(need, facts()) == ["E420"]
    assert codes(need, facts(), {"fio": "/opt/fio"}) == []
    assert codes(need, facts(tools={"fio": ToolFact(path="/usr/bin/fio", version="fio-3.9")})) == ["E421"]
    assert codes(need, facts(tools={"fio": ToolFact(path="/usr/bin/fio", version="fio-3.33")})) == []
    assert codes(need, facts(tools={"fio": ToolFact(path="/usr/bin/fio", version=None)})) == []


def test_the_fix_names_the_package() -> None:
    (finding,) = check(JobNeeds.of([Needs(tools=(("mpstat", ""),))]), facts(), {}, "h")
    assert finding.hint == "run on h: apt-get install sysstat"


def test_memory_and_scratch_space() -> None:
    known = facts(memory=Memory(available_bytes=GIB), work_free_bytes=GIB)
    assert codes(Needs(memory_bytes=GIB + 1), known) == ["E422"]
    assert codes(Needs(memory_bytes=GIB), known) == []
    assert codes(Needs(scratch=Scratch("s", GIB - (512 << 20) + 1)), known) == ["E423"]
    assert codes(Needs(scratch=Scratch("s", GIB - (512 << 20))), known) == []
    assert codes(Needs(memory_bytes=9 * GIB, scratch=Scratch("s", 9 * GIB)), facts()) == []


def test_points_are_taken_together() -> None:
    demand = JobNeeds.of(
        [
            Needs(tools=(("fio", "3.30"),), scratch=Scratch("s", 1), targets=("/a",)),
            Needs(tools=(("fio", "3.4"),), scratch=Scratch("s", 7), writes_bytes=(("/a", 4), ("", 9))),
        ]
    )
    assert (demand.tools, demand.scratch) == ({"fio": "3.30"}, {"s": 7})
    assert (demand.targets, demand.writes) == ({"/a": True}, {"/a": 4, "": 9})
    assert demand.written_paths == ("/a",)


def test_a_point_without_room_fails_and_the_others_go_on(lab: Lab) -> None:
    done = lab.run(job(point(script="echo 1"), point(script="echo 2", memory=99 * GIB), point(script="echo 3")))
    assert (done.code, done.stored.run.counts, done.values()) == (3, {"ok": 2, "failed": 1}, [1, 3])
    assert done.codes() == ["E422"], "told before anything is measured"
    status = done.status(number=1)
    assert (status.diagnostic["code"], status.steps) == ("E422", [])
    assert status.diagnostic["message"] == "a on local: requires 99.0 GiB of memory, but only 4096 MiB is available"


def test_a_job_without_room_for_any_point_is_skipped(lab: Lab) -> None:
    points = [point(script="echo 1", memory=99 * GIB), point(script="echo 2", memory=98 * GIB)]
    done = lab.run(job(*points), job(name="b"))
    assert (done.code, done.stored.run.counts) == (3, {"ok": 1, "skipped": 2})
    assert done.codes() == ["E422", "E422"]


def test_a_missing_tool_skips_its_job_only(lab: Lab) -> None:
    class Lacking(plant.Probe):
        name = "lacking"
        tool = ("no-such-program", "1.0")

    shelf = plant.Shelf((plant.Probe(), Lacking()))
    done = lab.run(job(benchmark="lacking", name="x"), job(), ports=plant.collaborators(catalog=shelf))
    assert (done.code, done.codes()) == (3, ["E420"])
    assert done.stored.run.counts == {"ok": 1, "skipped": 1}
    assert "no-such-program is not installed" in done.stored.run.jobs[0].note


def test_a_job_is_settled_as_a_whole_and_its_cautions_are_told_before_it_runs(lab: Lab) -> None:
    calls: list[int] = []

    class Settling(plant.Probe):
        def settle(self, points: Sequence[plant.ProbeParams], facts: HostFacts) -> list[plant.ProbeParams]:
            calls.append(len(points))
            highest = max(one.index for one in points)
            return [one.model_copy(update={"script": f"echo {10 * highest + one.index}"}) for one in points]

        def cautions(self, points: Sequence[plant.ProbeParams], facts: HostFacts) -> list[tuple[str, str]]:
            return [(points[0].script, "less")]

    ports = plant.collaborators(catalog=plant.Shelf((Settling(),)))
    done = lab.run(job(point(index=1), point(index=2)), ports=ports)
    assert (done.code, calls, done.values()) == (0, [2], [21, 22])
    [(host, told)] = [(host, item) for host, item in done.outcome.events.findings if item.code == "E433"]
    assert (host, told.severity, told.message, told.hint) == ("local", "warning", "a on local: echo 21", "less")


def test_a_kernel_that_cannot_be_built_skips_its_jobs(lab: Lab) -> None:
    def provide(*_: object) -> plant.FakeBuilt:
        raise plant.NotMeasured(plant.Diagnostic("E401", "no compiler", hint="install gcc"))

    done = lab.run(plant.kernel_job(), job(name="b"), ports=plant.collaborators(provide=provide))
    assert (done.code, done.codes()) == (3, ["E401"])
    assert done.stored.run.counts == {"ok": 1, "skipped": 1}


def test_an_existing_file_is_not_overwritten(lab: Lab, tmp_path: Path) -> None:
    target = tmp_path / "precious"
    target.write_text("mine")
    writes = f"echo gone > {target}; echo 1"
    done = lab.run(job(point(script=writes, writes=str(target))), job(name="b"))
    assert (done.code, done.codes()) == (4, ["E430"])
    assert target.read_text() == "mine"
    assert done.stored.run.jobs[0].refused and done.stored.run.jobs[0].note.startswith("E430 ")
    assert done.stored.run.counts == {"ok": 1, "refused": 1}
    done = lab.run(job(point(script=writes, writes=str(target), overwrite=True)))
    assert (done.code, target.read_text()) == (0, "gone\n")


def test_a_file_this_run_made_may_be_written_again(lab: Lab, tmp_path: Path) -> None:
    target = tmp_path / "new"
    done = lab.run(*(job(point(script=f"echo {n} > {target}; echo 1", writes=str(target)), name=n) for n in "ab"))
    assert (done.code, target.read_text()) == (0, "b\n")


def test_a_file_that_appears_before_its_job_is_not_overwritten(lab: Lab, tmp_path: Path) -> None:
    target = tmp_path / "late"
    done = lab.run(
        job(point(script=f"echo mine > {target}; echo 1"), name="other"),
        job(point(script=f"echo gone > {target}; echo 1", writes=str(target))),
    )
    assert (done.code, done.codes(), target.read_text()) == (4, ["E430"], "mine\n")


@pytest.mark.parametrize(
    ("settings", "code", "exit_code"),
    [
        ({"reads": "/nowhere-at-all"}, "E425", 3),
        ({"reads": "@/absent"}, "E424", 3),
        ({"writes": "@/absent/x"}, "E425", 3),
        ({"writes": "@"}, "E431", 4),
        ({"writes": "/dev/null"}, "E431", 4),
        ({"writes": "/dev/vda"}, "E431", 4),
        ({"reads": "/etc/passwd"}, None, 0),
        ({"reads": "@/with space; touch x"}, "E424", 3),
    ],
)
def test_named_files(lab: Lab, tmp_path: Path, settings: dict[str, str], code: str | None, exit_code: int) -> None:
    given = {name: text.replace("@", str(tmp_path)) for name, text in settings.items()}
    if settings == {"reads": "/nowhere-at-all"}:
        given = {"reads": "/nowhere-at-all/x"}
    done = lab.run(job(point(**given)))
    assert done.codes() == ([code] if code else [])
    assert done.code == exit_code


def test_settings_that_contradict_after_binding(lab: Lab) -> None:
    class Picky(plant.Probe):
        def check(self, params: plant.ProbeParams) -> list[tuple[str, str]]:
            return [("index", "is odd")] if params.index % 2 else []

    done = lab.run(job(point(index=1), point(index=2)), ports=plant.collaborators(catalog=plant.Shelf((Picky(),))))
    assert done.codes() == ["E614"]
    assert done.stored.run.counts == {"skipped": 2}
