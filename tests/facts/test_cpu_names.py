"""Names of cores, derived from their identification numbers, and instruction sets, derived from the features that the
Linux kernel lists."""

from __future__ import annotations

import pytest

from asct.facts import designs
from asct.facts.designs import ARCHITECTURES, PARTS, Design, design, microarchitecture


@pytest.mark.parametrize(
    ("vendor", "family", "model", "stepping", "name"),
    [
        ("GenuineIntel", 6, 15, 11, "Merom"),
        ("GenuineIntel", 6, 23, 10, "Penryn"),
        ("GenuineIntel", 6, 26, 5, "Nehalem"),
        ("GenuineIntel", 6, 44, 2, "Westmere"),
        ("GenuineIntel", 6, 45, 7, "Sandy Bridge"),
        ("GenuineIntel", 6, 62, 4, "Ivy Bridge"),
        ("GenuineIntel", 6, 63, 2, "Haswell"),
        ("GenuineIntel", 6, 79, 1, "Broadwell"),
        ("GenuineIntel", 6, 85, 4, "Skylake-SP"),
        ("GenuineIntel", 6, 85, 7, "Cascade Lake"),
        ("GenuineIntel", 6, 85, 11, "Cooper Lake"),
        ("GenuineIntel", 6, 85, None, None),
        ("GenuineIntel", 6, 158, 9, "Kaby Lake"),
        ("GenuineIntel", 6, 158, 13, "Coffee Lake"),
        ("GenuineIntel", 6, 106, 6, "Ice Lake"),
        ("GenuineIntel", 6, 143, 8, "Sapphire Rapids"),
        ("GenuineIntel", 6, 207, 2, "Emerald Rapids"),
        ("GenuineIntel", 6, 173, 1, "Granite Rapids"),
        ("GenuineIntel", 6, 175, 3, "Sierra Forest"),
        ("GenuineIntel", 6, 189, 1, "Lunar Lake"),
        ("GenuineIntel", 6, 151, 2, "Alder Lake"),
        ("GenuineIntel", 6, 28, 2, "Bonnell"),
        ("GenuineIntel", 6, 95, 1, "Goldmont"),
        ("GenuineIntel", 6, 87, 1, "Knights Landing"),
        ("GenuineIntel", 15, 6, 4, "NetBurst"),
        ("GenuineIntel", 6, 254, 0, None),
        ("GenuineIntel", 19, 1, 0, "Diamond Rapids"),
        ("AuthenticAMD", 15, 65, 2, "K8"),
        ("AuthenticAMD", 16, 9, 1, "K10"),
        ("AuthenticAMD", 21, 1, 2, "Bulldozer"),
        ("AuthenticAMD", 21, 2, 0, "Piledriver"),
        ("AuthenticAMD", 21, 48, 1, "Steamroller"),
        ("AuthenticAMD", 21, 96, 1, "Excavator"),
        ("AuthenticAMD", 22, 0, 1, "Jaguar"),
        ("AuthenticAMD", 23, 1, 2, "Zen"),
        ("AuthenticAMD", 23, 8, 2, "Zen+"),
        ("AuthenticAMD", 23, 49, 0, "Zen 2"),
        ("AuthenticAMD", 25, 1, 1, "Zen 3"),
        ("AuthenticAMD", 25, 33, 0, "Zen 3"),
        ("AuthenticAMD", 25, 68, 1, "Zen 3+"),
        ("AuthenticAMD", 25, 17, 1, "Zen 4"),
        ("AuthenticAMD", 25, 97, 2, "Zen 4"),
        ("AuthenticAMD", 25, 160, 2, "Zen 4c"),
        ("AuthenticAMD", 26, 2, 1, "Zen 5"),
        ("AuthenticAMD", 26, 17, 0, "Zen 5c"),
        ("AuthenticAMD", 26, 68, 0, "Zen 5"),
        ("AuthenticAMD", 26, 80, 0, None),
        ("HygonGenuine", 24, 0, 1, "Dhyana"),
        ("CentaurHauls", 7, 59, 0, "LuJiaZui"),
        ("Shanghai", 7, 91, 0, "YongFeng"),
        ("Unheard", 6, 15, 0, None),
    ],
)
def test_x86(vendor: str, family: int, model: int, stepping: int | None, name: str | None) -> None:
    assert microarchitecture(vendor, family, model, stepping) == name


@pytest.mark.parametrize(
    ("midr", "vendor", "model", "architecture"),
    [
        ("0x00000000413fd0c1", "ARM", "Neoverse-N1", "ARMv8.2-A"),
        ("0x00000000410fd401", "ARM", "Neoverse-V1", "ARMv8.4-A"),
        ("0x00000000410fd490", "ARM", "Neoverse-N2", "ARMv9.0-A"),
        ("0x00000000410fd4f0", "ARM", "Neoverse-V2", "ARMv9.0-A"),
        ("0x00000000410fd840", "ARM", "Neoverse-V3", "ARMv9.2-A"),
        ("0x00000000410fd034", "ARM", "Cortex-A53", "ARMv8.0-A"),
        ("0x00000000461f0010", "FUJITSU", "A64FX", "ARMv8.2-A"),
        ("0x00000000481fd010", "HiSilicon", "TaiShan-v110", "ARMv8.2-A"),
        ("0x00000000431f0af1", "Cavium", "ThunderX2-99xx", "ARMv8.1-A"),
        ("0x00000000c00fac30", "Ampere", "Ampere-1", "ARMv8.6-A"),
        ("0x000000006d0fd490", "Microsoft", "Azure-Cobalt-100", "ARMv9.0-A"),
        ("0x00000000610f0230", "Apple", "Firestorm-M1", None),
        ("0x00000000510f0010", "Qualcomm", "Oryon", None),
        ("0x000000004e0f0100", "NVIDIA", "Olympus", None),
        ("0x00000000701f6632", "Phytium", "FTC663", None),
        ("0x00000000410ffff0", "ARM", None, None),
        ("0x00000000ee0f0010", "0xee", None, None),
    ],
)
def test_arm(midr: str, vendor: str, model: str | None, architecture: str | None) -> None:
    found = design({}, midr)
    assert (found.vendor, found.model, found.microarchitecture, found.instruction_set) == (
        vendor,
        model,
        model,
        architecture,
    )
    register = int(midr, 16)
    assert dict(found.numbers) == {
        "implementer": register >> 24,
        "variant": register >> 20 & 15,
        "part": register >> 4 & 0xFFF,
        "revision": register & 15,
    }


