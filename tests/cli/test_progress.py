"""How the progress display processes events. The drawing itself is left to rich."""

from __future__ import annotations

from types import SimpleNamespace

import pytest

from asct.cli.console import Console, OutputStyle
from asct.cli.progress import (
    REDRAW_LOCAL_S,
    REDRAW_S,
    HostProgress,
    Live,
    Progress,
    bar_of,
    describe,
    live_line,
    live_rows,
    redraw_s,
)
from asct.cli.text import short_time
from asct.diagnostics.model import Diagnostic
from asct.engine import events


def state_after(*happened: events.Event) -> Progress:
    progress = Progress(console=None)  # type: ignore[arg-type]  # nothing is drawn by the base class
    for event in happened:
        progress(event)
    return progress


START = events.RunStarted("r", "p", "/tmp/r", ("a", "b"), 2, 8, {"a": 40.0, "b": 40.0}, {"a": 5, "b": 3})


def test_counts_and_estimates_follow_the_points() -> None:
    progress = state_after(
        START,
        events.PointStarted("a", "sweep", "0" * 12, 1, "iodepth=4", 10.0),
        events.PointEnded("a", "sweep", "0" * 12, 1, "ok", 10.0, "57.9k ops/s"),
    )
    assert progress.hosts["a"].done == 1
    assert progress.hosts["a"].estimated_done_s == 10.0
    assert progress.hosts["a"].last == "57.9k ops/s"
    assert progress.hosts["b"].done == 0


def test_eta_is_corrected_by_how_the_estimates_held() -> None:
    state = HostProgress(
        4, done=2, estimated_s=40.0, estimated_done_s=20.0, job_done_s=20.0, job_started=0.0, point_started=40.0
    )
    assert state.eta_s(now=40.0) == pytest.approx(40.0)  # twice as slow as estimated: 20 s of estimate are 40 s
    state.point_estimate_s = 10.0
    assert state.eta_s(now=50.0) == pytest.approx(30.0)


def test_a_job_that_overran_does_not_stretch_the_next_one() -> None:
    progress = state_after(
        START,
        events.JobStarted("a", "slow", "latency-sweep", 1, 10.0),
        events.PointStarted("a", "slow", "0" * 12, 1, "", 10.0),
        events.PointEnded("a", "slow", "0" * 12, 1, "ok", 50.0),
        events.JobStarted("a", "next", "storage-fio", 3, 30.0),
    )
    state = progress.hosts["a"]
    assert state.measurements == 5
    assert state.eta_s(state.point_started) == pytest.approx(30.0)


def test_eta_is_not_invented_without_an_estimate() -> None:
    assert HostProgress(4).eta_s(now=1.0) is None


@pytest.mark.parametrize("columns", [60, 80, 120])
def test_a_live_line_fits(columns: int) -> None:
    state = HostProgress(14, done=9, estimated_s=100.0, doing="latency " + "x" * 200, last="98.1 ns")
    line = live_line("n1", state, now=state.started + 1, columns=columns)
    assert len(line) <= columns
    assert "9/14" in line
    assert "ETA" in line


def test_the_bar_moves_within_a_long_point_but_fills_only_at_its_end() -> None:
    state = HostProgress(4, done=1, estimated_s=400.0, point_estimate_s=100.0, point_started=0.0)
    assert [state.share(now) for now in (0.0, 50.0)] == pytest.approx([0.25, 0.375])
    assert 0.48 < state.share(100.0) == state.share(1000.0) < 0.5
    lines = [live_line("n1", state, now, 80) for now in range(0, 100, 10)]
    assert len({line.split()[1] for line in lines}) > 4
    assert HostProgress(4, done=1).share(50.0) == 0.25  # without an estimate
    assert HostProgress(0).share(1.0) == 0.0


def test_the_expected_time_of_a_point_is_corrected_like_the_remaining_time() -> None:
    state = HostProgress(
        2, done=1, estimated_s=20.0, point_estimate_s=10.0, job_done_s=10.0, job_started=0.0, point_started=30.0
    )
    assert state.share(45.0) == pytest.approx(0.75)  # three times as slow as estimated: half of 30 s


@pytest.mark.parametrize(
    ("share", "bar"), [(0.0, "────"), (0.125, "╸───"), (0.5, "━━──"), (0.99, "━━━╸"), (1.0, "━━━━")]
)
def test_a_bar_moves_in_half_characters(share: float, bar: str) -> None:
    assert bar_of(share, 4) == bar


