"""What the doctor reports about the disks of a host, and about hosts that it cannot examine."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from asct.diagnostics.model import Diagnostic, Span
from asct.doctor.disks import disks_of
from asct.doctor.examine import examine
from asct.engine.guard import CHECKS, GuardReport
from asct.engine.services import Services
from asct.errors import AsctError, ConnectError, HostLocked, NotMeasured
from asct.hosts.base import SessionSpec
from asct.instruments.guard_output import GuardTarget, TargetCheck
from asct.plan.model import Destroys, HostSpec
from tests.doctor.stub import END, LOOK, META, check, device, ports
from tests.engine import plant


def look(folder: Path, chosen: Services, *given_up: Destroys) -> Any:
    spec = HostSpec("here", workdir=str(folder / "work"))
    report = examine(spec, chosen, folder / "raw", folder, given_up)
    assert json.loads(json.dumps(report.to_json(), allow_nan=False))["name"] == "here"
    return report


def test_each_device_says_whether_it_could_be_a_target(tmp_path: Path) -> None:
    report = look(tmp_path, ports())
    assert (report.status, [disk.device for disk in report.disks]) == ("ok", ["/dev/nvme0n1", "/dev/vda"])
    able, unable = report.disks
    assert (able.target, able.bytes, able.model, able.serial, able.objections) == (True, 1 << 40, "ACME X1", "S6XZ", ())
    assert not unable.target and unable.serial == ""
    assert [(item.check, item.ok) for item in unable.objections] == [("system", False), ("signature", None)]
    assert unable.objections[0].hint == CHECKS["system"].hint
    assert "root" in unable.objections[1].hint
    assert not (tmp_path / "work").exists() or not list((tmp_path / "work").glob("run*")), "nothing is left"


def given_up(device: str, serial: str) -> Destroys:
    return Destroys("here", device, serial, False, "", Span("plan.yaml", 1, 1))


def test_a_plan_is_told_what_the_host_would_refuse(tmp_path: Path) -> None:
    path = "/dev/disk/by-id/nvme-ACME"
    refused = {"t": "end", "ok": False, "error": "refused: serial: it is S6XZ"}
    lines = [META, device(path), check(path, "serial", False, "it is S6XZ")]
    report = look(tmp_path, ports(*lines, END), given_up(path, "OTHER"))
    (found,) = report.consents
    assert [item.code for item in found.refusals] == ["E440"]
    assert look(tmp_path, ports(*lines, refused, status=4)).status == "unfit", "a scan has no refusals"


@pytest.mark.parametrize(
    ("bodies", "status"),
    [([META], 0), ([META, END], 3), ([META, {"t": "end", "ok": False, "error": "no /sys"}], 3), ([{"x": 1}, END], 0)],
)
def test_a_look_that_failed_is_not_a_clean_bill(tmp_path: Path, bodies: list[dict[str, Any]], status: int) -> None:
    report = look(tmp_path, ports(*bodies, status=status))
    assert (report.status, [item.code for item in report.problems]) == ("unfit", ["E445"])


def test_a_host_that_cannot_be_reached(tmp_path: Path) -> None:
    class Dead:
        def __init__(self, error: AsctError) -> None:
            self.error = error

        def open(self, session: SessionSpec) -> None:
            raise self.error

        def close(self) -> None: ...

    def unbuilt(*_: object) -> plant.FakeBuilt:
        raise NotMeasured(Diagnostic("E401", "no compiler"))

    no_route = ConnectError("here", Diagnostic("E301", "no route"))
    locked = HostLocked("here", "run r of me", Diagnostic("E334", "the host is locked"))
    dead = look(tmp_path, plant.collaborators(make_host=lambda *_: Dead(no_route)))
    assert (dead.status, dead.problems[0].code) == ("unreachable", "E301")
    busy = look(tmp_path, plant.collaborators(make_host=lambda *_: Dead(locked)))
    assert (busy.status, busy.problems[0].code) == ("unfit", "E334")
    unfit = look(tmp_path, plant.collaborators(provide=unbuilt))
    assert (unfit.status, unfit.problems[0].code) == ("unfit", "E401")


def test_the_name_that_says_most_comes_first() -> None:
    links = ["/dev/disk/by-id/wwn-0x5", "/dev/disk/by-id/ata-ACME_S6-long", "/dev/disk/by-id/ata-ACME_S6"]
    (disk,) = disks_of(GuardReport([GuardTarget("/dev/sda", {"links": links, "bytes": 0, "sectors": 8})]))
    assert disk.names == (links[2], links[1], links[0])
    assert disk.bytes == 4096, "of a device that may not be opened"


def test_devices_are_sorted_as_people_count_and_their_content_is_told_apart() -> None:
    paths = ["/dev/loop10", "/dev/loop2", "/dev/vda"]
    checks = [TargetCheck(paths[0], "data", False, "unknown"), TargetCheck(paths[1], "signature", None, "EPERM")]
    found = disks_of(GuardReport([GuardTarget(path) for path in paths], checks))
    assert [disk.device for disk in found] == ["/dev/loop2", "/dev/loop10", "/dev/vda"]
    assert [(disk.target, disk.with_overwrite) for disk in found] == [(False, False), (False, True), (True, True)]


@given(st.text(), st.text(), st.text())
def test_words_of_a_host_are_one_line(model: str, name: str, detail: str) -> None:
    device = GuardTarget("/dev/x", {"model": model, "bytes": "many", "links": None})
    (disk,) = disks_of(GuardReport([device], [TargetCheck("/dev/x", name, False, detail)]))
    assert (disk.model + disk.objections[0].detail).isprintable() and disk.bytes is None and not disk.target


def test_the_look_of_the_stub_is_whole() -> None:
    assert LOOK[0] == META and LOOK[-1] == END
