"""The reports of a run are those of its outcome: no report remains from an earlier outcome, however a run ends."""

from __future__ import annotations

import os
import signal
import xml.etree.ElementTree as ET
from collections.abc import Callable, Mapping
from pathlib import Path

import pytest

from asct.analysis.view import open_view
from asct.diagnostics.model import Diagnostic
from asct.engine.events import Event, RunEnded
from asct.engine.options import RunOptions
from asct.engine.run import apply, finish_run
from asct.engine.stop import StopRequest, signals
from asct.errors import StoreError
from asct.export import write_all
from asct.store import files, writer
from asct.store.layout import RunLayout
from asct.store.reader import read_run
from asct.store.verify import verify
from tests.engine.conftest import Lab
from tests.engine.plant import Shelf, collaborators, job, point

FORMATS = ("html", "junit", "markdown", "codequality")
JOB = job(point(), point(index=1))


def render(layout: RunLayout) -> Mapping[str, str]:
    paths = write_all(open_view(layout.root, Shelf()), FORMATS, layout.root)
    return {name: str(path) for name, (path,) in paths.items()}


def measured(lab: Lab, *listeners: Callable[[Event], None], resume: RunLayout | None = None) -> RunLayout:
    """Measure the plan, or what is missing in a run, and write the reports."""
    run = apply(lab.plan(JOB), RunOptions(results=lab.results), collaborators(), listeners, resume)
    assert finish_run(run, (), render) == 0
    return run.writer.layout


def damaged(lab: Lab) -> RunLayout:
    """Return a run that succeeded, but of which a raw file has been cut off since."""
    layout = measured(lab)
    assert green(layout) and (layout.root / "report.html").exists()
    next(layout.root.glob("jobs/*/*/*/r1/stdout")).write_bytes(b"")
    return layout


def green(layout: RunLayout) -> bool:
    """Return whether the run has a JUnit report without failures and errors."""
    path = layout.root / "junit.xml"
    if not path.exists():
        return False
    root = ET.parse(path).getroot()
    return not int(root.get("failures", "")) + int(root.get("errors", ""))


def succeeded(layout: RunLayout) -> bool:
    return read_run(layout.root).run.exit_code == 0


@pytest.fixture
def at_each_write(monkeypatch: pytest.MonkeyPatch) -> Callable[[Callable[[], None]], None]:
    """Call a function before each write to a run folder."""

    def watch(call: Callable[[], None]) -> None:
        original, append = files.write_atomic, files.LineFile.append

        def atomic(path: Path, content: str | bytes, *, sync: bool = True) -> None:
            call()
            original(path, content, sync=sync)

        def line(self: files.LineFile, text: str, *, sync: bool) -> None:
            call()
            append(self, text, sync=sync)

        monkeypatch.setattr(writer, "write_atomic", atomic)
        monkeypatch.setattr(files.LineFile, "append", line)

    return watch


def test_a_resume_that_is_killed_at_any_time_leaves_no_green_report(
    lab: Lab, at_each_write: Callable[[Callable[[], None]], None]
) -> None:
    """SIGKILL leaves the folder as it is at that moment."""
    layout = damaged(lab)
    moments: list[bool] = []
    at_each_write(lambda: moments.append(green(layout) and not succeeded(layout)))
    seen: list[bool] = []

    def listen(event: Event) -> None:
        seen.append(
            event.t != "run-ended" and any((layout.root / name).exists() for name in ("junit.xml", "report.html"))
        )

    measured(lab, listen, resume=layout)
    assert len(moments) > 5 and not any(moments)
    assert len(seen) > 5 and not any(seen)
    assert green(layout)


@pytest.mark.parametrize("left", range(12))
def test_a_resume_that_finds_the_disk_full_leaves_no_green_report(
    lab: Lab, at_each_write: Callable[[Callable[[], None]], None], left: int
) -> None:
    """The disk is full after `left` writes."""
    layout = damaged(lab)
    writes = 0

    def full() -> None:
        nonlocal writes
        writes += 1
        if writes > left:
            raise StoreError(Diagnostic("E503", "no space left on device"))

    at_each_write(full)
    try:
        run = apply(lab.plan(JOB), RunOptions(results=lab.results), collaborators(), (), layout)
        code = finish_run(run, (), render)
    except StoreError as error:
        code = error.exit_code
    assert code == 3
    assert not green(layout)


@pytest.mark.parametrize("problem", [StoreError(Diagnostic("E503", "full")), ValueError("a bug")])
def test_a_run_whose_reports_fail_has_none_of_another_outcome(lab: Lab, problem: Exception) -> None:
    def broken(layout: RunLayout) -> Mapping[str, str]:
        render(layout)
        raise problem

    run = apply(lab.plan(JOB), RunOptions(results=lab.results), collaborators())
    with pytest.raises(type(problem)):
        finish_run(run, (), broken)
    layout = run.writer.layout
    assert read_run(layout.root).run.exit_code == (3 if isinstance(problem, StoreError) else 70)
    assert not any((layout.root / name).exists() for name in ("junit.xml", "report.html", "summary.md"))


@pytest.mark.parametrize("numbers", [(signal.SIGTERM,), (signal.SIGINT, signal.SIGINT)])
def test_a_signal_during_the_reports_does_not_change_the_outcome(lab: Lab, numbers: tuple[int, ...]) -> None:
    ends: list[Event] = []

    def interrupted(layout: RunLayout) -> Mapping[str, str]:
        for number in numbers:
            os.kill(os.getpid(), number)
        return render(layout)

    stop = StopRequest()
    with signals(stop):
        run = apply(lab.plan(JOB), RunOptions(results=lab.results), collaborators(), [ends.append], stop=stop)
        assert finish_run(run, (), interrupted) == 0
    stored = read_run(run.writer.layout.root)
    assert (stored.run.status, stored.run.exit_code, verify(stored)) == ("complete", 0, [])
    assert isinstance(ends[-1], RunEnded) and (ends[-1].status, ends[-1].exit_code) == ("complete", 0)
    assert green(stored.layout) == (len(numbers) == 1)


def test_a_resume_removes_only_reports_that_asct_wrote(lab: Lab) -> None:
    layout = damaged(lab)
    (layout.root / "mine.csv").write_text("mine")
    (layout.root / "gl-code-quality-report.json").write_text("[]")  # changed, so it belongs to the user
    before: set[str] = set()

    def listen(event: Event) -> None:
        before.update({path.name for path in layout.root.iterdir()} if event.t == "run-started" else ())

    measured(lab, listen, resume=layout)
    assert {"mine.csv", "gl-code-quality-report.json"} <= before
    assert not {"report.html", "junit.xml", "summary.md", "SHA256SUMS"} & before
