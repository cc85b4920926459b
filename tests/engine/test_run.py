"""Whole runs with real processes on this machine."""

from __future__ import annotations

import html
import json
from collections.abc import Sequence
from pathlib import Path

import pytest

from asct.analysis.losses import losses_of
from asct.analysis.view import open_view
from asct.engine import events
from asct.export import render
from asct.hosts.base import SessionSpec
from asct.hosts.factory import make_host
from asct.plan.model import HostSpec, PendingValue, Retry
from asct.registry import installed
from asct.sdk.benchmark import Context
from asct.sdk.metric import Metric
from asct.sdk.step import Step
from asct.store.verify import verify
from tests.apart import apart
from tests.engine import plant
from tests.engine.conftest import Lab
from tests.engine.plant import job, kernel_job, point


def test_values_become_records_with_their_coordinates(lab: Lab) -> None:
    points = [point(script=f"echo {n}", index=n, sizes=[4096, n], swept=("index", "sizes")) for n in (1, 2)]
    done = lab.run(job(*points, repeats=2, warmup=1))
    assert done.code == 0
    assert done.values() == [1, 2, 1, 2]
    record = done.stored.records()[1]
    assert record.point == {"index": 2, "sizes": [4096, 2]}
    assert (record.host, record.id, record.repeat, record.unit) == ("local", "a", 1, "1")
    assert (done.stored.layout.root / record.raw / "stdout").read_text() == "2\n"
    assert done.stored.run.counts == {"ok": 4}
    assert done.stored.run.status == "complete"
    assert verify(done.stored) == []
    assert lab.leftovers() == []


def test_events_tell_the_run_in_order(lab: Lab) -> None:
    done = lab.run(job(repeats=1, warmup=1))
    kinds = [event.t for event in done.events]
    assert kinds == [
        "run-started", "host-opening", "host-ready", "job-started", "point-started", "point-ended", "point-started",
        "point-ended", "job-ended", "run-ended",
    ]  # fmt: skip
    assert [body["t"] for body in done.stored.journal()] == kinds
    repeats = [event.repeat for event in done.events if isinstance(event, events.PointEnded)]
    assert repeats == [0, 1]
    ended = done.events[-3]
    assert isinstance(ended, events.PointEnded)
    assert ended.headline == "value 1"


def test_adaptive_steps_see_what_is_done_and_have_folders_of_their_own(lab: Lab) -> None:
    done = lab.run(job(point(script="echo 1; echo x > kept", more=["echo 2", "echo 3"])))
    assert done.values() == [3]
    status = done.status()
    assert [row["name"] for row in status.steps] == ["probe", "again", "again"]
    root = done.stored.layout.root
    assert [(root / row["folder"] / "stdout").read_text() for row in status.steps] == ["1\n", "2\n", "3\n"]
    assert (root / status.steps[0]["folder"] / "kept").read_text() == "x\n"


def test_companions_run_beside_and_their_output_is_kept(lab: Lab) -> None:
    done = lab.run(
        job(point(script="until [ -s beside.txt ]; do sleep 0.02; done; echo 1", beside="echo here; sleep 300"))
    )
    status = done.status()
    assert (done.stored.layout.root / status.steps[0]["folder"] / "beside.txt").read_text() == "here\n"


def test_the_scratch_file_is_prepared_once_and_goes_with_the_job(lab: Lab) -> None:
    done = lab.run(job(point(script="cat @WORK@/scratch >&2; echo 1", scratch=100), repeats=2))
    status = done.status(repeat=2)
    assert (done.stored.layout.root / status.steps[0]["folder"] / "stderr").read_text() == "full\n"
    assert (done.stored.layout.prepare("local", "a") / "stderr").exists()
    assert lab.leftovers() == []


@pytest.mark.parametrize(
    ("script", "code", "words"),
    [
        ("echo trouble >&2; exit 7", "E601", "failed with exit status 7: trouble"),
        ("kill -SEGV $$", "E602", "killed by SIGSEGV"),
        ("kill -KILL $$", "E602", "killed by SIGKILL"),
        ("exit 127", "E609", "could not be started"),
        ("echo hello", "E608", "cannot read values from the output"),
        ("true", "E616", "returned no value"),
        ("echo nan", "E615", "returned nan"),
    ],
)
def test_a_failing_program_is_data(lab: Lab, script: str, code: str, words: str) -> None:
    done = lab.run(job(point(script=script), point(script="echo 5")))
    assert done.code == 3
    assert done.values() == [5]
    status = done.status()
    assert status.status == "failed"
    assert status.diagnostic["code"] == code
    assert words in status.diagnostic["message"]
    assert status.diagnostic["hint"]
    assert done.stored.run.counts == {"failed": 1, "ok": 1}
    assert done.stored.run.status == "incomplete"


