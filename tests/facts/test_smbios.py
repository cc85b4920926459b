"""Synthetic memory devices in SMBIOS (type 17): the peak bandwidth of all channels, or the reason why it is unknown."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from asct.facts.exchange import LASTING
from asct.facts.memory import described
from asct.facts.reading import facts_of
from asct.facts.smbios import UNREADABLE, MemoryDevice, channels_of, device, peak_of
from asct.facts.snapshot import CommandOutput, Snapshot
from asct.facts.unknown import NEEDS_ROOT, UnknownFacts
from asct.sdk.facts import MemoryModule
from tests.facts.shells import SHELLS
from tests.facts.test_parsers import WHEN

BANDWIDTH = "memory.theoretical_bandwidth"


def raw(
    locator: str = "DIMM_A1", bank: str = "BANK 0", *, size: int = 0x4000, speed: int = 4800, width: int = 64,
    kind: int = 0x22, technology: int = 3, length: int = 0x5C, extended: int = 0, ranks: int = 2,
    maker: str = "Acme", part: str = "AC64G48",
) -> bytes:  # fmt: skip
    """Return a structure with the layout of DSP0134 7.18. A speed that does not fit into 16 bits is in the extended
    field."""
    body = bytearray(0x5C)
    body[0], body[1] = 17, length
    body[0x08:0x0A] = (width + 16 if width < 0x1000 else width).to_bytes(2, "little")
    body[0x0A:0x0C] = width.to_bytes(2, "little")
    body[0x0C:0x0E] = size.to_bytes(2, "little")
    body[0x10], body[0x11], body[0x12] = 1, 2, kind
    body[0x0E] = 9
    body[0x15:0x17] = (5600).to_bytes(2, "little")
    body[0x17], body[0x1A], body[0x1B] = 3, 4, ranks
    body[0x1C:0x20] = extended.to_bytes(4, "little")
    body[0x20:0x22] = min(speed, 0xFFFF).to_bytes(2, "little")
    body[0x28] = technology
    body[0x58:0x5C] = (speed if speed >= 0xFFFF else 0).to_bytes(4, "little")
    strings = "".join(f"{text}\0" for text in (locator, bank, maker, part))
    return bytes(body[:length]) + strings.encode() + b"\0"


def array(correction: int = 6, use: int = 3) -> bytes:
    """Return a physical memory array (DSP0134 7.17)."""
    return bytes([16, 0x17, 0, 0x10, 3, use, correction, *([0] * 16), 0, 0])


def peak(*names: tuple[str, str], **fields: int) -> float:
    return peak_of([device(raw(locator, bank, **fields)) for locator, bank in names])


def asked(*structures: bytes) -> Snapshot:
    return Snapshot({}, {"memory-devices": CommandOutput(0, "".join(one.hex() + "\n" for one in structures))})


def test_a_structure() -> None:
    assert device(raw("DIMM 0", "P0 CHANNEL A")) == MemoryDevice(
        locator="DIMM 0",
        bank="P0 CHANNEL A",
        size_bytes=16 << 30,
        kind=0x22,
        technology=3,
        form=9,
        width_bits=64,
        total_bits=80,
        ranks=2,
        speed_mts=4800,
        rated_mts=5600,
        manufacturer="Acme",
        part_number="AC64G48",
    )
    assert device(raw(size=0)).populated is False
    unknown = device(raw(size=0xFFFF, maker="Not Specified", part="", ranks=0))
    assert (unknown.populated, unknown.size_bytes) == (True, None)
    assert (unknown.manufacturer, unknown.part_number, unknown.ranks) == (None, None, None)
    assert device(raw(size=0x7FFF, extended=96 << 10)).size_bytes == 96 << 30
    assert device(raw(size=0x8000 | 512)).size_bytes == 512 << 10
    assert device(raw(speed=0)).speed_mts is None
    assert device(raw(speed=70_000)).speed_mts == 70_000
    assert device(raw(width=0xFFEF)).width_bits == 0xFFEF
    assert device(raw(length=0x22)).technology == 0
    assert device(raw(length=0x15)).speed_mts is None


@pytest.mark.parametrize("broken", [b"", b"\x11", raw()[:0x12], b"\x10" + raw()[1:], raw()[:1] + b"\xff" + raw()[2:]])
def test_a_broken_structure_is_refused(broken: bytes) -> None:
    with pytest.raises(ValueError, match="is truncated, or is not of SMBIOS type 17"):
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
    assert len(channels_of([device(raw(*name)) for name in names])) == channels


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
        ([("A1", "Not Specified")], {}, "does not identify its channel"),
        ([("PROC 1 DIMM 3", "PROC 1")], {}, "does not identify its channel"),
        ([("DIMM 0", "Bank 0")], {}, "`DIMM 0` (`Bank 0`) does not identify its channel"),
        ([(f"DIMM_A{slot}", "") for slot in range(1, 7)], {}, "does not identify its channel"),
        ([("DIMM_A1", "x"), ("DIMM_A1", "x")], {}, "the same name"),
        ([("DIMM_A1", "x")], {"speed": 0}, "does not report the configured speed and width of module `DIMM_A1`"),
        ([("DIMM_A1", "x")], {"width": 0xFFFF}, "configured speed and width"),
        ([("DIMM_A1", "x")], {"technology": 7}, "non-volatile"),
        ([("DIMM_A1", "x")], {"size": 0}, "no installed memory module"),
        ([], {}, "no installed memory module"),
    ],
)
def test_doubts_are_reasons(names: list[tuple[str, str]], fields: dict[str, int], reason: str) -> None:
    with pytest.raises(ValueError) as caught:
        peak(*names, **fields)
    assert reason in str(caught.value)


def test_modules_of_several_types_are_not_added_up() -> None:
    with pytest.raises(ValueError, match="different memory types"):
        peak_of([device(raw("DIMM_A1")), device(raw("DIMM_B1", kind=0x20))])


@pytest.mark.parametrize(
    ("found", "virtualization", "reason"),
    [
        (asked(raw()), "kvm", "virtual machine"),
        (Snapshot(), "none", "describes no memory devices"),
        (Snapshot({}, {"memory-devices": CommandOutput(0, f"{UNREADABLE}\n")}), "none", NEEDS_ROOT),
        (asked(array()), "none", "describes no memory devices"),
        (Snapshot({}, {"memory-devices": CommandOutput(0, "no such\n")}), None, "not hexadecimal"),
    ],
)
def test_what_cannot_be_read_is_noted(found: Snapshot, virtualization: str | None, reason: str) -> None:
    gaps = UnknownFacts()
    assert described(found, virtualization, gaps).get("theoretical_bandwidth") is None
    assert reason in gaps.reasons[BANDWIDTH]
    assert reason in gaps.reasons["memory.channels"]


def test_the_facts_have_it() -> None:
    commands = {**asked(raw("DIMM_A1"), raw("DIMM_B1")).commands, "hypervisor": CommandOutput(1, "none")}
    facts = facts_of(Snapshot({}, commands), "h", WHEN)
    assert facts.memory.theoretical_bandwidth == 2 * 4800e6 * 8
    assert BANDWIDTH not in facts.unknown


def test_modules() -> None:
    gaps = UnknownFacts()
    slots = [
        raw("P0 DIMM_A1", "P0 CHANNEL A"), raw("P0 DIMM_A2", "P0 CHANNEL A", size=0, maker="NO DIMM", part="NO DIMM"),
        raw("P0 DIMM_B1", "P0 CHANNEL B", size=0xFFFF), raw("BIOS", "", kind=9),
    ]  # fmt: skip
    made = described(asked(array(), *slots), "none", gaps)
    first, second, third = made["modules"]
    assert first == MemoryModule(
        slot="P0 DIMM_A1", bank="P0 CHANNEL A", size_bytes=16 << 30, type="DDR5", form_factor="DIMM", data_bits=64,
        total_bits=80, ranks=2, rate=4800e6, rated=5600e6, manufacturer="Acme", part_number="AC64G48", channel="P0 A",
    )  # fmt: skip
    assert (second.size_bytes, second.type, second.manufacturer, second.channel) == (0, None, None, None)
    assert (third.size_bytes, third.channel) == (None, "P0 B")
    assert (made["ecc"], made["channels"], made["theoretical_bandwidth"]) == ("multi-bit ECC", 2, 2 * 4800e6 * 8)
    assert gaps.reasons == {}


def test_modules_of_a_virtual_machine_are_those_that_it_was_given() -> None:
    gaps = UnknownFacts()
    made = described(asked(raw("DIMM 0", "", speed=0)), "kvm", gaps)
    assert [one.slot for one in made["modules"]] == ["DIMM 0"]
    assert set(gaps.reasons) == {"memory.ecc", "memory.channels", BANDWIDTH}


@pytest.mark.parametrize(
    ("arrays", "expected"),
    [
        ([array(3)], "none"),
        ([array(5), array(5)], "single-bit ECC"),
        ([array(5), array(6)], "multi-bit ECC, single-bit ECC"),
        ([array(2)], None),
        ([array(6), array(2)], None),
        ([array(6), array(5, use=4)], "multi-bit ECC"),
        ([array(6)[:5]], None),
        ([], None),
    ],
)
def test_error_correction(arrays: list[bytes], expected: str | None) -> None:
    assert described(asked(*arrays, raw("DIMM_A1")), "none", UnknownFacts())["ecc"] == expected


@settings(max_examples=200)
@given(st.lists(st.binary(max_size=120) | st.integers(0, 130).map(lambda cut: raw()[:cut]), max_size=4), st.data())
def test_odd_structures_never_raise(structures: list[bytes], data: st.DataObject) -> None:
    text = "\n".join(one.hex() for one in structures)
    cut = data.draw(st.integers(0, len(text)))
    found = Snapshot({}, {"memory-devices": CommandOutput(0, data.draw(st.sampled_from([text, text[:cut]])))})
    gaps = UnknownFacts()
    made = described(found, "none", gaps)
    assert made.get("theoretical_bandwidth") is not None or BANDWIDTH in gaps.reasons


def whole_table(*structures: bytes) -> bytes:
    """Return a table with a processor, memory structures, data that must not leave the host, and the end marker
    (DSP0134 6.1, 7.45)."""
    return b"".join(
        [
            bytes([4, 8, 1, 0, 1, 3, 17, 16]) + b"CPU 1\0\0",
            bytes([7, 4, 2, 0, 0, 0]),
            *structures,
            bytes([11, 5, 9, 0, 1]) + b"a secret\0\0",
            bytes([127, 4, 255, 254, 0, 0]),
        ]
    )


@pytest.mark.parametrize("shell", SHELLS)
@pytest.mark.parametrize("awk", ["mawk", "busybox awk"])
def test_the_script_prints_memory_and_nothing_else(tmp_path: Path, shell: str, awk: str) -> None:
    """The command `memory-devices` is run on a synthetic table."""
    structures = [array(), *(raw(f"DIMM_{letter}1") for letter in "AB")]
    table = tmp_path / "DMI"
    text = LASTING["memory-devices"].replace("/sys/firmware/dmi/tables/DMI", str(table)).replace("| awk", f"| {awk}")

    def run() -> str:
        return subprocess.run([*shell.split(), "-c", text], capture_output=True, text=True, check=True).stdout

    assert run() == ""
    table.write_bytes(whole_table(*structures))
    assert run().split("\n") == [*(one.hex() for one in structures), ""]
    made = described(Snapshot({}, {"memory-devices": CommandOutput(0, run())}), "none", UnknownFacts())
    assert (len(made["modules"]), made["channels"], made["ecc"]) == (2, 2, "multi-bit ECC")
    for cut in (0, 5, 30, 61, 200):
        table.write_bytes(whole_table(*structures)[:cut])
        described(Snapshot({}, {"memory-devices": CommandOutput(0, run())}), "none", UnknownFacts())
    table.write_bytes(b"\0" * 300)
    assert run() == ""
