"""The transfer rates of drives, computed from guard's samples while a program runs."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from asct.engine import events, guard
from asct.engine.guard import RateFeed, Rates
from asct.hosts.base import Host
from asct.sdk.benchmark import Context
from asct.sdk.facts import HostFacts
from asct.sdk.needs import Needs
from asct.sdk.step import Kernel, Step
from tests.engine import plant
from tests.engine.conftest import Lab


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    now = [100.0]
    monkeypatch.setattr(guard.time, "monotonic", lambda: now[0])
    return now


def sample(seconds: float, *devices: list[int] | None) -> str:
    body = {"t": "sample", "real_ns": 0, "mono_ns": round(seconds * 1e9), "devices": devices}
    return json.dumps(body, separators=(",", ":"))


def heard(clock: list[float], *lines: tuple[float, str]) -> list[Rates]:
    found: list[Rates] = []
    feed = RateFeed(found.append)
    for at, line in lines:
        clock[0] = 100.0 + at
        feed(line)
    return found


def test_the_rates_are_those_between_two_samples(clock: list[float]) -> None:
    found = heard(
        clock,
        (0.0, '{"t":"meta"}'),
        (0.1, sample(5.0, [10, 40_960, 1, 512, 0, 0, 7])),
        (1.2, sample(7.0, [30, 122_880, 5, 2560, 0, 0, 9])),
    )
    assert found == [(10.0, 40_960.0, 2.0, 1024.0)]


def test_they_are_told_once_a_second_at_most(clock: list[float]) -> None:
    lines = [(number / 10, sample(number / 10, [number, 0, 0, 0, 0, 0, 0])) for number in range(51)]
    found = heard(clock, *lines)
    assert found == [(10.0, 0.0, 0.0, 0.0)] * 5
    burst = [(0.0, sample(number / 10, [number, 0, 0, 0, 0, 0, 0])) for number in range(51)]
    assert heard(clock, *burst) == []  # a file that is read at once when all is over


def test_two_targets_on_one_drive_count_once_and_an_unknown_one_not_at_all(clock: list[float]) -> None:
    one, two = [0, 0, 0, 0, 0, 0, 0], [100, 0, 0, 0, 0, 0, 0]
    other = [7, 0, 0, 0, 0, 0, 0]
    found = heard(clock, (0, sample(0, one, one, None, other)), (1.5, sample(1, two, two, None, [27, *other[1:]])))
    assert found == [(120.0, 0.0, 0.0, 0.0)]
    assert heard(clock, (0, sample(0, None)), (1.5, sample(1, None))) == []


def test_a_counter_that_was_reset_and_a_clock_that_stands_give_no_nonsense(clock: list[float]) -> None:
    low, high = [5, 0, 0, 0, 0, 0, 0], [50, 0, 0, 0, 0, 0, 0]
    assert heard(clock, (0, sample(0, high)), (1.5, sample(1, low))) == [(0.0, 0.0, 0.0, 0.0)]
    assert heard(clock, (0, sample(1, low)), (1.5, sample(1, high))) == []


@pytest.mark.parametrize(
    "broken",
    [
        '{"t":"sample"',
        '{"t":"sample"}',
        '{"t":"sample","mono_ns":"x","devices":[]}',
        '{"t":"sample","mono_ns":1,"devices":3}',
        '{"t":"sample","mono_ns":1e999,"devices":[]}',
        f'{{"t":"sample","mono_ns":{10**9},"devices":[[{10**400},0,0,0,0,0,0]]}}',
    ],
)
def test_lines_that_cannot_be_read_are_passed_over(clock: list[float], broken: str) -> None:
    good: list[tuple[float, Any]] = [(0, sample(0, [0] * 7)), (1.1, broken), (1.2, sample(1, [4] + [0] * 6))]
    assert heard(clock, *good) == [(4.0, 0.0, 0.0, 0.0)]


class Watched(plant.KernelProbe):
    """A benchmark that runs a program under a command that prints what guard prints."""

    name = "watched"

    def needs(self, params: plant.KernelParams, facts: HostFacts | None) -> Needs:
        return Needs(kernels=("guard",))

    def steps(self, params: plant.KernelParams, context: Context) -> Sequence[Step]:
        return () if context.done else (Step("point", Kernel("guard"), (), {"notes": ""}),)


GUARD = f"""#!/bin/sh
echo '{sample(1, [0] * 7)}'
sleep 1.5
echo '{sample(2, [100, 409_600, 0, 0, 0, 0, 0])}'
sleep 1
echo '{{"t":"end","ok":true}}'
"""


def _provide(host: Host, kernel: str, _facts: HostFacts, _folder: Path) -> plant.FakeBuilt:
    path = f"{host.work}/{kernel}"
    host.execute(["sh", "-c", 'cat >"$1" && chmod 700 "$1"', "sh", path], stdin=GUARD)
    return plant.FakeBuilt(path)


def test_rates_are_told_while_the_program_runs_and_not_kept(lab: Lab) -> None:
    ports = plant.collaborators(catalog=plant.Shelf((Watched(),)), provide=_provide)
    done = lab.run(plant.job(plant.point("watched"), benchmark="watched"), ports=ports)
    assert done.code == 0
    place = [index for index, event in enumerate(done.events) if isinstance(event, events.DriveRates)]
    assert [done.events[index].to_json()["read_iops"] for index in place] == [100.0]
    assert isinstance(done.events[place[0] - 1], events.PointStarted)
    assert not [body for body in done.stored.journal() if body["t"] == "drive-rates"]