def test_a_failure_names_the_log_and_the_command(lab: Lab) -> None:
    done = lab.run(job(point(script="echo 'one two' >&2; exit 1")))
    notes = done.status().diagnostic["notes"]
    assert "  one two" in notes
    assert any(note.startswith("complete output: jobs/local/a/") for note in notes)
    assert any("sh -c 'echo '\"'\"'one two'\"'\"' >&2; exit 1'" in note for note in notes)


def test_a_file_that_was_not_fetched_is_told_with_the_failure(lab: Lab) -> None:
    done = lab.run(job(point(script="mkfifo kept; echo hello")))
    notes = done.status().diagnostic["notes"]
    assert any("kept is not a regular file" in note for note in notes)


@pytest.mark.parametrize(
    ("status", "end", "code"),
    [
        ("2", "", "E604"),
        ("3", "", "E605"),
        ("4", "", "E606"),
        ("9", "", "E601"),
        ("0", "", "E607"),
        ("0", '{"t":"sample"}', "E607"),
        ("0", '{"t":"end","ok":false}', "E606"),
        ("0", "[" * 100_000, "E607"),
    ],
)
def test_kernels_that_fail_have_texts_of_their_own(lab: Lab, status: str, end: str, code: str) -> None:
    done = lab.run(kernel_job(status=int(status), end=end))
    assert done.status().diagnostic["code"] == code
    assert done.code == 3


def test_a_kernel_that_ends_well(lab: Lab) -> None:
    done = lab.run(kernel_job())
    assert done.code == 0
    built = [event for event in done.events if isinstance(event, events.KernelBuilt)]
    assert [(event.kernel, event.cached) for event in built] == [("fake", False)]


def test_a_timeout_ends_the_program(lab: Lab) -> None:
    done = lab.run(job(point(script="sleep 600"), timeout_s=0.3))
    status = done.status()
    assert (status.status, status.diagnostic["code"]) == ("timeout", "E603")
    assert "reached its time limit" in status.diagnostic["message"]


def test_retries_keep_the_earlier_attempts(lab: Lab) -> None:
    marker = lab.results.parent / "marker"
    script = f"if [ -e {marker} ]; then echo 1; else touch {marker}; exit 1; fi"
    done = lab.run(job(point(script=script), retry=Retry(2, ("failed",))))
    status = done.status()
    assert (status.status, status.attempts) == ("ok", 2)
    folder = done.stored.layout.repeat("local", "a", done.outcome.plan.jobs[0].points[0].id, 1)
    first = done.stored.status(done.stored.layout.attempt(folder, 1))
    assert first is not None and first.status == "failed"
    assert done.code == 0
    assert verify(done.stored) == []


def test_retries_end(lab: Lab) -> None:
    done = lab.run(job(point(script="exit 1"), retry=Retry(2, ("failed",))))
    assert done.status().attempts == 3
    done = lab.run(job(point(script="exit 1"), retry=Retry(2, ("timeout",))))
    assert done.status().attempts == 1


def test_noisy_counts_unless_strict(lab: Lab) -> None:
    done = lab.run(job(point(script="echo noisy 3")))
    assert (done.code, done.stored.run.counts) == (0, {"noisy": 1})
    assert done.stored.records()[0].flags == ["noisy"]
    done = lab.run(job(point(script="echo noisy 3"), strict=True))
    assert done.code == 3
    assert done.status().diagnostic["code"] == "E617"
    assert done.stored.run.status == "incomplete"


def test_an_invalid_result_counts_as_not_measured(lab: Lab) -> None:
    done = lab.run(job(point(script="echo invalid 3", index=1), point(script="echo 1", index=2)))
    assert (done.code, done.stored.run.counts) == (3, {"invalid": 1, "ok": 1})
    assert done.stored.run.status == "incomplete"
    assert [record.flags for record in done.stored.records()] == [["invalid"], []]  # the values are kept
    [found] = [status for status in map(done.stored.status, done.stored.repeats()) if status.status == "invalid"]
    assert found.diagnostic["code"] == "E627" and "flagged invalid" in found.diagnostic["message"]
    assert done.stored.run.jobs[0].note == f"E627 {found.diagnostic['message']}"
    [ended] = [event for event in done.stored.journal() if event.get("status") == "invalid"]
    assert ended["diagnostic"]["code"] == "E627"


def test_resume_and_retry_measure_an_invalid_repeat_again(lab: Lab, tmp_path: Path) -> None:
    once = f"test -e {tmp_path}/seen && echo 2 || {{ touch {tmp_path}/seen; echo invalid 1; }}"
    first = lab.run(job(point(script=once)))
    assert (first.code, first.values()) == (3, [1])
    again = plant.run(lab.results, lab.plan(job(point(script=once))), resume=first.stored.layout)
    assert (again.code, again.values(), again.stored.run.counts) == (0, [2], {"ok": 1})
    (tmp_path / "seen").unlink()
    retried = lab.run(job(point(script=once), retry=Retry(1, ("invalid",))))
    assert (retried.code, retried.values()) == (0, [2])


