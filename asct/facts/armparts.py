"""Cores of the Arm architecture by implementer and part number, the fields of MIDR_EL1.

Sources: the Technical Reference Manual of each core of Arm (`MIDR_EL1, Main ID Register`, and the version of the
architecture in its introduction); for the cores of others Linux, arch/arm64/include/asm/cputype.h, and the tables of
util-linux, sys-utils/lscpu-arm.c, whose spelling of the names is kept so that lscpu and asct say the same.
"""

from __future__ import annotations

IMPLEMENTERS: dict[int, str] = {
    0x41: "ARM", 0x42: "Broadcom", 0x43: "Cavium", 0x44: "DEC", 0x46: "FUJITSU", 0x48: "HiSilicon", 0x49: "Infineon",
    0x4D: "Motorola/Freescale", 0x4E: "NVIDIA", 0x50: "APM", 0x51: "Qualcomm", 0x53: "Samsung", 0x56: "Marvell",
    0x61: "Apple", 0x66: "Faraday", 0x69: "Intel", 0x6D: "Microsoft", 0x70: "Phytium", 0xC0: "Ampere",
}  # fmt: skip

_ARM: dict[str, dict[int, str]] = {
    "ARMv4T": {0x920: "ARM920", 0x922: "ARM922", 0x940: "ARM940"},
    "ARMv5TE": {0x946: "ARM946", 0x966: "ARM966"},
    "ARMv5TEJ": {0x926: "ARM926", 0xA26: "ARM1026"},
    "ARMv6": {0xB02: "ARM11-MPCore", 0xB36: "ARM1136", 0xB76: "ARM1176"},
    "ARMv7-A": {
        0xC05: "Cortex-A5", 0xC07: "Cortex-A7", 0xC08: "Cortex-A8", 0xC09: "Cortex-A9", 0xC0D: "Cortex-A17",
        0xC0E: "Cortex-A17", 0xC0F: "Cortex-A15",
    },
    "ARMv8-R": {0xD13: "Cortex-R52", 0xD15: "Cortex-R82", 0xD16: "Cortex-R52+"},
    "ARMv8.0-A": {
        0xD01: "Cortex-A32", 0xD02: "Cortex-A34", 0xD03: "Cortex-A53", 0xD04: "Cortex-A35", 0xD07: "Cortex-A57",
        0xD08: "Cortex-A72", 0xD09: "Cortex-A73",
    },
    "ARMv8.2-A": {
        0xD05: "Cortex-A55", 0xD06: "Cortex-A65", 0xD0A: "Cortex-A75", 0xD0B: "Cortex-A76", 0xD0C: "Neoverse-N1",
        0xD0D: "Cortex-A77", 0xD0E: "Cortex-A76AE", 0xD41: "Cortex-A78", 0xD42: "Cortex-A78AE", 0xD43: "Cortex-A65AE",
        0xD44: "Cortex-X1", 0xD4A: "Neoverse-E1", 0xD4B: "Cortex-A78C", 0xD4C: "Cortex-X1C",
    },
    "ARMv8.4-A": {0xD40: "Neoverse-V1"},
    "ARMv9.0-A": {
        0xD46: "Cortex-A510", 0xD47: "Cortex-A710", 0xD48: "Cortex-X2", 0xD49: "Neoverse-N2", 0xD4D: "Cortex-A715",
        0xD4E: "Cortex-X3", 0xD4F: "Neoverse-V2",
    },
    "ARMv9.2-A": {
        0xD80: "Cortex-A520", 0xD81: "Cortex-A720", 0xD82: "Cortex-X4", 0xD83: "Neoverse-V3AE", 0xD84: "Neoverse-V3",
        0xD85: "Cortex-X925", 0xD87: "Cortex-A725", 0xD88: "Cortex-A520AE", 0xD89: "Cortex-A720AE",
        0xD8E: "Neoverse-N3", 0xD8F: "Cortex-A320",
    },
    "ARMv9.3-A": {0xD8A: "C1-Nano", 0xD8B: "C1-Pro", 0xD8C: "C1-Ultra", 0xD90: "C1-Premium"},
}  # fmt: skip

