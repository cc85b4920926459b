"""Disturbances on machines that others have recorded, and a script that a shell accepts."""

from __future__ import annotations

import subprocess
from datetime import UTC, datetime
from pathlib import Path

import pytest

from asct.disturbances import assess
from asct.disturbances.script import script
from asct.facts.files_snapshot import load
from asct.facts.reading import facts_of
from asct.sdk.disturbance import Disturbances

DUMPS = sorted((Path(__file__).parents[1] / "facts" / "data").glob("*.tar.*"))


def found_in(dump: Path) -> Disturbances:
    return assess(facts_of(load(dump), "dump", datetime(2026, 11, 21, tzinfo=UTC)))


@pytest.mark.parametrize("dump", DUMPS, ids=lambda dump: dump.name.partition(".")[0])
def test_every_dump_is_judged(dump: Path) -> None:
    found = found_in(dump)
    assert found.unseen, "a dump does not hold everything"
    text = script("dump", "2026-11-21T00:00:00Z", found.findings)
    subprocess.run(["sh", "-n"], input=text, text=True, check=True)


def test_a_laptop_under_ondemand() -> None:
    (dump,) = (dump for dump in DUMPS if dump.name.startswith("x86_64-dell_e4310"))
    found = {item.name: item for item in found_in(dump).findings}
    assert found["governor"].title == "governor ondemand" and found["governor"].settings[0].was == "ondemand"
    assert all(setting.numbers == [0, 1, 2, 3] for setting in found["idle-states"].settings)


def test_mixed_cores_have_no_numbers_of_states() -> None:
    (dump,) = (dump for dump in DUMPS if dump.name.startswith("arm-A510"))
    found = {item.name: item for item in found_in(dump).findings}
    assert found["idle-states"].settings == [] and "cpupower" in found["idle-states"].advice
    assert "clock-limit" in found and found["governor"].scripted
