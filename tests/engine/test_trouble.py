"""Signals, lost connections and full disks: the run ends properly, and results are kept."""

from __future__ import annotations

import errno
import json
import os
import shutil
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from asct.diagnostics.model import Diagnostic
from asct.engine import events
from asct.engine.rebuild import survey
from asct.engine.resume import missing
from asct.errors import ConnectError, HostLost, StoreError
from asct.hosts.base import Host, SessionSpec, Task, TaskResult
from asct.hosts.local import LocalHost
from asct.plan.model import HostSpec, Retry
from asct.planner.model import Job, ResolvedPlan
from asct.store.files import write_error
from asct.store.layout import RunLayout
from asct.store.reader import read_run
from asct.store.verify import verify
from tests.awaiting import PATIENCE_S, until
from tests.engine import plant
from tests.engine.conftest import Lab
from tests.engine.plant import job, point

ROOT = Path(__file__).parents[2]


def when(kind: type[events.Event], act: Callable[[], object]) -> Callable[[events.Event], None]:
    """Return a listener that acts once, shortly after the first event of a kind."""
    done = threading.Event()

    def listen(event: events.Event) -> None:
        if isinstance(event, kind) and not done.is_set():
            done.set()
            threading.Timer(0.2, act).start()

    return listen


@pytest.mark.parametrize(("number", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
def test_a_signal_ends_the_run_and_leaves_nothing(lab: Lab, tmp_path: Path, number: int, code: int) -> None:
    pids = tmp_path / "pid"
    points = [point(script=f"echo $$ > {pids}; sleep 600; echo 1"), point(script="echo 2")]
    before = signal.getsignal(signal.SIGINT)

    def once_it_runs() -> None:
        until(lambda: pids.exists() and pids.read_text())
        os.kill(os.getpid(), number)

    listener = when(events.PointStarted, once_it_runs)
    done = lab.run(job(*points), listeners=[listener])
    assert done.code == code
    assert (done.stored.run.status, done.stored.run.exit_code) == ("interrupted", code)
    assert done.stored.run.counts == {"interrupted": 1, "skipped": 1}
    assert done.status().status == "interrupted"
    with pytest.raises(ProcessLookupError):
        os.kill(int(pids.read_text()), 0)
    assert lab.leftovers() == []
    assert signal.getsignal(signal.SIGINT) is before
    assert done.stored.journal()[-1]["t"] == "run-ended"
    assert verify(done.stored) == []


def test_a_second_signal_does_not_corrupt(lab: Lab, tmp_path: Path) -> None:
    deaf, handled = tmp_path / "deaf", signal.getsignal(signal.SIGINT)

    def twice() -> None:
        until(deaf.exists)
        for number in (signal.SIGINT, signal.SIGINT, signal.SIGTERM):
            # If the run is over, the signal would end the tests.
            if signal.getsignal(signal.SIGINT) is not handled:
                os.kill(os.getpid(), number)
            time.sleep(0.05)

    script = f"trap '' INT TERM; touch {deaf}; sleep 600; echo 1"
    done = lab.run(job(point(script=script), point()), listeners=[when(events.PointStarted, twice)])
    assert done.code == 130
    assert verify(done.stored) == []
    assert lab.leftovers() == []


class Flaky(LocalHost):
    """A host that loses its connection `losses` times before the task is run."""

    losses: list[bool]
    opens = 0

    def open(self, session: SessionSpec | None = None) -> None:
        type(self).opens += 1
        super().open(session)

    def run(self, task: Task, on_line: Callable[[str], None] | None = None) -> TaskResult:
        if self.losses and self.losses.pop(0):
            self.close()
            raise HostLost(self.name, Diagnostic("E305", "the connection broke"))
        return super().run(task, on_line)


def flaky(*losses: bool, reachable: int = 99) -> tuple[plant.Services, type[Flaky]]:
    class Mine(Flaky):
        opens = 0

        def open(self, session: SessionSpec | None = None) -> None:
            if type(self).opens >= reachable:
                raise ConnectError(self.name, Diagnostic("E301", "no route to host", hint="switch it on"))
            super().open(session)

    Mine.losses = list(losses)

    def make(spec: HostSpec, _folder: Path) -> Host:
        return Mine(spec.name, spec.workdir)

    return plant.collaborators(make_host=make), Mine


def test_a_lost_point_is_data_and_the_next_ones_go_on(lab: Lab) -> None:
    ports, host = flaky(False, True)
    done = lab.run(job(*(point(script=f"echo {n}") for n in range(3))), ports=ports)
    assert done.stored.run.counts == {"host-lost": 1, "ok": 2}
    assert done.values() == [0, 2]
    assert host.opens == 2
    assert (done.code, done.status(number=1).diagnostic["code"]) == (3, "E610")
    assert done.stored.run.hosts[0].status == "ok"


def test_retry_after_a_loss_prepares_again(lab: Lab) -> None:
    ports, _ = flaky(False, True)
    lines = job(point(script="cat @WORK@/scratch >&2; echo 1", scratch=9), retry=Retry(1, ("host-lost",)))
    done = lab.run(lines, ports=ports)
    assert (done.code, done.status().attempts) == (0, 2)
    assert verify(done.stored) == []


def test_a_host_that_does_not_come_back_is_given_up(lab: Lab) -> None:
    ports, _ = flaky(False, True, reachable=1)
    done = lab.run(job(*(point(script=f"echo {n}") for n in range(4))), job(name="b"), ports=ports)
    assert done.stored.run.counts == {"host-lost": 1, "ok": 1, "skipped": 3}
    assert done.stored.run.hosts[0].status == "lost"
    assert done.codes() == ["E301", "E610"]
    assert done.code == 3


def test_a_host_lost_again_and_again_is_given_up(lab: Lab) -> None:
    ports, host = flaky(*([True] * 50))
    done = lab.run(job(*(point(index=n) for n in range(9)), retry=Retry(1, ("host-lost",))), ports=ports)
    assert host.opens == 4
    assert done.stored.run.hosts[0].status == "lost"


def left(resolved: ResolvedPlan, layout: RunLayout) -> list[tuple[Job, str, int]]:
    return missing(resolved, survey(read_run(layout.root), plant.Shelf()))


def test_resume_measures_what_is_missing_only(lab: Lab, tmp_path: Path) -> None:
    marker = tmp_path / "marker"
    points = [
        point(script=f"echo x >> {tmp_path}/ran; echo 1"),
        point(script=f"[ -e {marker} ] && echo 2"),
        point(script="echo 3"),
    ]
    resolved = lab.plan(job(*points, repeats=2))
    first = plant.run(lab.results, resolved)
    assert first.stored.run.counts == {"failed": 2, "ok": 4}
    layout = first.stored.layout
    assert [(identity, repeat) for _, identity, repeat in left(resolved, layout)] == [
        (points[1].id, 1), (points[1].id, 2),
    ]  # fmt: skip
    with layout.journal.open("a") as journal:
        journal.write('{"schema":"asct.event/1","t":"poi')
    (layout.repeat("local", "a", points[2].id, 2) / "status.json").write_text("")
    assert len(left(resolved, layout)) == 3
    marker.touch()
    second = plant.run(lab.results, resolved, resume=layout)
    assert (second.code, second.stored.run.counts) == (0, {"ok": 6})
    assert second.stored.run.run == first.stored.run.run
    assert sorted(second.values()) == [1, 1, 2, 2, 3, 3]
    assert (tmp_path / "ran").read_text() == "x\nx\n"
    assert left(resolved, layout) == []
    assert verify(second.stored) == []


def test_a_resume_without_the_host_keeps_what_was_measured(lab: Lab) -> None:
    resolved = lab.plan(job(point(script="echo 1"), point(script="echo 2")), job(point(script="exit 1"), name="b"))
    layout = plant.run(lab.results, resolved).stored.layout
    for name in ("a", "b"):
        shutil.rmtree(layout.repeat("local", name, resolved.jobs[name == "b"].points[-1].id, 1))
    ports, _ = flaky(reachable=0)
    second = plant.run(lab.results, resolved, ports, resume=layout)
    assert (second.code, second.stored.run.counts, second.values()) == (3, {"ok": 1, "skipped": 2}, [1])
    assert second.stored.run.hosts[0].status == "unreachable"
    assert verify(second.stored) == []


def test_a_repeat_that_lost_a_part_of_its_records_gets_them_from_its_raw_files(lab: Lab, tmp_path: Path) -> None:
    points = [point(script="echo 1; echo 2"), point(script=f"echo x >> {tmp_path}/ran; echo 3; echo 4; echo 5")]
    resolved = lab.plan(job(*points))
    first = plant.run(lab.results, resolved)
    layout = first.stored.layout
    whole = layout.records.read_text()
    lines = whole.splitlines(keepends=True)
    cut = next(number for number, line in enumerate(lines) if json.loads(line)["value"] == 4)
    layout.records.write_text("".join([*lines[:cut], *lines[cut + 1 :]]))
    assert left(resolved, layout) == []
    findings = verify(read_run(layout.root))
    assert [finding.code for finding in findings] == ["E517", "E513"]
    assert "has 3 records, but records.jsonl contains 2 of them" in findings[1].message
    second = plant.run(lab.results, resolved, resume=layout)
    assert (second.code, layout.records.read_text()) == (0, whole)
    assert (tmp_path / "ran").read_text() == "x\n"
    assert verify(second.stored) == []


def test_a_status_that_contradicts_the_journal_is_measured_again(lab: Lab) -> None:
    points = [point(script="echo 1"), point(script="echo 2")]
    resolved = lab.plan(job(*points))
    layout = plant.run(lab.results, resolved).stored.layout
    path = layout.status(layout.repeat("local", "a", points[1].id, 1))
    path.write_text(json.dumps(json.loads(path.read_text()) | {"status": "noisy"}))
    assert [identity for _, identity, _ in left(resolved, layout)] == [points[1].id]


def test_resume_gives_results_of_earlier_jobs_to_later_ones(lab: Lab, tmp_path: Path) -> None:
    marker = tmp_path / "marker"
    needy = job(point(script=f"[ -e {marker} ] && echo 2"), name="b", needs={"first": "a"})
    resolved = lab.plan(job(point(script="echo 7")), needy)
    first = plant.run(lab.results, resolved)
    assert first.stored.run.counts == {"failed": 1, "ok": 1}
    marker.touch()
    second = plant.run(lab.results, resolved, resume=first.stored.layout)
    assert (second.code, second.values()) == (0, [7, 2])


def test_resume_refuses_another_plan(lab: Lab) -> None:
    first = lab.run(job())
    with pytest.raises(StoreError, match="has a different plan"):
        lab.run(job(point(script="echo 9")), resume=first.stored.layout)


FILL = """
import resource, signal, sys
from pathlib import Path
from tests.engine import plant
results, work, limit = Path(sys.argv[1]), Path(sys.argv[2]), int(sys.argv[3])
if limit:
    signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_FSIZE, (limit, limit))
script = "i=0; while [ $i -lt 500 ]; do echo 1; i=$((i+1)); done"
jobs = plant.job(*(plant.point(script=script, index=number) for number in range(40)))
print(plant.run(results, plant.plan(jobs, workdir=work)).code)
"""


def fill(results: Path, work: Path, limit: int) -> None:
    """Measure until the disk is full, in a separate process."""
    command = [sys.executable, "-c", FILL, str(results), str(work), str(limit)]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=280, check=False)
    assert done.stdout == "3\n", done.stderr


def kept(results: Path, work: Path) -> None:
    """Check that the run states why it ended, and that everything measured before still exists."""
    (root,) = (path for path in (results / "test").iterdir() if not path.is_symlink())
    stored = read_run(root)
    assert (stored.run.status, stored.run.exit_code) == ("incomplete", 3)
    finding = next(item for item in stored.run.findings if item["code"] == "E503")
    assert "asct resume" in finding["hint"]
    assert 0 < stored.run.counts["ok"] < 40
    assert len(stored.records()) >= 500 * stored.run.counts["ok"]
    assert [path for path in work.iterdir() if "cache" not in path.name] == []


def test_a_file_size_limit_ends_the_run_and_keeps_what_was_measured(lab: Lab) -> None:
    fill(lab.results, lab.work, 2_000_000)
    kept(lab.results, lab.work)


@pytest.mark.skipif(os.geteuid() != 0, reason="mounting a small file system needs root")
def test_a_full_disk_ends_the_run_and_keeps_what_was_measured(lab: Lab, tmp_path: Path) -> None:
    disk = tmp_path / "disk"
    disk.mkdir()
    subprocess.run(["mount", "-t", "tmpfs", "-o", "size=2m", "tmpfs", str(disk)], check=True)
    try:
        fill(disk / "results", lab.work, 0)
        kept(disk / "results", lab.work)
        (root,) = (path for path in (disk / "results" / "test").iterdir() if not path.is_symlink())
        assert read_run(root).journal()[-1]["t"] == "run-ended"
    finally:
        subprocess.run(["umount", str(disk)], check=True)


@pytest.mark.parametrize("file", ["h1.json", "status.json"])
def test_the_cause_of_a_full_disk_reaches_every_job_and_host(
    lab: Lab, monkeypatch: pytest.MonkeyPatch, file: str
) -> None:
    """The disk is full when asct writes the facts of the first host, or its first finished repeat."""

    @contextmanager
    def full(path: Path) -> Iterator[None]:
        if path.name == file:
            raise write_error(path, OSError(errno.ENOSPC, os.strerror(errno.ENOSPC)))
        yield

    monkeypatch.setattr("asct.store.writer.writing", full)
    hosts = {name: HostSpec(name, workdir=str(lab.work / name)) for name in ("h1", "h2")}
    resolved = lab.plan(job(host="h1"), job(host="h1", name="b"), job(host="h2"), hosts=hosts)
    done = plant.run(lab.results, resolved, forks=1)
    finding = next(item for item in done.stored.run.findings if item["code"] == "E503")
    cause = f"E503 {finding['message']}"
    assert done.code == 3
    assert [item.note for item in done.stored.run.jobs] == [cause] * 3
    first, second = done.stored.run.hosts
    assert (first.status, first.reason) == ("ok", "")
    assert (second.status, second.reason) == ("skipped", cause), "its turn never came"


def test_a_results_folder_that_cannot_be_made_stops_before_anything(lab: Lab, tmp_path: Path) -> None:
    lab.results.write_text("a file stands here")
    with pytest.raises(StoreError) as caught:
        lab.run(job(point(script=f"touch {tmp_path}/ran; echo 1")))
    (diagnostic,) = caught.value.diagnostics
    assert (diagnostic.code, caught.value.exit_code) == ("E501", 3)
    assert str(lab.results) in diagnostic.message and "--results" in diagnostic.hint
    assert not (tmp_path / "ran").exists()


def test_a_killed_run_can_be_read_and_resumed(lab: Lab, tmp_path: Path) -> None:
    """The process is killed without warning in the middle of its second point."""
    script = (
        "import os, sys; from pathlib import Path; from tests.engine import plant\n"
        "results, work, marker = map(Path, sys.argv[1:])\n"
        "killer = f'[ -e {marker} ] || kill -KILL $(cat {marker}.pid); echo 2'\n"
        "Path(f'{marker}.pid').write_text(str(os.getpid()))\n"
        "points = [plant.point(script='echo 1'), plant.point(script=killer)]\n"
        "resolved = plant.plan(plant.job(*points), workdir=work)\n"
        "resume = next(iter(p for p in results.glob('test/2*')), None) if marker.exists() else None\n"
        "from asct.store.layout import RunLayout\n"
        "done = plant.run(results, resolved, resume=RunLayout(resume) if resume else None)\n"
        "print(done.code, sorted(done.values()))\n"
    )
    marker = tmp_path / "marker"
    command = [sys.executable, "-c", script, str(lab.results), str(lab.work), str(marker)]
    killed = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=PATIENCE_S, check=False)
    assert killed.returncode == -signal.SIGKILL
    (root,) = (path for path in (lab.results / "test").iterdir() if not path.is_symlink())
    assert json.loads((root / "run.json").read_text())["status"] == "running"
    assert [record.value for record in read_run(root).records()] == [1]
    assert [item.code for item in verify(read_run(root))] == ["E513"]
    marker.touch()
    again = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=PATIENCE_S, check=False)
    assert again.stdout == "0 [1.0, 2.0]\n", again.stderr