_OTHERS: dict[int, dict[int, str]] = {
    0x42: {0x00F: "Brahma-B15", 0x100: "Brahma-B53", 0x516: "ThunderX2"},
    0x43: {
        0x0A0: "ThunderX", 0x0A1: "ThunderX-88XX", 0x0A2: "ThunderX-81XX", 0x0A3: "ThunderX-83XX",
        0x0AF: "ThunderX2-99xx", 0x0B0: "OcteonTX2", 0x0B1: "OcteonTX2-98XX", 0x0B2: "OcteonTX2-96XX",
        0x0B3: "OcteonTX2-95XX", 0x0B4: "OcteonTX2-95XXN", 0x0B5: "OcteonTX2-95XXMM", 0x0B6: "OcteonTX2-95XXO",
        0x0B8: "ThunderX3-T110",
    },
    0x44: {0xA10: "SA110", 0xA11: "SA1100"},
    0x46: {0x001: "A64FX", 0x003: "MONAKA"},
    0x48: {
        0xD01: "TaiShan-v110", 0xD02: "TaiShan-v120", 0xD06: "HIP12", 0xD40: "Cortex-A76", 0xD41: "Cortex-A77",
    },
    0x4E: {0x000: "Denver", 0x003: "Denver 2", 0x004: "Carmel", 0x010: "Olympus"},
    0x50: {0x000: "X-Gene"},
    0x51: {
        0x001: "Oryon", 0x00F: "Scorpion", 0x02D: "Scorpion", 0x04D: "Krait", 0x06F: "Krait", 0x201: "Kryo",
        0x205: "Kryo", 0x211: "Kryo", 0x800: "Falkor-V1/Kryo", 0x801: "Kryo-V2", 0x802: "Kryo-3XX-Gold",
        0x803: "Kryo-3XX-Silver", 0x804: "Kryo-4XX-Gold", 0x805: "Kryo-4XX-Silver", 0xC00: "Falkor", 0xC01: "Saphira",
    },
    0x53: {0x001: "exynos-m1", 0x002: "exynos-m3", 0x003: "exynos-m4", 0x004: "exynos-m5"},
    0x56: {0x131: "Feroceon-88FR131", 0x581: "PJ4/PJ4b", 0x584: "PJ4B-MP"},
    0x61: {
        0x020: "Icestorm-A14", 0x021: "Firestorm-A14", 0x022: "Icestorm-M1", 0x023: "Firestorm-M1",
        0x024: "Icestorm-M1-Pro", 0x025: "Firestorm-M1-Pro", 0x028: "Icestorm-M1-Max", 0x029: "Firestorm-M1-Max",
        0x030: "Blizzard-A15", 0x031: "Avalanche-A15", 0x032: "Blizzard-M2", 0x033: "Avalanche-M2",
        0x034: "Blizzard-M2-Pro", 0x035: "Avalanche-M2-Pro", 0x036: "Sawtooth-A16", 0x037: "Everest-A16",
        0x038: "Blizzard-M2-Max", 0x039: "Avalanche-M2-Max",
    },
    0x66: {0x526: "FA526", 0x626: "FA626"},
    0x6D: {0xD49: "Azure-Cobalt-100"},
    0x70: {
        0x303: "FTC310", 0x660: "FTC660", 0x661: "FTC661", 0x662: "FTC662", 0x663: "FTC663", 0x664: "FTC664",
        0x862: "FTC862",
    },
    0xC0: {0xAC3: "Ampere-1", 0xAC4: "Ampere-1a"},
}  # fmt: skip

PARTS: dict[tuple[int, int], str] = {
    **{(0x41, part): name for named in _ARM.values() for part, name in named.items()},
    **{(maker, part): name for maker, named in _OTHERS.items() for part, name in named.items()},
}

ARCHITECTURES: dict[tuple[int, int], str] = {
    **{(0x41, part): version for version, named in _ARM.items() for part in named},
    (0x43, 0x0AF): "ARMv8.1-A",  # Marvell ThunderX2 CN99xx, product brief
    (0x46, 0x001): "ARMv8.2-A",  # Fujitsu, A64FX Microarchitecture Manual
    (0x48, 0xD01): "ARMv8.2-A",  # GCC manual, -mcpu=tsv110
    (0x48, 0xD40): "ARMv8.2-A",
    (0x48, 0xD41): "ARMv8.2-A",
    (0x4E, 0x004): "ARMv8.2-A",  # NVIDIA Jetson AGX Xavier, data sheet
    (0x6D, 0xD49): "ARMv9.0-A",  # cores of Neoverse N2
    (0xC0, 0xAC3): "ARMv8.6-A",  # GCC manual, -mcpu=ampere1
    (0xC0, 0xAC4): "ARMv8.6-A",
}
"""The version of the architecture that a core's manual gives."""
