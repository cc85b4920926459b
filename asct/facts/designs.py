"""The design of a core according to /proc/cpuinfo: vendor, names, instruction set and identification numbers.

Sources for x86: Linux, arch/x86/include/asm/intel-family.h (Intel), arch/x86/kernel/cpu/amd.c and AMD's Revision Guides
and Programming References (AMD), arch/x86/kernel/cpu/hygon.c; GCC, gcc/common/config/i386/cpuinfo.h (Zhaoxin).
"""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping
from dataclasses import dataclass

Texts = Mapping[str, str]

_HEX = re.compile(r"(?:0x)?([0-9a-fA-F]{1,16})")
_DECIMAL = re.compile(r"[0-9]{1,9}")


@dataclass(frozen=True, slots=True)
class Design:
    """A core design. Values are None if neither the tables nor the Linux kernel provides them.

    `numbers` contains the identification numbers with their names. `family` is the name of the processor if its cores
    have a different name.
    """

    vendor: str | None = None
    model: str | None = None
    microarchitecture: str | None = None
    instruction_set: str | None = None
    numbers: tuple[tuple[str, int], ...] = ()
    family: str | None = None


def numbers(**found: int | None) -> tuple[tuple[str, int], ...]:
    """Return the known identification numbers with their names."""
    return tuple((name, value) for name, value in found.items() if value is not None)


def hexadecimal(text: str | None) -> int | None:
    """Parse a hexadecimal number such as `0xd0c`; return None for any other text."""
    match = _HEX.fullmatch((text or "").strip())
    return int(match[1], 16) if match else None


def decimal(text: str | None) -> int | None:
    """Parse a decimal number such as `143`; return None for any other text."""
    stripped = (text or "").strip()
    return int(stripped) if _DECIMAL.fullmatch(stripped) else None


# System V ABI, AMD64 Architecture Processor Supplement, 3.1.1 "Processor Architecture"; in the Linux kernel's spelling
# (arch/x86/include/asm/cpufeatures.h): SSE3 is pni, LZCNT abm, CMPXCHG16B cx16, SYSCALL is implied by lm.
_X86_LEVELS: tuple[tuple[str, str], ...] = (
    ("x86-64", "lm cmov cx8 fpu fxsr mmx sse sse2"),
    ("x86-64-v2", "cx16 lahf_lm popcnt pni sse4_1 sse4_2 ssse3"),
    ("x86-64-v3", "avx avx2 bmi1 bmi2 f16c fma abm movbe xsave"),
    ("x86-64-v4", "avx512f avx512bw avx512cd avx512dq avx512vl"),
)

# Arm Architecture Reference Manual (DDI 0487), A2 "Armv8-A Architecture Extensions": features that are mandatory from a
# given version on and that Linux lists (Documentation/arch/arm64/elf_hwcaps.rst). Features that the Linux kernel may
# hide are excluded (ssbs because of errata, paca and bti by configuration).
_ARM_LEVELS: tuple[tuple[str, str], ...] = (
    ("8.0", "fp asimd"),
    ("8.1", "atomics crc32 asimdrdm"),
    ("8.2", "dcpop"),
    ("8.3", "jscvt fcma lrcpc"),
    ("8.4", "dit flagm ilrcpc uscat asimddp"),
    ("8.5", "dcpodp flagm2 frint sb"),
    ("8.6", "ecv i8mm bf16"),
    ("8.7", "wfxt"),
    ("8.8", "mops hbc"),
    ("8.9", "cssc"),
)


def x86_level(flags: Collection[str]) -> str | None:
    """Return the highest level (`x86-64-v3`) that the flags allow, or None for a 32-bit CPU."""
    return _highest(_X86_LEVELS, flags)


def arm_level(features: Collection[str]) -> str | None:
    """Return the lowest architecture version that has these features, such as `ARMv8.2-A or later`, or None for a
    32-bit CPU.

    The CPU may implement a later version, because not every version adds a feature that the Linux kernel lists. SVE2
    has existed since Armv9.0, and Armv9.n contains all features of Armv8.(n + 5) (the same manual).
    """
    version = _highest(_ARM_LEVELS, features)
    if version is None:
        return None
    minor = int(version.removeprefix("8."))
    if "sve2" in features:
        return f"ARMv9.{max(0, minor - 5)}-A or later"
    return f"ARMv{version}-A or later"


def _highest(levels: tuple[tuple[str, str], ...], features: Collection[str]) -> str | None:
    reached: str | None = None
    for name, needed in levels:
        if not set(needed.split()) <= set(features):
            break
        reached = name
    return reached


_PVR = re.compile(r"\(pvr ([0-9a-fA-F]{4}) ([0-9a-fA-F]{4})\)")
_POWER = re.compile(r"POWER([0-9]{1,2})\+?", re.IGNORECASE)