def test_each_table_of_parts_has_its_implementer() -> None:
    assert {maker for maker, _ in PARTS} <= set(designs._TABLES["implementers"])
    assert set(ARCHITECTURES) <= set(PARTS)


N1 = "fp asimd evtstrm aes pmull sha1 sha2 crc32 atomics fphp asimdhp cpuid asimdrdm lrcpc dcpop asimddp ssbs"
V2 = (
    "fp asimd evtstrm aes pmull sha1 sha2 crc32 atomics fphp asimdhp cpuid asimdrdm jscvt fcma lrcpc dcpop sha3 asimddp"
    " sha512 sve asimdfhm dit uscat ilrcpc flagm sb paca pacg dcpodp sve2 flagm2 frint svei8mm svebf16"
    " i8mm bf16 dgh"
)


@pytest.mark.parametrize(
    ("features", "expected"),
    [
        ("fp asimd evtstrm crc32 cpuid", "ARMv8.0-A or later"),
        ("fp asimd atomics crc32 asimdrdm", "ARMv8.1-A or later"),
        (N1, "ARMv8.2-A or later"),
        (V2, "ARMv9.0-A or later"),
        (V2.replace(" sve2", ""), "ARMv8.5-A or later"),
        (f"{V2} ecv", "ARMv9.1-A or later"),
        (f"{V2} ecv wfxt", "ARMv9.2-A or later"),
        ("swp half thumb vfpv3", None),
    ],
)
def test_arm_by_features(features: str, expected: str | None) -> None:
    assert designs.arm_level(features.split()) == expected


V1 = "fpu cx8 cmov mmx fxsr sse sse2 syscall lm"
LEVEL2 = f"{V1} pni ssse3 cx16 sse4_1 sse4_2 popcnt lahf_lm"
LEVEL3 = f"{LEVEL2} avx avx2 bmi1 bmi2 f16c fma abm movbe xsave"


@pytest.mark.parametrize(
    ("flags", "expected"),
    [
        (V1, "x86-64"),
        (LEVEL2, "x86-64-v2"),
        (LEVEL3, "x86-64-v3"),
        (LEVEL3.replace(" fma", ""), "x86-64-v2"),
        (f"{LEVEL3} avx512f avx512bw avx512cd avx512dq avx512vl", "x86-64-v4"),
        (f"{LEVEL3} avx512f", "x86-64-v3"),
        (V1.replace(" lm", ""), None),
        ("", None),
    ],
)
def test_x86_levels(flags: str, expected: str | None) -> None:
    assert designs.x86_level(flags.split()) == expected


@pytest.mark.parametrize(
    ("values", "expected"),
    [
        ({"CPU implementer": "0x41", "CPU part": "0xc09", "CPU architecture": "7"}, ("ARM", "Cortex-A9", "ARMv7-A")),
        ({"CPU implementer": "0x41", "CPU part": "0x7ff", "CPU architecture": "7"}, ("ARM", None, "ARMv7")),
        ({"CPU implementer": "odd", "CPU part": ""}, (None, None, None)),
        (
            {"cpu": "POWER10 (raw), altivec supported", "revision": "2.0 (pvr 0080 0200)"},
            ("IBM", "POWER10 (raw), altivec supported", "Power ISA v3.1"),
        ),
        (
            {"cpu": "PPC970MP, altivec supported", "revision": "1.0 (pvr 0044 0100)"},
            (None, "PPC970MP, altivec supported", None),
        ),
        (
            {
                "isa": "rv64imafdc_zicsr",
                "uarch": "sifive,u74-mc",
                "mvendorid": "0x489",
                "marchid": "0x8000000000000007",
            },
            ("0x489", "sifive,u74-mc", "rv64imafdc_zicsr"),
        ),
        ({"vendor_id": "IBM/S390", "machine": "9175"}, ("IBM/S390", "IBM 9175", None)),
        (
            {"vendor": "GenuineIntel", "family": "Itanium 2", "model": "1", "arch": "IA-64"},
            ("GenuineIntel", "Itanium 2", None),
        ),
        ({"cpu model": "ICT Loongson-3 V0.3"}, (None, "ICT Loongson-3 V0.3", None)),
        ({}, (None, None, None)),
    ],
)
def test_other_architectures(values: dict[str, str], expected: tuple[str | None, ...]) -> None:
    found: Design = design(values)
    assert (found.vendor, found.model, found.instruction_set) == expected
