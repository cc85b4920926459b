"""Which purge method is chosen, its commands under guard, and how the result is judged."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from asct.instruments.guard_output import GuardOutput, GuardTarget, TargetCheck
from asct.instruments.qualification.journal import StepJournal
from asct.instruments.qualification.purge import Purge, ata_obstacle, purge_of, purge_steps
from asct.instruments.qualification.settings import (
    SEQUENTIAL_BLOCK,
    Phase,
    QualificationParams,
    TrackedMetric,
    Workload,
)
from asct.sdk.benchmark import Context, Unsuitable
from asct.sdk.facts import HostFacts, ToolFact
from asct.sdk.guard import targets_in
from asct.sdk.step import Output, Step

RECORDED = Path(__file__).parents[2] / "asct/benchmarks/storage_iops/testdata/pts.json"
CELL = Workload(4096, 0)
PHASE = Phase("", (CELL,), (TrackedMetric(CELL, "iops"),), SEQUENTIAL_BLOCK, 1.0)
GUARD = (Path(__file__).parents[2] / "kernels/guard/nvme.c").read_text()
ALONE = next(text for text in re.findall(r'"namespaces", SAFE, "([^"]+)"', GUARD) if "of its drive" in text)
"""What guard prints about the only namespace of a drive, read from guard's source, because a purge depends on this
wording."""
ALL_TOOLS = ("fio", "nvme", "blkdiscard", "hdparm", "sg_format", "sg_sanitize")
ERASABLE = """
/dev/sda:
ATA device, with non-removable media
Security:
\tMaster password revision code = 65534
\t\tsupported
\tnot\tenabled
\tnot\tlocked
\tnot\tfrozen
\tnot\texpired: security count
\t\tsupported: enhanced erase
\t2min for SECURITY ERASE UNIT. 2min for ENHANCED SECURITY ERASE UNIT.
Logical Unit WWN Device Identifier: 5000000000000001
"""


@cache
def recorded() -> str:
    """Return guard's output for a successful purge."""
    document = json.loads(RECORDED.read_text(encoding="utf-8"))
    return str(next(one["files"]["stdout"] for one in document["outputs"] if one["step"] == "purge-blkdiscard-run"))


def stream(status: int, after: dict[str, Any] | None = None) -> str:
    """Return the same output with a different exit status of the program, and with the drive as it is afterward."""
    lines = []
    for text in recorded().splitlines():
        line = json.loads(text)
        if line.get("t") == "exit":
            line["status"] = status
        if line.get("t") == "device" and line["when"] == "after":
            line |= after or {}
        lines.append(json.dumps(line))
    return "\n".join(lines) + "\n"


def nvme(*, formats: bool = True, fna: int = 0, used: int = 1000) -> dict[str, str]:
    """Return Identify Controller and Identify Namespace data. Block format 1 with 4 KiB is in use."""
    controller, namespace = bytearray(4096), bytearray(4096)
    controller[256] = 2 if formats else 0
    controller[524] = fna
    namespace[0:8], namespace[16:24] = (1000).to_bytes(8, "little"), used.to_bytes(8, "little")
    namespace[26] = 1
    namespace[132:136] = (12 << 16).to_bytes(4, "little")
    return {"nvme_id_ctrl": controller.hex(), "nvme_id_ns": namespace.hex()}