def test_the_causes_of_missing_values_are_known_by_point(lab: Lab) -> None:
    points = [
        point(script=script, index=n, swept=("index",))
        for n, script in enumerate(("exit 3", "echo invalid 1", "echo 1"))
    ]
    work = job(*points)
    done = lab.run(work)
    found = losses_of(done.stored.run, lab.plan(work), done.stored.journal)
    assert [(loss.at, loss.cause[:4]) for loss in found] == [
        ({"index": 0}, "E601"),
        ({"index": 1}, "E627"),
        ({}, "E601"),
    ]
    assert done.stored.run.jobs[0].note == found[0].cause == found[2].cause


def test_an_invalid_detail_leaves_the_repeat_measured(lab: Lab) -> None:
    done = lab.run(job(point(script="echo 1; echo detail:invalid 3")))
    assert (done.code, done.stored.run.counts) == (0, {"ok": 1})


def test_a_noisy_detail_leaves_the_repeat_measured(lab: Lab) -> None:
    done = lab.run(job(point(script="echo 1; echo detail:noisy 3"), strict=True))
    assert (done.code, done.stored.run.counts) == (0, {"ok": 1})
    assert [record.flags for record in done.stored.records()] == [[], ["noisy"]]


def needing(text: str = "needs.first.best") -> plant.Job:
    waiting = PendingValue("${" + text + "}", ("first",))
    return job(point(script="echo 1", index=waiting, swept=("index",)), name="b", needs={"first": "a"})


def test_results_of_needed_jobs_are_bound(lab: Lab) -> None:
    three = job(point(script="n=$(cat /tmp/asct-none 2>/dev/null || echo 7); echo $n"), repeats=3)
    done = lab.run(three, needing())
    assert done.code == 0
    assert done.stored.records()[-1].point == {"index": 7.0}
    command = done.status("b").command
    assert command is not None and command.settings["index"] == 7.0


def test_dependents_of_a_failed_job_are_skipped_with_the_reason(lab: Lab) -> None:
    jobs = (job(point(script="exit 1")), needing(), job(name="c"))
    done = lab.run(*jobs)
    assert done.code == 3
    assert done.stored.run.counts == {"failed": 1, "ok": 1, "skipped": 1}
    assert "E611" in done.codes()
    first, entry, _ = done.stored.run.jobs
    assert first.note.startswith("E601 ")
    assert entry.note.endswith(f"it needs a result that a did not measure: {first.note}")
    assert losses_of(done.stored.run, lab.plan(*jobs), done.stored.journal)[-1].cause == entry.note
    for name in ("junit", "github", "markdown", "html"):
        text = html.unescape(str(render(open_view(done.stored.layout.root, installed()), name)))
        assert first.note in text.partition("E611")[2], name


def test_a_result_that_was_not_found_is_told(lab: Lab) -> None:
    done = lab.run(job(), needing("needs.first.other"))
    assert done.codes() == ["E226"]
    assert done.stored.run.counts == {"ok": 1, "skipped": 1}


def locked_apart(lab: Lab) -> plant.Collaborators:
    """Return services with hosts that are this machine but have separate locks."""
    return plant.collaborators(make_host=lambda spec, _folder: apart(spec, lab.results.parent))


def test_hosts_run_side_by_side_and_one_unreachable_does_not_stop_the_others(lab: Lab) -> None:
    hosts = {
        "one": HostSpec("one", workdir=str(lab.work)),
        "two": HostSpec("two", workdir=str(lab.work)),
        "bad": HostSpec("bad", workdir="/proc/nowhere"),
    }
    wait = "n=0; until [ -e {dir}/{you} ]; do sleep 0.02; n=$((n+1)); [ $n -lt 6000 ] || exit 1; done"
    meet = "touch {dir}/{me}; " + wait + "; echo 1"
    folder = lab.results.parent
    jobs = [
        job(point(script=meet.format(dir=folder, me="one", you="two")), host="one"),
        job(point(script=meet.format(dir=folder, me="two", you="one")), host="two"),
        job(host="bad"),
    ]
    done = plant.run(lab.results, plant.plan(*jobs, workdir=lab.work, hosts=hosts), locked_apart(lab))
    assert done.code == 3
    assert {host.name: host.status for host in done.stored.run.hosts} == {
        "one": "ok", "two": "ok", "bad": "unreachable",
    }  # fmt: skip
    assert done.stored.run.counts == {"ok": 2, "skipped": 1}
    assert done.codes()[0].startswith("E3")
    finding = done.stored.run.findings[0]
    assert (finding["host"], finding["schema"]) == ("bad", "asct.diagnostic/1")


