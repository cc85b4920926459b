"""A RAID set as the target: its settings, its step, the bytes written to each member, and the output of guard."""

from __future__ import annotations

import json
from typing import Any

import pytest

from asct.benchmarks.storage_fio import BENCHMARK
from asct.instruments.fio.contradictions import contradictions
from asct.instruments.fio.devices import device_table, device_values
from asct.instruments.fio.params import FioParams
from asct.instruments.fio.process import fio_step
from asct.instruments.fio.raid import ASSUMED_CLEAN, RESYNCING
from asct.instruments.guard_output import read_guard_output
from asct.sdk.benchmark import Context
from asct.sdk.facts import HostFacts
from asct.sdk.guard import Consent, targets_in
from asct.sdk.record import Measurement
from asct.sdk.step import Output
from tests.fio.samples import depth_sample, output_of
from tests.records import record

A, B, C, D = (f"/dev/disk/by-id/nvme-ACME_{name}" for name in "abcd")
TOOLS: dict[str, Any] = {"fio": {"path": "/usr/bin/fio"}, "mdadm": {"path": "/usr/sbin/mdadm"}}
FACTS = HostFacts(host="h", collected_at="now", tools=TOOLS, io_uring=True)


def params(level: int, *names: str, **more: Any) -> FioParams:
    return FioParams(raid_level=level, file_names=names, **more)


@pytest.mark.parametrize(
    ("settings", "setting", "text"),
    [
        ({"raid_level": 5, "file_names": (A, B)}, "raid_level", "needs at least 3 devices, but `file_names` lists 2"),
        ({"raid_level": 6, "file_names": (A, B, C)}, "raid_level", "needs at least 4 devices"),
        ({"raid_level": 0}, "raid_level", "`file_names` lists 0"),
        ({"raid_level": 1, "file_names": (A, "/var/tmp/b")}, "file_names", "`/var/tmp/b` is not a device"),
        ({"raid_level": 1, "file_names": (A, A)}, "file_names", "contains a target twice"),
        ({"raid_level": 1, "file_names": (A, B), "raid_chunk": "64K"}, "raid_chunk", "does not apply to level 1"),
        ({"raid_level": 0, "file_names": (A, B), "raid_chunk": "48K"}, "raid_chunk", "48K is not a power of two"),
        ({"raid_level": 0, "file_names": (A, B), "raid_chunk": "2K"}, "raid_chunk", "of at least 4K"),
        ({"raid_chunk": "64K"}, "raid_chunk", "has no effect without `raid_level`"),
        ({"job_file": "[a]\nraid_level=1\n", "file_names": (A, B)}, "job_file", "raid_level"),
    ],
)
def test_contradictory_settings_are_named(settings: dict[str, Any], setting: str, text: str) -> None:
    found = list(contradictions(FioParams(**settings)))
    assert any(name == setting and text in message for name, message in found), found


@pytest.mark.parametrize("level", [0, 5, 6, 10])
def test_a_sound_set_passes(level: int) -> None:
    assert list(contradictions(params(level, A, B, C, D, raid_chunk="64K"))) == []


@pytest.mark.parametrize(("level", "share"), [(0, 1 / 4), (1, 1), (5, 2 / 4), (6, 3 / 4), (10, 2 / 4)])
def test_each_member_is_charged_with_copies_and_parity(level: int, share: float) -> None:
    alone = dict(BENCHMARK.needs(FioParams(file_names=(A,), rw="randwrite"), None).writes_bytes)[A]
    needs = BENCHMARK.needs(params(level, A, B, C, D, rw="randwrite"), None)
    assert dict(needs.writes_bytes) == dict.fromkeys((A, B, C, D), int(alone * share))
    assert dict(needs.tools)["mdadm"] == ""


def test_a_set_that_is_only_read_is_treated_as_written() -> None:
    needs = BENCHMARK.needs(params(1, A, B, rw="randread"), None)
    assert dict(needs.writes_bytes) == {A: 0, B: 0}
    assert {right.needed for right in needs.rights} == {True}


