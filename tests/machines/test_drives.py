"""Drives of the lab through the asct command: which are refused, by which check, and without any write; and which are
measured, with the data that the drive itself reports."""

from __future__ import annotations

import json
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from tests.awaiting import until
from tests.e2e.running import Ended, require_measured
from tests.machines.guest import Guest
from tests.machines.lab import (
    BURST,
    GOOD,
    HOME,
    IN_USE,
    LARGE_SECTORS,
    PAIR,
    contents,
    link,
    scsi_disk,
    scsi_serial,
)  # fmt: skip
from tests.machines.running import applied, measured, of

pytestmark = [
    pytest.mark.machines,
    pytest.mark.fio,
    pytest.mark.timeout(900),
]

WRITING = {"rw": "randwrite", "numjobs": 1, "duration": "1s"}
READING = {"rw": "randread", "numjobs": 1, "duration": "1s"}


def entry(identifier: str, target: str, benchmark: str = "storage-fio", **config: Any) -> str:
    return json.dumps({"id": identifier, "uses": benchmark, "config": {"file_names": target, **config}})


def consent(device: str, serial: str, **more: Any) -> dict[str, Any]:
    return {"host": "lab", "device": device, "serial": serial, "reason": "made for tests", **more}


def plan(entries: Sequence[str], consents: Sequence[dict[str, Any]] = ()) -> str:
    """Return the part of a plan that says what to measure and what may be overwritten."""
    return f"benchmarks: [{', '.join(entries)}]\nsafety: {{destroys: {json.dumps(list(consents))}}}\n"


def refused(ended: Ended, device: str, check: str) -> None:
    """Check that the command ended with exit code 4 and reports this failed check for this device."""
    text = " ".join(ended.err.split())
    assert ended.code == 4, ended.err
    assert f"refused to use {device}: check `{check}` failed" in text, ended.err


def test_what_is_in_use_is_refused_all_at_once_and_not_touched(lab: Guest, tmp_path: Path) -> None:
    before = contents(lab)
    entries = [entry(state, scsi_disk(state), **WRITING) for state in IN_USE]
    consents = [consent(scsi_disk(state), scsi_serial(state)) for state in IN_USE]
    entries.append(entry("home", HOME.disk(), **WRITING))
    consents.append(consent(HOME.disk(), HOME.serial, overwrite=True))
    entries.append(entry("serial", BURST.disk(), **WRITING))
    consents.append(consent(BURST.disk(), GOOD.serial))
    typo = f"{PAIR.disk()}R"
    entries.append(entry("typo", typo, **WRITING))
    consents.append(consent(typo, PAIR.serial))
    ended, run = measured(plan(entries, consents), [lab], tmp_path)
    for state, check in IN_USE.items():
        refused(ended, scsi_disk(state), check)
    refused(ended, HOME.disk(), "system")
    refused(ended, BURST.disk(), "serial")
    assert typo in ended.err and PAIR.disk() in ended.err
    assert contents(lab) == before
    assert lab.sh(f"ls {typo} 2>/dev/null || true") == ""
    audit = json.loads((run / "jobs" / "lab" / "signature" / "audit.json").read_text())
    assert audit["looks"][0]["decision"] == "refused"
    assert not (run / "records.jsonl").exists() or not of(run, "iops")


def begun(cwd: Path, identifier: str) -> bool:
    """Return whether the run in this folder has begun to measure a point of this job."""
    texts = [path.read_text() for path in cwd.glob("results/guests/2*/journal.jsonl")]
    events = [json.loads(line) for text in texts for line in text.splitlines(keepends=True) if line.endswith("\n")]
    return any(event["t"] == "point-started" and event["id"] == identifier for event in events)


def meddle(lab: Guest, cwd: Path, identifier: str, script: str) -> None:
    """Run a script on the lab while fio measures a point of this job."""
    until(lambda: begun(cwd, identifier), f"{identifier} did not begin", 600)
    lab.sh(f"until pidof fio >/dev/null; do sleep 0.1; done; sleep 1; {script}")


@dataclass(frozen=True)
class Measured:
    """A run that ended."""

    ended: Ended
    run: Path
    before: str
    after: str

    def value(self, identifier: str, metric: str) -> float:
        (found,) = [record["value"] for record in of(self.run, metric) if record["id"] == identifier]
        return float(found)

    def records(self, identifier: str, metric: str) -> list[dict[str, Any]]:
        return [record for record in of(self.run, metric) if record["id"] == identifier]