# Power ISA, preface of each version: the first processors that implement it
_POWER_ISA = {6: "2.05", 7: "2.06", 8: "2.07", 9: "3.0", 10: "3.1"}

# IBM, z/Architecture machine types (Linux, arch/s390/kernel/processor.c, setup_elf_platform)
_Z = {
    2064: "z900", 2066: "z800", 2084: "z990", 2086: "z890", 2094: "z9 EC", 2096: "z9 BC", 2097: "z10 EC",
    2098: "z10 BC", 2817: "z196", 2818: "z114", 2827: "zEC12", 2828: "zBC12", 2964: "z13", 2965: "z13s", 3906: "z14",
    3907: "z14 ZR1", 8561: "z15", 8562: "z15 T02", 3931: "z16", 3932: "z16 A02", 9175: "z17",
}  # fmt: skip

# Loongson, processor reference manuals: the core in each processor
_LOONGSON = {
    "3A5000": "LA464", "3B5000": "LA464", "3C5000": "LA464", "3D5000": "LA464", "3E5000": "LA464", "3A6000": "LA664",
    "3B6000": "LA664", "3C6000": "LA664", "3D6000": "LA664", "3E6000": "LA664", "2K1000": "LA264", "2K2000": "LA364",
}  # fmt: skip


def power(values: Texts) -> Design:
    """Parse `cpu : POWER9 (raw), altivec supported` (arch/powerpc/kernel/setup-common.c)."""
    model = values.get("cpu") or None
    generation = _POWER.match(model or "")
    number = int(generation[1]) if generation else None
    pvr = _PVR.search(values.get("revision", ""))
    version = _POWER_ISA.get(number) if number is not None else None
    return Design(
        "IBM" if generation else None,
        model,
        generation[0].upper() if generation else None,
        f"Power ISA v{version}" if version else None,
        numbers(pvr=int(pvr[1] + pvr[2], 16) if pvr else None),
    )


def s390(values: Texts) -> Design:
    """Parse `vendor_id : IBM/S390`, `processor 0: version = FF, ..., machine = 3906` (arch/s390/kernel/processor.c)."""
    machine = decimal(values.get("machine"))
    return Design(
        values.get("vendor_id") or None,
        None if machine is None else f"IBM {machine}",
        None if machine is None else _Z.get(machine),
        None,
        numbers(machine=machine),
    )


def loongarch(values: Texts) -> Design:
    """Parse `Model Name : Loongson-3A5000`, `ISA : loongarch32 loongarch64` (arch/loongarch/kernel/proc.c)."""
    model = values.get("Model Name") or values.get("model name") or None
    core = next((named for part, named in _LOONGSON.items() if part in (model or "").upper()), None)
    widths = values.get("ISA", "").split()
    return Design(
        "Loongson" if (model or "").startswith("Loongson") else None,
        model,
        core,
        widths[-1] if widths else None,
        numbers(revision=hexadecimal(values.get("CPU Revision"))),
    )


def riscv(values: Texts) -> Design:
    """Parse `isa`, `uarch`, `mvendorid`, `marchid`, `mimpid` (arch/riscv/kernel/cpu.c); the vendor is a number."""
    model = values.get("uarch") or values.get("model name") or None
    return Design(
        values.get("mvendorid") or None,
        model,
        values.get("uarch") or None,
        values.get("isa") or None,
        numbers(
            mvendorid=hexadecimal(values.get("mvendorid")),
            marchid=hexadecimal(values.get("marchid")),
            mimpid=hexadecimal(values.get("mimpid")),
        ),
    )


def other(values: Texts) -> Design:
    """Return the names that Linux prints for other CPUs (IA-64, MIPS, SPARC, Alpha), unchanged."""
    model = values.get("model name") or values.get("cpu model") or values.get("cpu") or values.get("family")
    return Design(values.get("vendor_id") or values.get("vendor") or None, model or None)