@dataclass
class Drive:
    """A drive (or the identical `members` of a RAID set) that responds to commands. `answers` contains the status and
    output for step names; all other steps succeed."""

    fields: dict[str, Any] = field(default_factory=dict)
    alone: bool = True
    answers: dict[str, tuple[int, str]] = field(default_factory=dict)
    after: dict[str, Any] = field(default_factory=dict)
    zeros: bool = True
    tools: tuple[str, ...] = ALL_TOOLS
    done: list[Output] = field(default_factory=list)
    members: tuple[str, ...] = ()

    def journal(self, **settings: Any) -> StepJournal:
        tools = {name: ToolFact(path=f"/usr/sbin/{name}") for name in self.tools}
        facts = HostFacts(host="h", collected_at="2026-11-21T00:00:00Z", tools=tools)
        names = self.members or ("/dev/x",)
        settings |= {"raid_level": 1} if self.members else {}
        journal = StepJournal(QualificationParams(file_names=names, **settings), self.done, facts)
        fields = {"kind": "block", "bytes": 2**30, "logical_block": 512, "discard_max_bytes": 4096} | self.fields
        detail = ALONE if self.alone else "other namespaces on the same drive: nvme0n2"
        checks = tuple(TargetCheck(name, "namespaces", True, detail) for name in names)
        drives = tuple(GuardTarget(name, fields) for name in names)
        array = GuardTarget("/dev/md127", {"kind": "block", "bytes": 2**30, "raid_level": "1", "members": [*names]})
        before, members = ((array,), drives) if self.members else (drives, ())
        journal.__dict__["inspected"] = GuardOutput(before, (), checks, (), None, "", 0, 0, members)
        return journal

    def purge(self, **settings: Any) -> Purge:
        """Run all steps of a purge."""
        while steps := purge_steps(journal := self.journal(**settings), PHASE, Context(journal.facts, "/work")):
            self.done += [self._answer(step) for step in steps]
        return purge_of(self.journal(**settings), PHASE)

    def _answer(self, step: Step) -> Output:
        status, said = self.answers.get(step.name, (0, ""))
        if step.name == "purge-check":
            status = 0 if self.zeros else 1
        return Output(step, 0, {"stdout": stream(status, self.after), "stderr": "", "program.stdout": said})

    @property
    def commands(self) -> list[str]:
        """Return the commands that guard was told to run."""
        return [" ".join(one.step.arguments[one.step.arguments.index("--") + 1 :]) for one in self.done]


def test_a_namespace_is_formatted_in_the_format_that_it_has() -> None:
    drive = Drive(nvme())
    assert drive.purge() == Purge("nvme-format", verified=True)
    assert drive.commands[0].startswith("/usr/sbin/nvme format /proc/self/fd/100 --ses=1 --lbaf=1 --timeout=")
    assert "--whole-drive" not in drive.done[0].step.arguments
    assert "verify_pattern=0x00" in drive.done[1].step.files["job.fio"]
    assert "--readonly" in drive.commands[1]


@pytest.mark.parametrize(("alone", "method"), [(True, "nvme-format"), (False, "blkdiscard")])
def test_other_namespaces_are_not_formatted_along(alone: bool, method: str) -> None:
    drive = Drive(nvme(fna=1), alone=alone)
    assert drive.purge().method == method
    assert ("--whole-drive" in drive.done[0].step.arguments) is alone


@pytest.mark.parametrize(
    ("drive", "methods"),
    [
        (Drive(nvme(formats=False)), ["blkdiscard"]),
        (Drive(nvme() | {"partition": True}), ["blkdiscard"]),
        (Drive(nvme(), tools=("fio", "blkdiscard")), ["blkdiscard"]),
        (Drive(), ["blkdiscard"]),
        (Drive({"discard_max_bytes": 0}), []),
        (Drive({"kind": "file"}), []),
        (Drive(tools=("fio",)), []),
    ],
    ids=["no-format", "partition", "no-nvme-cli", "other", "no-discard", "file", "no-tools"],
)
def test_auto_takes_what_the_target_allows(drive: Drive, methods: list[str]) -> None:
    found = drive.purge()
    assert [found.method] == (methods or [""])
    assert found.flags == (() if methods else ("not-purged",))


def test_what_fails_is_said_and_the_next_is_tried() -> None:
    drive = Drive(nvme(), answers={"purge-nvme-format-format": (1, "NVMe status: Access Denied\n")})
    assert drive.purge() == Purge(
        "blkdiscard", verified=True, tried=("nvme-format: nvme failed with status 1: NVMe status: Access Denied",)
    )
    last = Drive(answers={"purge-blkdiscard-run": (1, "BLKDISCARD ioctl failed: Operation not supported\n")})
    assert last.purge().flags == ("not-purged",)
    assert [output.step.name for output in last.done] == ["purge-blkdiscard-run"]


def test_a_format_whose_device_is_still_held_did_its_work() -> None:
    """While guard holds the device, nvme cannot make the Linux kernel read the partitions again."""
    said = "Success formatting namespace:1\nfailed to re-read partition table\n"
    assert Drive(nvme(), answers={"purge-nvme-format-format": (16, said)}).purge().method == "nvme-format"


def test_blocks_that_are_not_empty_are_said_unless_the_drive_knows_of_none_in_use() -> None:
    assert Drive(zeros=False).purge().flags == ("purge-unverified",)
    assert Drive(nvme(), zeros=False, after=nvme(used=0)).purge().flags == ()
    assert Drive(nvme(), zeros=False, after=nvme(used=7)).purge().flags == ("purge-unverified",)