def test_drawing_is_rare_while_this_machine_measures() -> None:
    busy, idle = HostProgress(2, point_estimate_s=60.0), HostProgress(2)
    assert redraw_s({"local": busy, "n1": idle}, {"local"}) == REDRAW_LOCAL_S
    assert redraw_s({"local": idle, "n1": busy}, {"local"}) == REDRAW_S < REDRAW_LOCAL_S


RATES = events.DriveRates("a", "iops", "0" * 12, 1, 400e6, 12e6, 100_000.0, 600.0)


def test_of_many_hosts_those_at_work_are_shown() -> None:
    hosts = {f"n{number}": HostProgress(2) for number in range(1, 101)}
    for number in range(1, 41):
        hosts[f"n{number}"].done, hosts[f"n{number}"].begun = 2, True
    for number in (41, 50):
        hosts[f"n{number}"].begun = True
    rows = live_rows(hosts, 0.0, 80, 10)
    assert [row.split()[0] for row in rows] == ["n41", "n50", "n42", "n43", "n44", "n45", "n46", "n47", "n48", "and"]
    assert rows[-1] == "and 91 more hosts (40 done)"
    assert [row.split()[0] for row in live_rows(hosts, 0.0, 80, 100)] == list(hosts)


def test_the_step_of_a_long_repeat_and_the_rate_of_its_drives_are_shown_while_they_last() -> None:
    begun = events.PointStarted("a", "iops", "0" * 12, 1, "", 10.0)
    step = events.StepStarted("a", "iops", "0" * 12, 1, 12, "round 7, workload 12 of 56")
    state = state_after(START, begun, step, RATES).hosts["a"]
    line = live_line("a", state, now=state.started + 1, columns=140)
    assert "iops  round 7, workload 12 of 56  412 MB/s, 101k ops/s" in line
    narrow = live_line("a", state, now=state.started + 1, columns=80)
    assert len(narrow) <= 80 and "iops  round 7" in narrow
    assert state_after(START, begun, RATES, step).hosts["a"].rate == ""  # of the step before
    over = state_after(START, begun, step, RATES, events.PointEnded("a", "iops", "0" * 12, 1, "ok", 1.0)).hosts["a"]
    assert (over.step, over.rate) == ("", "")
    assert describe(step) == describe(RATES) == ""  # no line each


def test_a_failed_point_is_a_line_with_its_cause_and_a_good_one_is_silent() -> None:
    problem = Diagnostic("E601", "fio ended with exit status 1")
    bad = events.PointEnded("a", "depth", "c0ffee", 1, "failed", 1.0, diagnostic=problem)
    assert describe(bad) == "a  depth c0ffee failed: E601 fio ended with exit status 1"
    assert describe(events.PointEnded("a", "depth", "c0ffee", 1, "ok", 1.0)) == ""


@pytest.mark.parametrize(("seconds", "text"), [(0.4, "0s"), (59.6, "1m00s"), (220, "3m40s"), (7500, "2h05m")])
def test_short_time(seconds: float, text: str) -> None:
    assert short_time(seconds) == text


class _Redrawn(Live):
    """Live lines without a terminal or a thread, which count how often they are drawn."""

    def __init__(self) -> None:
        self.drawn = 0
        super().__init__(Console(OutputStyle()), {"local"})
        self._live = SimpleNamespace(refresh=self.redraw)  # type: ignore[assignment]

    def redraw(self) -> None:
        self._draw()
        self.drawn += 1


def test_the_live_lines_are_drawn_for_changes_and_seldom_otherwise(monkeypatch: pytest.MonkeyPatch) -> None:
    now = [100.0]
    monkeypatch.setattr("asct.cli.progress.time.monotonic", lambda: now[0])
    shown = _Redrawn()

    def after(seconds: float, event: events.Event | None = None) -> int:
        """Return how often the lines are drawn when an event or, without an event, a tick arrives."""
        before, now[0] = shown.drawn, now[0] + seconds
        if event is None:
            shown.tick()
        else:
            shown(event)
        return shown.drawn - before

    point = ("local", "sweep", "0" * 12, 1)
    assert after(0.0, events.RunStarted("r", "p", "/r", ("local",), 1, 4, {"local": 400.0}, {"local": 4})) == 1
    assert after(0.1, events.PointStarted(*point, "iodepth=4", 100.0)) == 0  # too soon after the last drawing
    assert after(0.9) == 1  # the tick makes up for it
    assert [after(1.0) for _ in range(10)] == [0, 0, 0, 0, 1] * 2
    assert after(1.0, events.DriveRates(*point, 1.0, 1.0, 1.0, 1.0)) == 0
    assert after(0.1, events.PointEnded(*point, "ok", 11.0)) == 1
    assert [after(1.0) for _ in range(3)] == [1, 1, 1]  # nothing is measured