# Family 6: the models of each processor generation
_INTEL: dict[str, tuple[int, ...]] = {
    "Yonah": (0x0E,), "Merom": (0x0F, 0x16), "Penryn": (0x17, 0x1D), "Nehalem": (0x1A, 0x1E, 0x1F, 0x2E),
    "Westmere": (0x25, 0x2C, 0x2F), "Sandy Bridge": (0x2A, 0x2D), "Ivy Bridge": (0x3A, 0x3E),
    "Haswell": (0x3C, 0x3F, 0x45, 0x46), "Broadwell": (0x3D, 0x47, 0x4F, 0x56), "Skylake": (0x4E, 0x5E),
    "Comet Lake": (0xA5, 0xA6), "Cannon Lake": (0x66,), "Ice Lake": (0x6A, 0x6C, 0x7D, 0x7E, 0x9D),
    "Tiger Lake": (0x8C, 0x8D), "Rocket Lake": (0xA7,), "Sapphire Rapids": (0x8F,), "Emerald Rapids": (0xCF,),
    "Granite Rapids": (0xAD, 0xAE), "Lakefield": (0x8A,), "Alder Lake": (0x97, 0x9A), "Alder Lake-N": (0xBE,),
    "Raptor Lake": (0xB7, 0xBA, 0xBF), "Meteor Lake": (0xAA, 0xAC), "Arrow Lake": (0xB5, 0xC5, 0xC6),
    "Lunar Lake": (0xBD,), "Panther Lake": (0xCC,), "Bonnell": (0x1C, 0x26), "Saltwell": (0x27, 0x35, 0x36),
    "Silvermont": (0x37, 0x4A, 0x4D, 0x5D), "Airmont": (0x4C, 0x5A, 0x75), "Goldmont": (0x5C, 0x5F),
    "Goldmont Plus": (0x7A,), "Tremont": (0x86, 0x96, 0x9C), "Sierra Forest": (0xAF,), "Grand Ridge": (0xB6,),
    "Clearwater Forest": (0xDD,), "Knights Landing": (0x57,), "Knights Mill": (0x85,),
}  # fmt: skip

# Family, first and last model, name; the first matching row applies
_AMD: tuple[tuple[int, int, int, str], ...] = (
    (0x0F, 0x00, 0xFF, "K8"), (0x10, 0x00, 0xFF, "K10"), (0x11, 0x00, 0xFF, "K8"), (0x12, 0x00, 0xFF, "K10"),
    (0x14, 0x00, 0xFF, "Bobcat"), (0x15, 0x00, 0x01, "Bulldozer"), (0x15, 0x02, 0x1F, "Piledriver"),
    (0x15, 0x30, 0x3F, "Steamroller"), (0x15, 0x60, 0x7F, "Excavator"), (0x16, 0x00, 0x0F, "Jaguar"),
    (0x16, 0x30, 0x3F, "Puma"), (0x17, 0x08, 0x08, "Zen+"), (0x17, 0x18, 0x18, "Zen+"), (0x17, 0x00, 0x2F, "Zen"),
    (0x17, 0x50, 0x5F, "Zen"), (0x17, 0x30, 0x4F, "Zen 2"), (0x17, 0x60, 0x7F, "Zen 2"), (0x17, 0x80, 0xAF, "Zen 2"),
    (0x19, 0x00, 0x0F, "Zen 3"), (0x19, 0x20, 0x3F, "Zen 3"), (0x19, 0x40, 0x4F, "Zen 3+"), (0x19, 0x50, 0x5F, "Zen 3"),
    (0x19, 0x10, 0x1F, "Zen 4"), (0x19, 0x60, 0x9F, "Zen 4"), (0x19, 0xA0, 0xAF, "Zen 4c"),
    (0x1A, 0x10, 0x1F, "Zen 5c"), (0x1A, 0x00, 0x2F, "Zen 5"), (0x1A, 0x40, 0x4F, "Zen 5"), (0x1A, 0x60, 0x7F, "Zen 5"),
)  # fmt: skip

# The last stepping of each name: for 0x8E (Amber Lake 9, Coffee Lake 10, Whiskey Lake 11 and 12) and 0x9E from
# intel-family.h; for 0x55 from the specification updates of the Xeon Scalable generations.
_STEPPINGS: dict[int, tuple[tuple[int, str], ...]] = {
    0x55: ((4, "Skylake-SP"), (7, "Cascade Lake"), (11, "Cooper Lake")),
    0x8E: ((9, "Kaby Lake"), (10, "Coffee Lake"), (12, "Whiskey Lake")),
    0x9E: ((9, "Kaby Lake"), (13, "Coffee Lake")),
}

_HYBRID: dict[str, dict[str, str]] = {
    "Lakefield": {"core": "Sunny Cove", "atom": "Tremont"},
    "Alder Lake": {"core": "Golden Cove", "atom": "Gracemont"},
    "Raptor Lake": {"core": "Raptor Cove", "atom": "Gracemont"},
    "Meteor Lake": {"core": "Redwood Cove", "atom": "Crestmont", "lowpower": "Crestmont"},
    "Arrow Lake": {"core": "Lion Cove", "atom": "Skymont", "lowpower": "Crestmont"},
    "Lunar Lake": {"core": "Lion Cove", "atom": "Skymont"},
    "Panther Lake": {"core": "Cougar Cove", "atom": "Darkmont", "lowpower": "Darkmont"},
}
_ARROW_LAKE_U = 0xB5  # has the cores of Meteor Lake