def test_an_ata_drive_is_looked_at_locked_erased_and_looked_at() -> None:
    looks = {f"purge-ata-erase-{name}": (0, ERASABLE) for name in ("look", "look-after")}
    drive = Drive(answers=looks)
    assert drive.purge(purge="ata-erase").method == "ata-erase"
    assert [" ".join(text.split()[1:-1]) for text in drive.commands[:4]] == [
        "-I",
        "--user-master u --security-set-pass asct",
        "--user-master u --security-erase-enhanced asct",
        "-I",
    ]
    assert "--whole-drive" in drive.done[2].step.arguments


def test_an_erase_that_fails_takes_the_password_back() -> None:
    answers = {"purge-ata-erase-look": (0, ERASABLE), "purge-ata-erase-erase": (5, "SG_IO: bad/missing sense data\n")}
    drive = Drive(answers=answers)
    assert drive.purge(purge="ata-erase").flags == ("not-purged",)
    assert drive.commands[-1].endswith("--user-master u --security-disable asct /proc/self/fd/100")


@pytest.mark.parametrize(
    ("text", "why"),
    [
        (ERASABLE, ""),
        (ERASABLE.replace("not\tfrozen", "\tfrozen"), "froze"),
        (ERASABLE.replace("not\tenabled", "\tenabled"), "has a password"),
        (ERASABLE.replace("\t\tsupported\n", "\tnot\tsupported\n"), "does not support security erase"),
        ("/dev/sda:\n", "does not support security erase"),
    ],
)
def test_what_keeps_an_ata_drive_from_being_erased(text: str, why: str) -> None:
    assert why in ata_obstacle(text)
    assert bool(why) is bool(ata_obstacle(text))


def test_a_drive_that_is_frozen_is_not_given_a_password() -> None:
    drive = Drive(answers={"purge-ata-erase-look": (0, ERASABLE.replace("not\tfrozen", "\tfrozen"))})
    found = drive.purge(purge="ata-erase")
    assert found.flags == ("not-purged",)
    assert "froze" in found.tried[0]
    assert len(drive.done) == 1


@pytest.mark.parametrize("method", ["sg-format", "sg-sanitize"])
def test_scsi_commands_concern_the_whole_drive(method: str) -> None:
    drive = Drive()
    assert drive.purge(purge=method).method == method
    assert drive.done[0].step.arguments[:2] == ("--whole-drive", "1")
    assert drive.commands[0].endswith("--quick --wait /proc/self/fd/100")


@pytest.mark.parametrize(
    ("drive", "method", "message"),
    [
        (Drive({"kind": "file"}), "blkdiscard", "the target is a file"),
        (Drive(tools=("fio",)), "ata-erase", "the host has no hdparm"),
        (Drive({"partition": True}), "sg-format", "the target is a partition"),
        (Drive(), "nvme-format", "not an NVMe drive"),
        (Drive(nvme(fna=2), alone=False), "nvme-format", "all namespaces at once"),
    ],
)
def test_a_method_that_was_named_is_refused_where_it_cannot_be(drive: Drive, method: str, message: str) -> None:
    with pytest.raises(Unsuitable, match=message):
        drive.purge(purge=method)


def test_none_does_nothing() -> None:
    drive = Drive(nvme())
    assert drive.purge(purge="none").flags == ("not-purged",)
    assert drive.done == []


def test_each_member_of_a_set_is_purged_by_itself_and_the_set_is_read_back() -> None:
    drive = Drive(nvme(), members=("/dev/a", "/dev/b"))
    assert drive.purge() == Purge("nvme-format", verified=True)
    assert [one.step.name for one in drive.done] == [
        "purge-nvme-format-format-1",
        "purge-nvme-format-format-2",
        "purge-check",
    ]
    assert [[one.path for one in targets_in(done.step)] for done in drive.done] == [
        ["/dev/a"],
        ["/dev/b"],
        ["/dev/a", "/dev/b"],
    ]
    assert ["--raid-level" in one.step.arguments for one in drive.done] == [False, False, True]


def test_a_set_is_not_purged_if_one_member_is_not() -> None:
    drive = Drive({"discard_max_bytes": 4096}, members=("/dev/a", "/dev/b"))
    drive.answers["purge-blkdiscard-run-2"] = (1, "Operation not supported")
    found = drive.purge()
    assert found.method == "" and found.flags == ("not-purged",)
    assert found.tried == ("/dev/b: blkdiscard: blkdiscard failed with status 1: Operation not supported",)
    assert "purge-check" not in [one.step.name for one in drive.done]