HOUR_LATER = "date -s @$(($(date +%s) + 3600)) >/dev/null"
HOUR_BEFORE = "date -s @$(($(date +%s) - 3600)) >/dev/null"
SLOW_MS = 2
STEADY_MS = 1
LEVELS = {"md": "/dev/md7", "dm": "/dev/mapper/delayed", "slow": scsi_disk("slow"), "steady": "/dev/steady"}
"""Targets that are read without consent: devices that are built on other drives, and a drive whose response time is
known."""


@pytest.fixture(scope="module")
def good(lab: Guest, tmp_path_factory: pytest.TempPathFactory) -> Measured:
    """Run everything that may be measured, and set the clock during the run."""
    cwd = tmp_path_factory.mktemp("good")
    entries = [
        entry("nvme", GOOD.disk(), **WRITING),
        entry("old", scsi_disk("old"), **WRITING),
        entry("burst", BURST.disk(), **{**WRITING, "duration": "14s", "iodepth": 8}),
        entry("clock", GOOD.disk(), **{**READING, "duration": "4s"}),
        *(entry(name, path, **{**READING, "iodepth": 4}) for name, path in LEVELS.items()),
    ]
    consents = [
        consent(GOOD.disk(), GOOD.serial),
        consent(scsi_disk("old"), scsi_serial("old"), overwrite=True),
        consent(BURST.disk(), BURST.serial),
    ]
    before = lab.sh(f"echo {SLOW_MS}000000 >/sys/bus/pseudo/drivers/scsi_debug/ndelay; {SMART}")
    with ThreadPoolExecutor(1) as pool:
        running = pool.submit(measured, plan(entries, consents), [lab], cwd)
        meddle(lab, cwd, "clock", HOUR_LATER)
        ended, run = running.result(700)
    after = lab.sh(f"echo 0 >/sys/bus/pseudo/drivers/scsi_debug/ndelay; {HOUR_BEFORE}; {SMART}")
    return Measured(ended, run, before, after)


SMART = f"nvme smart-log {GOOD.disk()} -o json"


def test_drives_that_the_plan_gives_up_are_measured(good: Measured) -> None:
    require_measured(good.ended, good.run)
    assert {record["id"] for record in of(good.run, "iops")} == {"nvme", "old", "burst", "clock", *LEVELS}
    audit = json.loads((good.run / "jobs" / "lab" / "nvme" / "audit.json").read_text())
    assert {look["decision"] for look in audit["looks"]} == {"allowed"}
    assert audit["targets"][0]["written_bytes"] > 0


def test_a_drive_is_told_as_it_is(good: Measured) -> None:
    ((size, coords),) = [(one["value"], one["coords"]) for one in good.records("nvme", "device_size")]
    assert size == GOOD.mib << 20
    assert coords["serial"] == GOOD.serial
    assert coords["model"] == "QEMU NVMe Ctrl"
    assert coords["numa_node"] == 1
    assert coords["transport"] == "pcie"


def test_the_drive_counts_what_was_written(good: Measured) -> None:
    written = [int(json.loads(text)["host_write_commands"]) for text in (good.before, good.after)]
    assert written[1] - written[0] >= good.value("nvme", "write_ios")


@pytest.mark.parametrize("identifier", ["nvme", "old", "clock", *LEVELS])
def test_the_counters_of_the_drives_agree_with_fio(good: Measured, identifier: str) -> None:
    assert good.value(identifier, "coverage") == pytest.approx(1, abs=0.02)


@pytest.mark.parametrize(("identifier", "least_ms"), [("steady", STEADY_MS), ("slow", SLOW_MS)])
def test_a_device_of_known_delay_takes_it_for_each_request(good: Measured, identifier: str, least_ms: int) -> None:
    assert good.value(identifier, "lat_min") >= least_ms / 1000
    assert 1 < good.value(identifier, "in_flight") < 4.1
    assert good.value(identifier, "iops") <= 4 / (least_ms / 1000)


def test_a_burst_is_seen_to_end(good: Measured) -> None:
    seconds = sorted(good.records("burst", "second_iops"), key=lambda record: record["coords"]["second"])
    rates = [record["value"] for record in seconds]
    assert 0 < rates[-2] < 200
    if min(rates[:2]) < 2 * max(rates[-4:]):
        pytest.skip("other programs kept the guest from using the burst")
    assert "Rate changes during a run" in (good.run / "summary.md").read_text()