def x86(values: Texts) -> Design:
    """Parse the fields that x86 prints (arch/x86/kernel/cpu/proc.c)."""
    family, model = decimal(values.get("cpu family")), decimal(values.get("model"))
    stepping = decimal(values.get("stepping"))
    vendor = values.get("vendor_id") or None
    named = None if family is None or model is None else microarchitecture(vendor or "", family, model, stepping)
    return Design(
        vendor,
        values.get("model name") or None,
        named,
        x86_level(values.get("flags", "").split()),
        numbers(family=family, model=model, stepping=stepping),
    )


def microarchitecture(vendor: str, family: int, model: int, stepping: int | None) -> str | None:
    """Return the name of an x86 generation, or None if no table lists it."""
    if vendor == "GenuineIntel":
        return _intel(family, model, stepping)
    if vendor == "AuthenticAMD":
        return next((name for of, first, last, name in _AMD if of == family and first <= model <= last), None)
    if vendor == "HygonGenuine" and family == 0x18:
        return "Dhyana"
    if vendor in ("CentaurHauls", "Shanghai") and family == 7:
        return {0x1B: "WuDaoKou", 0x3B: "LuJiaZui", 0x5B: "YongFeng", 0x6B: "ShiJiDaDao"}.get(model)
    return None


def _intel(family: int, model: int, stepping: int | None) -> str | None:
    if family == 6 and model in _STEPPINGS and stepping is not None:
        return next((name for last, name in _STEPPINGS[model] if stepping <= last), None)
    if family == 6:
        return next((name for name, models in _INTEL.items() if model in models), None)
    if family == 15:
        return "NetBurst"
    return "Diamond Rapids" if (family, model) == (19, 1) else None


def hybrid_core(named: str | None, identity: Collection[tuple[str, int]], kind: str) -> str | None:
    """Return the microarchitecture of the cores that the Linux kernel calls cpu_core, cpu_atom or cpu_lowpower."""
    if dict(identity).get("model") == _ARROW_LAKE_U and named == "Arrow Lake":
        named = "Meteor Lake"
    return _HYBRID.get(named or "", {}).get(kind)


# Arm cores by implementer and part number, the fields of MIDR_EL1. Sources: for Arm's cores their Technical Reference
# Manuals (`MIDR_EL1, Main ID Register`, and the architecture version in the introduction); for other cores Linux,
# arch/arm64/include/asm/cputype.h, and util-linux, sys-utils/lscpu-arm.c. Names are spelled as in lscpu.
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
"""The architecture version of each core, according to its manual."""

_OLD = re.compile(r"([4-7])([A-Z]*)")


def design(values: Texts, midr: str | None = None) -> Design:
    """Return the design of a CPU, given its fields and, on Arm, the register MIDR_EL1 from sysfs."""
    if "CPU implementer" in values or hexadecimal(midr):
        return arm(values, hexadecimal(midr))
    if values.get("vendor_id", "").startswith("IBM/S390"):
        return s390(values)
    if "cpu family" in values:
        return x86(values)
    if "mvendorid" in values or "uarch" in values or values.get("isa", "").startswith("rv"):
        return riscv(values)
    if "Model Name" in values or "CPU Family" in values:
        return loongarch(values)
    if "cpu" in values and ("revision" in values or "POWER" in values["cpu"]):
        return power(values)
    return other(values)


def arm(values: Texts, midr: int | None) -> Design:
    """Return the design from MIDR_EL1 (Arm ARM DDI 0487, D24.2 "MIDR_EL1") or from the fields that Linux prints.

    Bits 31:24 are the implementer, 23:20 the variant, 15:4 the part, and 3:0 the revision.
    """
    names = ("implementer", "variant", "part", "revision")
    if midr:
        identity: list[int | None] = [midr >> 24 & 0xFF, midr >> 20 & 0xF, midr >> 4 & 0xFFF, midr & 0xF]
    else:
        identity = [hexadecimal(values.get(f"CPU {name}")) for name in names]
    implementer, _, part, _ = identity
    key = (-1 if implementer is None else implementer, -1 if part is None else part)
    vendor = None if implementer is None else IMPLEMENTERS.get(implementer, f"0x{implementer:02x}")
    return Design(
        vendor,
        PARTS.get(key),
        PARTS.get(key),
        ARCHITECTURES.get(key) or arm_level(values.get("Features", "").split()) or _old(values),
        numbers(**dict(zip(names, identity, strict=True))),
    )


def _old(values: Texts) -> str | None:
    """Return the architecture version that 32-bit kernels print (`CPU architecture: 5TEJ`, `7`)."""
    match = _OLD.fullmatch(values.get("CPU architecture", ""))
    return f"ARMv{match[1]}{match[2]}" if match else None
