"""A repeat that takes hours continues after its last finished step, whatever interrupted it."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from asct.engine import events
from asct.hosts.base import Host
from asct.plan.model import Retry
from asct.store.layout import RunLayout
from asct.store.reader import finished_steps, read_run
from asct.store.verify import verify
from tests.awaiting import PATIENCE_S, until
from tests.engine import plant
from tests.engine.conftest import Lab
from tests.engine.rounds import ports, rounds_job
from tests.engine.test_trouble import flaky, when

ROOT = Path(__file__).parents[2]
SUM = 10.0
LIMITS_S = (0.5, 4.0, 32.0)
"""Time limits that are tried one after another. If other programs delay the machine, even steps that take no time
exceed the short limits."""


def once(marker: Path, number: int, act: str) -> str:
    """Return shell code that runs `act` in this step, unless the marker exists."""
    return f"[ $1 != {number} ] || [ -e {marker} ] || {act}"


def ran(log: Path) -> str:
    """Return the steps that were run, as digits."""
    return "".join(log.read_text().split())


def folder_of(done: plant.Done, repeat: int = 1) -> Path:
    (point,) = done.outcome.plan.jobs[0].points
    return done.stored.layout.repeat("local", "a", point.id, repeat)


class Cut:
    """A run that was interrupted in its fourth step and is to be resumed."""

    def __init__(self, lab: Lab, tmp_path: Path, repeats: int = 1, act: str = "exit 7") -> None:
        self.log, self.marker = tmp_path / "log", tmp_path / "marker"
        self.plan = lab.plan(rounds_job(self.log, once(self.marker, 3, act), repeats))
        self.lab = lab
        self.first = plant.run(lab.results, self.plan, ports())
        self.folder = folder_of(self.first)
        self.notes = self.first.stored.layout.steps(self.folder)
        self.marker.touch()

    def resume(self) -> plant.Done:
        self.log.write_text("")
        return plant.run(self.lab.results, self.plan, ports(), resume=self.first.stored.layout)


def test_it_goes_on_behind_the_last_finished_step(lab: Lab, tmp_path: Path) -> None:
    cut = Cut(lab, tmp_path)
    assert (cut.first.code, ran(cut.log)) == (3, "0123")
    assert [note.name for note in finished_steps(cut.first.stored.layout, cut.folder)] == [
        "round-0", "round-1", "round-2",
    ]  # fmt: skip
    assert verify(cut.first.stored) == []
    done = cut.resume()
    assert (done.code, done.codes(), ran(cut.log)) == (0, [], "34")
    assert done.values() == [SUM, 3.0]  # of all five outputs; only the fourth came after the pause
    status = done.status()
    assert [row["name"] for row in status.steps] == [f"round-{number}" for number in range(5)]
    assert status.elapsed_s >= sum(row["elapsed_ns"] for row in status.steps) / 1e9
    assert "resumed after step 3" in status.notes
    command = status.command
    assert command is not None and len(command.steps) == 5
    assert (cut.folder / "4-round-3" / "kept").read_text() == "3\n"
    assert (cut.folder / "4-round-3.try1").is_dir()  # what the failed one left
    assert verify(done.stored) == []


def test_a_repeat_without_trouble_is_noted_too_and_the_others_stay(lab: Lab, tmp_path: Path) -> None:
    done = lab.run(rounds_job(tmp_path / "log", repeats=2), ports=ports())
    assert done.values() == [SUM, -1, SUM, -1]
    assert len(finished_steps(done.stored.layout, folder_of(done, 2))) == 5
    plain = lab.run(plant.job(plant.point()))
    (point,) = plain.outcome.plan.jobs[0].points
    assert not plain.stored.layout.steps(plain.stored.layout.repeat("local", "a", point.id, 1)).exists()


def test_two_pauses_are_told_apart(lab: Lab, tmp_path: Path) -> None:
    log, one, two = tmp_path / "log", tmp_path / "one", tmp_path / "two"
    resolved = lab.plan(rounds_job(log, f"{once(one, 1, 'exit 7')}; {once(two, 3, 'exit 7')}"))
    first = plant.run(lab.results, resolved, ports())
    one.touch()
    plant.run(lab.results, resolved, ports(), resume=first.stored.layout)
    two.touch()
    done = plant.run(lab.results, resolved, ports(), resume=first.stored.layout)
    assert ran(log) == "011" + "2334"
    assert done.values() == [SUM, 13.0]  # the outputs 1 and 3


def test_a_torn_last_line_is_left_out(lab: Lab, tmp_path: Path) -> None:
    cut = Cut(lab, tmp_path)
    cut.notes.write_bytes(cut.notes.read_bytes()[:-20])
    done = cut.resume()
    assert (done.values(), ran(cut.log)) == ([SUM, 2.0], "234")
    assert verify(done.stored) == []


@pytest.mark.parametrize("harm", ["altered", "gone"])
def test_a_step_whose_files_are_not_whole_is_run_again_and_those_behind_it(lab: Lab, tmp_path: Path, harm: str) -> None:
    cut = Cut(lab, tmp_path)
    file = cut.folder / "2-round-1" / "kept"
    file.unlink()
    if harm == "altered":
        file.write_text("7\n")
    done = cut.resume()
    assert (done.values(), ran(cut.log)) == ([SUM, 1.0], "1234")


def test_foreign_steps_are_refused(lab: Lab, tmp_path: Path) -> None:
    """The notes were copied from the first repeat into the second."""
    cut = Cut(lab, tmp_path, repeats=2)
    other = folder_of(cut.first, 2)
    shutil.rmtree(other)
    shutil.copytree(cut.folder, other)
    done = cut.resume()
    assert done.codes() == ["E622"]
    assert ran(cut.log) == "34" + "01234"
    assert done.values() == [SUM, 3.0, SUM, -1.0]
    assert other.with_name("r2.try1").is_dir()


def test_steps_of_another_version_of_a_program_are_refused(lab: Lab, tmp_path: Path) -> None:
    cut = Cut(lab, tmp_path)

    def newer(host: Host, folder: Path) -> plant.HostFacts:
        found = plant.facts(host, folder)
        return found.model_copy(update={"tools": {"sh": plant.ToolFact(path="/bin/sh", version="9.9")}})

    cut.log.write_text("")
    done = plant.run(lab.results, cut.plan, ports(collect_facts=newer), resume=cut.first.stored.layout)
    assert (done.codes(), ran(cut.log), done.values()) == (["E622"], "01234", [SUM, -1.0])


def test_a_time_limit_cuts_it_off_and_a_retry_goes_on(lab: Lab, tmp_path: Path) -> None:
    for limit_s in LIMITS_S:
        log, marker = tmp_path / f"log-{limit_s}", tmp_path / f"marker-{limit_s}"
        slow = once(marker, 3, f"{{ touch {marker}; sleep 600; }}")
        base = rounds_job(log, slow)
        timed = plant.job(*base.points, benchmark="rounds", timeout_s=limit_s, retry=Retry(1, ("timeout",)))
        done = lab.run(timed, ports=ports())
        if done.code == 0 and ran(log).startswith("0123"):
            break
    assert (done.values(), ran(log)) == ([SUM, 3.0], "01233" + "4")
    assert done.status().attempts == 2


def test_a_step_that_hangs_is_ended_by_a_limit_of_its_own(lab: Lab, tmp_path: Path) -> None:
    for limit_s in LIMITS_S:
        log, marker = tmp_path / f"log-{limit_s}", tmp_path / f"marker-{limit_s}"
        resolved = lab.plan(rounds_job(log, once(marker, 3, "sleep 600"), limit=limit_s))
        first = plant.run(lab.results, resolved, ports())
        found, begun = first.status(), ran(log)
        marker.touch()
        done = plant.run(lab.results, resolved, ports(), resume=first.stored.layout)
        if done.code == 0 and begun == "0123":
            break
    assert (found.status, found.diagnostic["code"]) == ("timeout", "E603")
    assert f"reached its time limit of {limit_s:g} s" in found.diagnostic["message"]
    assert "dmesg" in found.diagnostic["hint"]
    assert (done.values(), ran(log)) == ([SUM, 3.0], "01233" + "4")


def test_a_lost_host_that_answers_again_goes_on_without_a_retry(lab: Lab, tmp_path: Path) -> None:
    log = tmp_path / "log"
    lossy, host = flaky(False, True, False, True, False, True, False, True)
    done = lab.run(rounds_job(log), ports=ports(make_host=lossy.make_host))
    assert (done.code, ran(log)) == (0, "01234")
    assert host.opens == 5  # each part made progress, so asct does not give up, however many losses there are
    assert done.values()[0] == SUM
    assert done.stored.run.counts == {"ok": 1}


def test_a_host_lost_again_in_the_same_step_is_given_up(lab: Lab, tmp_path: Path) -> None:
    lossy, host = flaky(False, *([True] * 50))
    done = lab.run(rounds_job(tmp_path / "log"), ports=ports(make_host=lossy.make_host))
    assert host.opens == 4
    assert done.stored.run.counts == {"host-lost": 1}


def test_a_program_that_ends_well_when_it_is_interrupted_has_not_finished(lab: Lab, tmp_path: Path) -> None:
    log, marker, ready = tmp_path / "log", tmp_path / "marker", tmp_path / "ready"
    obeys = f"{{ trap 'echo 3 | tee kept; exit 0' INT; touch {ready}; while :; do sleep 0.05; done; }}"

    def once_it_runs() -> None:
        until(ready.exists)
        os.kill(os.getpid(), signal.SIGINT)

    resolved = lab.plan(rounds_job(log, once(marker, 3, obeys)))
    first = plant.run(lab.results, resolved, ports(), listeners=[when(events.PointStarted, once_it_runs)])
    assert (first.code, first.stored.run.counts) == (130, {"interrupted": 1})
    marker.touch()
    done = plant.run(lab.results, resolved, ports(), resume=first.stored.layout)
    assert (done.code, done.values(), ran(log)) == (0, [SUM, 3.0], "01233" + "4")


def test_a_noisy_one_under_strict_is_measured_again_from_its_first_step(lab: Lab, tmp_path: Path) -> None:
    log = tmp_path / "log"
    resolved = lab.plan(rounds_job(log, flag="noisy", strict=True))
    first = plant.run(lab.results, resolved, ports())
    assert first.code == 3
    log.write_text("")
    done = plant.run(lab.results, resolved, ports(), resume=first.stored.layout)
    assert ran(log) == "01234"
    assert done.values() == [SUM, -1.0]


def test_an_output_that_cannot_be_read_is_none_to_go_on_from(lab: Lab, tmp_path: Path) -> None:
    log, marker = tmp_path / "log", tmp_path / "marker"
    resolved = lab.plan(rounds_job(log, once(marker, 2, "{ echo x > kept; exit 0; }")))
    first = plant.run(lab.results, resolved, ports())
    assert first.status().diagnostic["code"] == "E608"
    marker.touch()
    log.write_text("")
    done = plant.run(lab.results, resolved, ports(), resume=first.stored.layout)
    assert (ran(log), done.values()) == ("01234", [SUM, -1.0])


def test_steps_that_were_all_finished_are_only_read_again(lab: Lab, tmp_path: Path) -> None:
    """The process was killed between the last step and the end of the repeat."""
    log = tmp_path / "log"
    resolved = lab.plan(rounds_job(log))
    first = plant.run(lab.results, resolved, ports())
    journal = first.stored.layout.journal
    kept = [line for line in journal.read_text().splitlines(keepends=True) if '"point-ended"' not in line]
    journal.write_text("".join(kept))
    log.write_text("")
    done = plant.run(lab.results, resolved, ports(), resume=first.stored.layout)
    assert (ran(log), done.values()) == ("", [SUM, -1.0])
    assert verify(done.stored) == []


def test_a_killed_run_runs_no_step_twice(lab: Lab, tmp_path: Path) -> None:
    script = (
        "import os, sys; from pathlib import Path; from tests.engine import plant, rounds\n"
        "from asct.store.layout import RunLayout\n"
        "results, work, marker, log = map(Path, sys.argv[1:])\n"
        "trouble = f'[ $1 != 3 ] || [ -e {marker} ] || kill -KILL $(cat {marker}.pid)'\n"
        "Path(f'{marker}.pid').write_text(str(os.getpid()))\n"
        "resolved = plant.plan(rounds.rounds_job(log, trouble), workdir=work)\n"
        "resume = next(iter(results.glob('test/2*')), None) if marker.exists() else None\n"
        "done = plant.run(results, resolved, rounds.ports(), resume=RunLayout(resume) if resume else None)\n"
        "print(done.code, done.values())\n"
    )
    log, marker = tmp_path / "log", tmp_path / "marker"
    command = [sys.executable, "-c", script, *map(str, (lab.results, lab.work, marker, log))]
    killed = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=PATIENCE_S, check=False)
    assert killed.returncode == -signal.SIGKILL, killed.stderr
    marker.touch()
    again = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=PATIENCE_S, check=False)
    assert again.stdout == "0 [10.0, 3.0]\n", again.stderr
    assert ran(log) == "01234", "the step that ran when asct was killed came to its end"
    (root,) = (path for path in (lab.results / "test").iterdir() if not path.is_symlink())
    assert verify(read_run(root)) == []


def test_notes_with_another_schema_or_a_name_that_leaves_the_run_count_for_nothing(lab: Lab, tmp_path: Path) -> None:
    done = lab.run(rounds_job(tmp_path / "log"), ports=ports())
    layout, folder = done.stored.layout, folder_of(done)
    path = layout.steps(folder)
    lines = [json.loads(line) for line in path.read_text().splitlines()]
    for change in ({"schema": "asct.step/2"}, {"files": {"../../../run.json": "0"}}, {"folder": "/etc"}):
        path.write_text(
            "".join(json.dumps(line | (change if number == 1 else {})) + "\n" for number, line in enumerate(lines))
        )
        assert len(finished_steps(RunLayout(layout.root), folder)) == 1


def test_each_step_is_told_to_those_who_watch_and_not_kept(lab: Lab, tmp_path: Path) -> None:
    done = lab.run(rounds_job(tmp_path / "log"), ports=ports())
    told = [(event.number, event.label) for event in done.events if isinstance(event, events.StepStarted)]
    assert told == [(number + 1, f"round-{number}") for number in range(5)]
    assert not [body for body in done.stored.journal() if body["t"] == "step-started"]
    assert not [event for event in lab.run(plant.job()).events if isinstance(event, events.StepStarted)]