def test_a_clock_that_is_set_changes_no_time(good: Measured) -> None:
    seconds = [record["coords"]["second"] for record in good.records("clock", "second_iops")]
    assert seconds == sorted(seconds)
    assert 0 <= min(seconds) <= max(seconds) < 600
    (status,) = good.run.glob("jobs/lab/clock/*/r1/status.json")
    assert json.loads(status.read_text())["elapsed_s"] < 600


@pytest.fixture(scope="module")
def trouble(lab: Guest, tmp_path_factory: pytest.TempPathFactory) -> Measured:
    """Provide a run during which a name is redirected to another drive, and a drive is removed."""
    cwd = tmp_path_factory.mktemp("trouble")
    first, second = (lab.sh(f"readlink -f {drive.disk()}").strip() for drive in (LARGE_SECTORS, PAIR))
    entries = [
        entry("first", GOOD.disk(), **{**READING, "duration": "10s"}),
        entry("moved", LARGE_SECTORS.disk(), **WRITING),
        entry("pulled", scsi_disk("slow"), **{**READING, "duration": "60s"}),  # usually ends when it is pulled
        entry("last", "/dev/steady", **READING),
    ]
    before = contents(lab)
    with ThreadPoolExecutor(1) as pool:
        consents = [consent(LARGE_SECTORS.disk(), LARGE_SECTORS.serial, overwrite=True)]
        running = pool.submit(measured, plan(entries, consents), [lab], cwd)
        meddle(lab, cwd, "first", link(second, LARGE_SECTORS.disk()))
        meddle(lab, cwd, "pulled", "echo 1 >/sys/class/scsi_disk/0:0:0:0/device/delete")
        ended, run = running.result(700)
    again = "until ls /sys/bus/scsi/devices/0:0:0:0/block; do sleep 0.1; done 2>/dev/null"
    slow = lab.sh(f"echo 0 0 0 >/sys/class/scsi_host/host0/scan; {again}").strip()
    after = contents(lab)
    lab.sh(f"{link(first, LARGE_SECTORS.disk())}; {link(f'/dev/{slow}', scsi_disk('slow'))}")
    return Measured(ended, run, before, after)


def test_a_name_that_leads_elsewhere_since_the_preflight_is_refused(trouble: Measured) -> None:
    refused(trouble.ended, LARGE_SECTORS.disk(), "serial")
    assert PAIR.serial in trouble.ended.err
    assert trouble.before == trouble.after
    audit = json.loads((trouble.run / "jobs" / "lab" / "moved" / "audit.json").read_text())
    assert [look["decision"] for look in audit["looks"]][:2] == ["allowed", "refused"]


def test_a_drive_that_is_pulled_is_a_failure_and_the_others_are_measured(trouble: Measured) -> None:
    (path,) = trouble.run.glob("jobs/lab/pulled/*/r1/status.json")
    status = json.loads(path.read_text())
    # Requests in flight end with an error. If there were none, fio's later reads of the removed drive end with 0 bytes,
    # and fio counts them: these values are invalid.
    assert status["status"] == "failed" or (status["status"] == "invalid" and "target-shrank" in status["flags"])
    assert {"first", "last"} <= {record["id"] for record in of(trouble.run, "iops")} <= {"first", "pulled", "last"}
    assert "Traceback" not in trouble.ended.err


def test_a_drive_is_formatted_and_driven_through_rounds(lab: Guest, tmp_path: Path) -> None:
    config = {
        "active_range": "4M", "block_sizes": ["4K"], "mixes": [0], "dependent": ["4K:0"], "numjobs": 1,
        "iodepth": 4, "round_time": "500ms", "window": 2, "rounds_max": 2, "excursion": 100, "slope": 100,
        "precondition": 1, "purge": "nvme-format",
    }  # fmt: skip
    lab.sh(f"yes | dd of={LARGE_SECTORS.disk()} bs=64k count=16 iflag=fullblock 2>/dev/null; sync")
    consents = [consent(LARGE_SECTORS.disk(), LARGE_SECTORS.serial, overwrite=True)]
    run = applied(plan([entry("rounds", LARGE_SECTORS.disk(), "storage-iops", **config)], consents), [lab], tmp_path)
    (purged,) = of(run, "purged")
    assert (purged["value"], purged["coords"]["method"]) == (1, "nvme-format")
    (iops,) = of(run, "iops")
    assert iops["value"] > 0
    assert not {"not-purged", "purge-unverified"} & set(iops["flags"])