def test_guard_gets_the_members_and_fio_the_set() -> None:
    consents = {name: Consent(name, f"serial of {name}") for name in (A, B)}
    context = Context(FACTS, "/var/tmp/job", consents=consents)
    settings = {"rw": "write", "filesize": "8M", "numjobs": 2, "raid_chunk": "64K"}
    step = fio_step(params(0, A, B, **settings), context)
    assert [(one.path, one.access, one.serial) for one in targets_in(step)] == [
        (A, "write", f"serial of {A}"),
        (B, "write", f"serial of {B}"),
    ]
    orders = step.arguments[: step.arguments.index("--")]
    assert orders[-6:] == ("--raid-level", "0", "--raid-chunk", "65536", "--mdadm", "/usr/sbin/mdadm")
    assert "filename=/proc/self/fd/100\n" in step.files["job.fio"]
    assert "size=4194304\n" in step.files["job.fio"]
    plain = fio_step(FioParams(file_names=(A, B)), context)
    assert "--raid-level" not in plain.arguments


def on_a_set(level: str = "5", sync: str = "idle") -> Output:
    """Return the recorded run of a device, modified as if the target were a RAID set of this device and two others."""
    sample = depth_sample()
    lines: list[dict[str, Any]] = []
    for line in map(json.loads, sample["outputs"][0]["files"]["stdout"].splitlines()):
        if line["t"] == "sample":
            (array,) = line["devices"]
            line |= {"array": array, "devices": [[2 * number for number in array]] * 3, "temperatures_mc": [None] * 3}
        if line["t"] == "device":
            members = [line | {"path": path, "serial": path[-1]} for path in (A, B, C)]
            array = {
                "t": "device", "when": line["when"], "path": "/dev/md127", "kind": "block", "bytes": line["bytes"],
                "raid_level": level, "raid_chunk": 65536, "raid_sync": sync, "members": [A, B, C],
            }  # fmt: skip
            lines += [*members, array] if line["when"] == "before" else [array, *members]
        else:
            lines.append(line)
    return output_of(sample, stdout="".join(json.dumps(line) + "\n" for line in lines))


def test_the_set_is_the_target_and_its_members_are_told() -> None:
    guard = read_guard_output(on_a_set())
    assert [device.path for device in guard.before] == ["/dev/md127"] == [device.path for device in guard.after]
    assert [device.path for device in guard.drives] == [A, B, C]
    assert {len(sample.devices) for sample in guard.samples} == {1}
    sizes = [one for one in device_values(guard) if one.metric == "device_size"]
    assert [one.coords.get("serial") for one in sizes] == [None, "a", "b", "c"]
    assert sizes[0].coords == {"path": "/dev/md127", "model": "RAID-5 of 3 drives, 64K chunks"}
    (table,) = device_table([record(one.value, metric=one.metric, coords=dict(one.coords)) for one in sizes], "x")
    assert [row["path"] for row in table.rows] == ["/dev/md127", A, B, C]


def flagged(output: Output) -> dict[str, Measurement]:
    """Return the values of the whole point, keyed by metric, without those of the drives."""
    sample = depth_sample()
    found = BENCHMARK.parse(FioParams(**sample["settings"]), [output], HostFacts(**sample["facts"]))
    return {one.metric: one for one in found if not one.detail and one.metric != "device_size"}


def test_the_drives_below_a_set_may_transfer_more_than_fio() -> None:
    found = flagged(on_a_set())
    plain = flagged(output_of(depth_sample()))
    assert found["coverage"].value == plain["coverage"].value
    assert found["iops"].value == plain["iops"].value
    assert set(found["iops"].flags) == {*plain["iops"].flags, ASSUMED_CLEAN}


@pytest.mark.parametrize(
    ("level", "sync", "flags"), [("0", "idle", set()), ("1", "resync", {ASSUMED_CLEAN, RESYNCING})]
)
def test_a_missing_and_a_running_resync_are_flagged(level: str, sync: str, flags: set[str]) -> None:
    found = flagged(on_a_set(level, sync))
    assert flags == {ASSUMED_CLEAN, RESYNCING} & set(found["iops"].flags)
