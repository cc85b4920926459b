"""The kernel `guard` by itself, on the drives of the lab: which may be written, and why each of the others is
refused."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from asct.sdk.guard import Target
from tests.kernels.building import compile_sources, sources_of
from tests.machines.guest import WORK, Guest
from tests.machines.lab import (
    BURST,
    GOOD,
    HOME,
    IN_USE,
    LARGE_SECTORS,
    PAIR,
    SCSI_STATES,
    contents,
    scsi_disk,
    scsi_serial,
)

pytestmark = [pytest.mark.machines, pytest.mark.timeout(900)]

GUARD = f"{WORK}-guard"


@dataclass(frozen=True)
class Guarded:
    lines: Sequence[dict[str, Any]]

    def of(self, kind: str) -> list[dict[str, Any]]:
        return [line for line in self.lines if line["t"] == kind]

    @property
    def refusal(self) -> str:
        """The name of the check that refused, or an empty string if none did."""
        (end,) = self.of("end")
        text = str(end.get("error", ""))
        assert end["ok"] is (text == "")
        return text.removeprefix("refused: ").split(":")[0]

    def failed(self, path: str) -> set[str]:
        """Return the checks of a target that did not pass."""
        return {line["name"] for line in self.of("check") if line["path"] == path and line["ok"] is not True}

    def device(self, when: str = "before") -> dict[str, Any]:
        """Return the only target as guard found it."""
        (device,) = [line for line in self.of("device") if line["when"] == when]
        return device


@pytest.fixture(scope="module")
def guard(lab: Guest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Guest]:
    """Provide the lab with a guard in GUARD. The drives that other tests may have written are erased."""
    for drive in (GOOD, BURST, LARGE_SECTORS):
        lab.sh(f"blkdiscard -f {drive.disk()} && head -c 1M {drive.disk()} | tr -d '\\0' | wc -c | grep -qx 0")
    made = compile_sources(sources_of("guard"), tmp_path_factory.mktemp("guard") / "guard")
    lab.sh(f"mkdir {GUARD} && cat >{GUARD}/guard && chmod 755 {GUARD}/guard", given=made.read_bytes())
    yield lab
    lab.sh(f"rm -r {GUARD}")


def guarded(lab: Guest, targets: Sequence[Target], command: str = "", *options: str) -> Guarded:
    """Run guard with these targets and a shell command."""
    listed = "".join(target.line() + "\n" for target in targets)
    below = f"-- /bin/sh -c '{command}'" if command else ""
    script = f"cd {GUARD} && cat >targets && ./guard --targets targets {' '.join(options)} {below} || true"
    return Guarded([json.loads(line) for line in lab.sh(script, given=listed.encode()).splitlines()])


def scsi(state: str, *, overwrite: bool = False) -> Target:
    """Return a disk of scsi_debug as a target to be written, with its correct serial number."""
    return Target(scsi_disk(state), "write", scsi_serial(state), overwrite)


def nvme(drive: Any, namespace: int = 1, **changes: Any) -> Target:
    """Return an NVMe drive as a target to be written, with its correct serial number."""
    return Target(drive.disk(namespace), "write", **{"serial": drive.serial, **changes})


EXACTLY = {
    "signature": {"signature"},
    "backup": {"signature"},
    "held": {"open-elsewhere"},
    "readonly": {"read-only"},
    "data": {"data"},
}
"""All failed checks of the states that cause no further failures."""


def test_each_disk_in_use_is_refused_by_name_and_the_program_not_started(guard: Guest) -> None:
    before = contents(guard)
    ran = guarded(guard, [scsi(state) for state in IN_USE], "touch started")
    for state, check in IN_USE.items():
        failed = ran.failed(scsi_disk(state))
        assert check in failed, state
        assert failed == EXACTLY.get(state, failed), state
    assert ran.refusal in set().union(*map(ran.failed, map(scsi_disk, IN_USE)))
    assert guard.sh(f"ls {GUARD}") == "guard\ntargets\n"
    assert contents(guard) == before


def test_use_is_refused_with_consent_to_overwrite_too(guard: Guest) -> None:
    in_use = [state for state in SCSI_STATES if state not in ("slow", "signature", "backup", "data", "old")]
    ran = guarded(guard, [scsi(state, overwrite=True) for state in SCSI_STATES])
    refused = {state for state in SCSI_STATES if ran.failed(scsi_disk(state))}
    assert refused == set(in_use)


def test_the_disk_of_the_work_folder_is_refused(guard: Guest) -> None:
    ran = guarded(guard, [nvme(HOME, overwrite=True)])
    assert {"mounted", "system"} <= ran.failed(HOME.disk())


@pytest.mark.parametrize("serial", ["LABBURST", "LABGOO", "LABGOOD1", "labgood", ""])
def test_another_serial_is_refused(guard: Guest, serial: str) -> None:
    ran = guarded(guard, [nvme(GOOD, serial=serial)], "touch started")
    assert ran.refusal == "serial"
    assert ran.failed(GOOD.disk()) == {"serial"}


def test_a_mistyped_name_is_refused_and_not_made(guard: Guest) -> None:
    for name in ("/dev/disk/by-id/nvme-QEMU_NVMe_Ctrl_LABGODO", "/dev/nvme9n9"):
        assert guarded(guard, [Target(name, "write", GOOD.serial)], "touch started").refusal == "identity"
        assert guard.sh(f"ls {name} 2>/dev/null || true") == ""


@pytest.mark.parametrize("drive", [GOOD, BURST, LARGE_SECTORS], ids=lambda drive: drive.serial)
def test_a_blank_drive_is_passed_and_described(guard: Guest, drive: Any) -> None:
    ran = guarded(guard, [nvme(drive)])
    assert ran.refusal == "", ran.of("check")
    device = ran.device()
    assert device["bytes"] == drive.mib << 20
    assert device["serial"] == drive.serial
    assert device["logical_block"] == drive.sector
    assert device["numa_node"] == (-1 if drive.node is None else drive.node)
    assert device["model"] == "QEMU NVMe Ctrl"


def test_the_other_namespace_of_a_controller_is_told(guard: Guest) -> None:
    ran = guarded(guard, [nvme(PAIR, 2)])
    assert ran.refusal == ""
    (told,) = [line for line in ran.of("check") if line["name"] == "namespaces"]
    assert "n1" in told["detail"]


def test_a_link_that_changes_does_not_lead_the_program_elsewhere(guard: Guest) -> None:
    link = "/dev/disk/by-id/nvme-QEMU_NVMe_Ctrl_LABGOOD"
    seen = f"{GUARD}/seen"
    good, burst = (guard.sh(f"readlink -f {drive.disk()}").strip() for drive in (GOOD, BURST))
    moved = f"ln -sfn {burst} {link}; readlink /proc/self/fd/100 >{seen}; ls -l {link} >>{seen}"
    try:
        assert guarded(guard, [nvme(GOOD)], moved).refusal == ""
        handle, name = guard.sh(f"cat {seen}").splitlines()
        assert handle == good
        assert name.endswith(burst)
        assert guarded(guard, [nvme(GOOD)], "touch started").refusal == "serial"
    finally:
        guard.sh(f"ln -sfn {good} {link}; rm -f {seen}")


def test_while_a_program_runs_nobody_takes_its_drive(guard: Guest) -> None:
    taken = f"for try in 1 2; do mkfs.ext4 -q {LARGE_SECTORS.disk()} && touch taken; done"
    ran = guarded(guard, [nvme(LARGE_SECTORS)], f"export PATH=/sbin:/bin; {taken}; true")
    assert ran.refusal == ""
    assert guard.sh(f"ls {GUARD}/taken 2>/dev/null || true") == ""


def test_reading_needs_no_consent_and_leaves_use_alone(guard: Guest, tmp_path: Path) -> None:
    targets = [Target(scsi_disk(state), "read") for state in SCSI_STATES if state != "held"]
    ran = guarded(guard, targets, "head -c 512 <&100 >/dev/null")
    assert ran.refusal == "", ran.of("check")
    assert ran.of("exit")[0]["status"] == 0
