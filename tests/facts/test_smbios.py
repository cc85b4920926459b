"""Memory devices of SMBIOS (type 17), made up: the peak of all channels, or the reason why it is unknown."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from asct.facts.batch import facts_of
from asct.facts.gaps import Gaps
from asct.facts.smbios import FIELD, UNREADABLE, Device, device, peak_of, theoretical_bandwidth
from asct.facts.snapshot import Said, Snapshot
from asct.facts.sources import LASTING
from tests.facts.test_parsers import WHEN


def raw(
    locator: str = "DIMM_A1", bank: str = "BANK 0", *, size: int = 0x4000, speed: int = 4800, width: int = 64,
    kind: int = 0x22, technology: int = 3, length: int = 0x5C,
) -> bytes:  # fmt: skip
    """A structure as DSP0134 7.18 lays it out; a speed beyond 16 bits goes into the extended field."""
    body = bytearray(0x5C)
    body[0], body[1] = 17, length
    body[0x0A:0x0C] = width.to_bytes(2, "little")
    body[0x0C:0x0E] = size.to_bytes(2, "little")
    body[0x10], body[0x11], body[0x12] = 1, 2, kind
    body[0x20:0x22] = min(speed, 0xFFFF).to_bytes(2, "little")
    body[0x28] = technology
    body[0x58:0x5C] = (speed if speed >= 0xFFFF else 0).to_bytes(4, "little")
    return bytes(body[:length]) + locator.encode() + b"\0" + bank.encode() + b"\0\0"


def peak(*names: tuple[str, str], **fields: int) -> float:
    return peak_of([device(raw(locator, bank, **fields)) for locator, bank in names])


def asked(*structures: bytes) -> Snapshot:
    return Snapshot({}, {"memory-devices": Said(0, "".join(one.hex() + "\n" for one in structures))})


def test_a_structure() -> None:
    assert device(raw("DIMM 0", "P0 CHANNEL A")) == Device("DIMM 0", "P0 CHANNEL A", True, 0x22, 3, 64, 4800)
    assert device(raw(size=0)).populated is False
    assert device(raw(speed=0)).speed_mts is None
    assert device(raw(speed=70_000)).speed_mts == 70_000
    assert device(raw(width=0xFFEF)).width_bits == 0xFFEF
    assert device(raw(length=0x22)).technology == 0
    assert device(raw(length=0x15)).speed_mts is None


@pytest.mark.parametrize("broken", [b"", b"\x11", raw()[:0x12], b"\x10" + raw()[1:], raw()[:1] + b"\xff" + raw()[2:]])
def test_a_broken_structure_is_refused(broken: bytes) -> None:
    with pytest.raises(ValueError, match="cut short or of another type"):
        device(broken)


@pytest.mark.parametrize(
    ("names", "channels"),
    [
        ([("DIMM 0", "P0 CHANNEL A"), ("DIMM 1", "P0 CHANNEL A")], 1),
        ([("DIMM 0", "P0 CHANNEL A"), ("DIMM 0", "P0 CHANNEL B"), ("DIMM 0", "P1 CHANNEL A")], 3),
        ([("P1-DIMMA1", "P0_Node0_Channel0_Dimm0"), ("P1-DIMMB1", "P0_Node0_Channel1_Dimm0")], 2),
        ([("CPU0_C0D0", "NODE 0"), ("CPU0_C0D1", "NODE 0"), ("CPU0_C1D0", "NODE 0"), ("CPU1_C0D0", "NODE 1")], 3),
        ([("Controller0-ChannelA-DIMM0", "BANK 0"), ("Controller1-ChannelA-DIMM0", "BANK 1")], 2),
        ([("DIMM_A1", "BANK 0"), ("DIMM_A2", "BANK 1"), ("DIMM_B1", "BANK 2")], 2),
        ([("CPU1_DIMM_A1", "NODE 1"), ("CPU2_DIMM_A1", "NODE 2")], 2),
        ([("DIMM_P0_A0", "BANK 0"), ("DIMM_P1_A0", "BANK 8")], 2),
        ([("ChannelA-DIMM0", "BANK 0"), ("ChannelB-DIMM0", "BANK 2")], 2),
    ],
)
def test_channels_are_counted_by_their_names(names: list[tuple[str, str]], channels: int) -> None:
    assert peak(*names) == channels * 4800e6 * 8


def test_empty_slots_and_firmware_chips_do_not_count() -> None:
    devices = [
        device(raw("DIMM_A1")), device(raw("DIMM_B1", size=0, speed=0, kind=2)), device(raw("ROM", kind=9, speed=0)),
    ]  # fmt: skip
    assert peak_of(devices) == 4800e6 * 8


def test_the_slower_module_of_a_channel_sets_its_rate() -> None:
    devices = [device(raw("DIMM_A1")), device(raw("DIMM_A2", speed=4400)), device(raw("DIMM_B1", width=32))]
    assert peak_of(devices) == 4400e6 * 8 + 4800e6 * 4


@pytest.mark.parametrize(
    ("names", "fields", "reason"),
    [
        ([("A1", "Not Specified")], {}, "does not tell its channel"),
        ([("PROC 1 DIMM 3", "PROC 1")], {}, "does not tell its channel"),
        ([("DIMM 0", "Bank 0")], {}, "`DIMM 0` (`Bank 0`) does not tell its channel"),
        ([(f"DIMM_A{slot}", "") for slot in range(1, 7)], {}, "does not tell its channel"),
        ([("DIMM_A1", "x"), ("DIMM_A1", "x")], {}, "the same name"),
        ([("DIMM_A1", "x")], {"speed": 0}, "does not tell the configured speed and width of the module `DIMM_A1`"),
        ([("DIMM_A1", "x")], {"width": 0xFFFF}, "configured speed and width"),
        ([("DIMM_A1", "x")], {"technology": 7}, "non-volatile"),
        ([("DIMM_A1", "x")], {"size": 0}, "no memory module"),
        ([], {}, "no memory module"),
    ],
)
def test_doubts_are_reasons(names: list[tuple[str, str]], fields: dict[str, int], reason: str) -> None:
    with pytest.raises(ValueError) as caught:
        peak(*names, **fields)
    assert reason in str(caught.value)


def test_modules_of_several_types_are_not_added_up() -> None:
    with pytest.raises(ValueError, match="several memory types"):
        peak_of([device(raw("DIMM_A1")), device(raw("DIMM_B1", kind=0x20))])


@pytest.mark.parametrize(
    ("found", "virtualization", "reason"),
    [
        (asked(raw()), "kvm", "virtual machine"),
        (Snapshot(), "none", "describes no memory devices"),
        (Snapshot({}, {"memory-devices": Said(0, f"{UNREADABLE}\n")}), "none", "only root"),
        (Snapshot({}, {"memory-devices": Said(0, "no such\n")}), None, "not in hexadecimal"),
    ],
)
def test_what_cannot_be_read_is_noted(found: Snapshot, virtualization: str | None, reason: str) -> None:
    gaps = Gaps()
    assert theoretical_bandwidth(found, virtualization, gaps) is None
    assert reason in gaps.reasons[FIELD]


def test_the_facts_have_it() -> None:
    commands = {**asked(raw("DIMM_A1"), raw("DIMM_B1")).commands, "hypervisor": Said(1, "none")}
    facts = facts_of(Snapshot({}, commands), "h", WHEN)
    assert facts.memory.theoretical_bandwidth == 2 * 4800e6 * 8
    assert FIELD not in facts.unknown


def test_the_script_prints_each_entry_as_one_line(tmp_path: Path) -> None:
    """The command of `sources`, over a folder of made-up entries."""
    structures = [raw(f"DIMM_{letter}1") for letter in "AB"]
    for number, structure in enumerate(structures):
        entry = tmp_path / f"17-{number}"
        entry.mkdir()
        (entry / "raw").write_bytes(structure)
    (tmp_path / "17-2").mkdir()
    text = dict(LASTING)["memory-devices"].replace("/sys/firmware/dmi/entries", str(tmp_path))
    done = subprocess.run(["sh", "-c", text], capture_output=True, text=True, check=True)
    assert done.stdout.split("\n") == [*(one.hex() for one in structures), UNREADABLE, ""]