def test_a_run_waits_for_a_host_that_another_one_holds_and_says_so_once(lab: Lab) -> None:
    holder = make_host(HostSpec("local", workdir=str(lab.work)))
    holder.open(SessionSpec("other", "run other of somebody"))

    def release(event: events.Event) -> None:
        if isinstance(event, events.Notice) and event.diagnostic is not None and event.diagnostic.code == "E334":
            holder.close()

    try:
        done = lab.run(job(), wait_s=3600.0, listeners=[release])
    finally:
        holder.close()
    assert (done.code, done.codes()) == (0, ["E334"])
    [finding] = done.stored.run.findings
    assert (finding["severity"], finding["hint"]) == ("note", "waiting up to 1h for that run to end")


def test_a_run_that_waited_long_enough_is_refused(lab: Lab) -> None:
    holder = make_host(HostSpec("local", workdir=str(lab.work)))
    holder.open(SessionSpec("other", "run other of somebody"))
    try:
        done = lab.run(job(), wait_s=0.01)
    finally:
        holder.close()
    assert done.code == 4
    assert {*done.codes()} == {"E334"}
    hint = "`--wait 10ms` was too short for that run; wait longer, or stop that run"
    assert done.stored.run.findings[-1]["hint"] == hint


def test_forks_bound_how_many_hosts_run(lab: Lab) -> None:
    hosts = {name: HostSpec(name, workdir=str(lab.work)) for name in ("one", "two")}
    folder = lab.results.parent
    script = f"mkdir {folder}/busy || exit 1; sleep 0.1; rmdir {folder}/busy; echo 1"
    jobs = [job(point(script=script), host=name) for name in hosts]
    done = plant.run(lab.results, plant.plan(*jobs, workdir=lab.work, hosts=hosts), locked_apart(lab), forks=1)
    assert done.stored.run.counts == {"ok": 2}


def test_fail_fast_stops_after_the_first_failure(lab: Lab) -> None:
    done = lab.run(job(point(script="exit 1"), point(), point(index=3)), job(name="b"), fail_fast=True)
    assert done.stored.run.counts == {"failed": 1, "skipped": 3}
    assert done.codes() == ["E619"]
    assert done.code == 3


def test_the_limit_of_the_run_ends_it(lab: Lab) -> None:
    for limit_s in (2.0, 8.0, 64.0):  # a host that other programs delay does not open within the short limits
        done = lab.run(job(point(script="sleep 600"), point()), timeout_s=limit_s)
        if "interrupted" in done.stored.run.counts:
            break
    assert done.stored.run.counts == {"interrupted": 1, "skipped": 1}
    assert done.codes() == ["E618"]
    assert (done.code, done.stored.run.status) == (3, "incomplete")


def test_an_undeclared_metric_is_the_benchmarks_fault(lab: Lab) -> None:
    class Liar(plant.Probe):
        metrics = (Metric("other", "1", "neither", "another"),)

    done = lab.run(job(), ports=plant.collaborators(catalog=plant.Shelf((Liar(),))))
    assert done.status().diagnostic["code"] == "E615"


@pytest.mark.parametrize("text", ["{}", "null", "[]", "0", "word"])
def test_steps_that_cannot_be_made_of_an_output_fail_the_point_alone(lab: Lab, text: str) -> None:
    class Reading(plant.Probe):
        def steps(self, params: plant.ProbeParams, context: Context) -> Sequence[Step]:
            if context.done:
                1 / json.loads(context.done[0].stdout)
            return super().steps(params, context)

    catalog = plant.Shelf((Reading(),))
    done = lab.run(
        job(point(script=f"echo '{text}'"), point(script="echo 5")), ports=plant.collaborators(catalog=catalog)
    )
    assert done.status().diagnostic["code"] == "E608"
    assert (done.code, done.values()) == (3, [5])


def test_a_bug_ends_the_run_loudly_and_leaves_nothing(lab: Lab) -> None:
    class Broken(plant.Probe):
        def steps(self, params: plant.ProbeParams, context: plant.Context) -> tuple[()]:
            raise ZeroDivisionError("a bug")

    with pytest.raises(ZeroDivisionError):
        lab.run(job(), ports=plant.collaborators(catalog=plant.Shelf((Broken(),))))
    (root,) = (path for path in (lab.results / "test").iterdir() if not path.is_symlink())
    written = json.loads((root / "run.json").read_text())
    assert (written["status"], written["exit_code"]) == ("incomplete", 70)
    assert lab.leftovers() == []
