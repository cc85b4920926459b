"""The design of a core according to /proc/cpuinfo: vendor, names, instruction set and identification numbers.

designs.yaml contains the names and their sources.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import Any

from asct.facts.unknown import whole
from asct.resources import data

CpuInfoFields = Mapping[str, str]
_TABLES: Mapping[str, Any] = data(__file__, "designs.yaml")

_HEX = re.compile(r"(?:0x)?([0-9a-fA-F]{1,16})")


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


def x86_level(flags: Collection[str]) -> str | None:
    """Return the highest level (`x86-64-v3`) that the flags allow, or None for a 32-bit CPU."""
    return _highest("x86_levels", flags)


def arm_level(features: Collection[str]) -> str | None:
    """Return the lowest architecture version that has these features, such as `ARMv8.2-A or later`, or None for a
    32-bit CPU.

    The CPU may implement a later version, because not every version adds a feature that the Linux kernel lists. SVE2
    has existed since Armv9.0, and Armv9.n contains all features of Armv8.(n + 5) (Arm Architecture Reference Manual,
    DDI 0487).
    """
    version = _highest("arm_levels", features)
    if version is None:
        return None
    minor = int(version.removeprefix("8."))
    if "sve2" in features:
        return f"ARMv9.{max(0, minor - 5)}-A or later"
    return f"ARMv{version}-A or later"


def _highest(levels: str, features: Collection[str]) -> str | None:
    reached: str | None = None
    for name, needed in _TABLES[levels].items():
        if not set(needed.split()) <= set(features):
            break
        reached = name
    return reached


_PVR = re.compile(r"\(pvr ([0-9a-fA-F]{4}) ([0-9a-fA-F]{4})\)")
_POWER = re.compile(r"POWER([0-9]{1,2})\+?", re.IGNORECASE)


def power(values: CpuInfoFields) -> Design:
    """Parse `cpu : POWER9 (raw), altivec supported` (arch/powerpc/kernel/setup-common.c)."""
    model = values.get("cpu") or None
    generation = _POWER.match(model or "")
    number = int(generation[1]) if generation else None
    pvr = _PVR.search(values.get("revision", ""))
    version = _TABLES["power_isa"].get(number)
    return Design(
        "IBM" if generation else None,
        model,
        generation[0].upper() if generation else None,
        f"Power ISA v{version}" if version else None,
        numbers(pvr=int(pvr[1] + pvr[2], 16) if pvr else None),
    )


def s390(values: CpuInfoFields) -> Design:
    """Parse `vendor_id : IBM/S390`, `processor 0: version = FF, ..., machine = 3906` (arch/s390/kernel/processor.c)."""
    machine = whole(values.get("machine"))
    return Design(
        values.get("vendor_id") or None,
        None if machine is None else f"IBM {machine}",
        None if machine is None else _TABLES["z"].get(machine),
        None,
        numbers(machine=machine),
    )


def loongarch(values: CpuInfoFields) -> Design:
    """Parse `Model Name : Loongson-3A5000`, `ISA : loongarch32 loongarch64` (arch/loongarch/kernel/proc.c)."""
    model = values.get("Model Name") or values.get("model name") or None
    core = next((core_name for part, core_name in _TABLES["loongson"].items() if part in (model or "").upper()), None)
    widths = values.get("ISA", "").split()
    return Design(
        "Loongson" if (model or "").startswith("Loongson") else None,
        model,
        core,
        widths[-1] if widths else None,
        numbers(revision=hexadecimal(values.get("CPU Revision"))),
    )


def riscv(values: CpuInfoFields) -> Design:
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


def other(values: CpuInfoFields) -> Design:
    """Return the names that Linux prints for other CPUs (IA-64, MIPS, SPARC, Alpha), unchanged."""
    model = values.get("model name") or values.get("cpu model") or values.get("cpu") or values.get("family")
    return Design(values.get("vendor_id") or values.get("vendor") or None, model or None)


_ARROW_LAKE_U = 0xB5  # despite its name, it has the same cores as Meteor Lake


def x86(values: CpuInfoFields) -> Design:
    """Parse the fields that x86 prints (arch/x86/kernel/cpu/proc.c)."""
    family, model = whole(values.get("cpu family")), whole(values.get("model"))
    stepping = whole(values.get("stepping"))
    vendor = values.get("vendor_id") or None
    microarch = None if family is None or model is None else microarchitecture(vendor or "", family, model, stepping)
    return Design(
        vendor,
        values.get("model name") or None,
        microarch,
        x86_level(values.get("flags", "").split()),
        numbers(family=family, model=model, stepping=stepping),
    )


def microarchitecture(vendor: str, family: int, model: int, stepping: int | None) -> str | None:
    """Return the name of an x86 generation, or None if no table lists it."""
    if vendor == "GenuineIntel":
        return _intel(family, model, stepping)
    if vendor == "AuthenticAMD":
        rows = _TABLES["amd"]
        return next((name for of, first, last, name in rows if of == family and first <= model <= last), None)
    if vendor == "HygonGenuine" and family == 0x18:
        return "Dhyana"
    if vendor in ("CentaurHauls", "Shanghai") and family == 7:
        return {0x1B: "WuDaoKou", 0x3B: "LuJiaZui", 0x5B: "YongFeng", 0x6B: "ShiJiDaDao"}.get(model)
    return None


def _intel(family: int, model: int, stepping: int | None) -> str | None:
    steppings = _TABLES["intel_steppings"].get(model)
    if family == 6 and steppings and stepping is not None:
        return next((name for last, name in steppings.items() if stepping <= last), None)
    if family == 6:
        return next((name for name, models in _TABLES["intel"].items() if model in models), None)
    if family == 15:
        return "NetBurst"
    return "Diamond Rapids" if (family, model) == (19, 1) else None


def hybrid_core(microarch: str | None, identity: Collection[tuple[str, int]], kind: str) -> str | None:
    """Return the microarchitecture of the cores that the Linux kernel calls cpu_core, cpu_atom or cpu_lowpower."""
    if dict(identity).get("model") == _ARROW_LAKE_U and microarch == "Arrow Lake":
        microarch = "Meteor Lake"
    core: str | None = _TABLES["hybrid"].get(microarch or "", {}).get(kind)
    return core


PARTS: dict[tuple[int, int], str] = {
    **{(0x41, part): name for named in _TABLES["arm"].values() for part, name in named.items()},
    **{(maker, part): name for maker, named in _TABLES["others"].items() for part, name in named.items()},
}
ARCHITECTURES: dict[tuple[int, int], str] = {
    **{(0x41, part): version for version, named in _TABLES["arm"].items() for part in named},
    **{(maker, part): one for maker, own in _TABLES["other_architectures"].items() for part, one in own.items()},
}
"""The architecture version of each core, according to its manual."""

_OLD = re.compile(r"([4-7])([A-Z]*)")


def design(values: CpuInfoFields, midr: str | None = None) -> Design:
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


def arm(values: CpuInfoFields, midr: int | None) -> Design:
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
    vendor = None if implementer is None else _TABLES["implementers"].get(implementer, f"0x{implementer:02x}")
    return Design(
        vendor,
        PARTS.get(key),
        PARTS.get(key),
        ARCHITECTURES.get(key) or arm_level(values.get("Features", "").split()) or _old(values),
        numbers(**dict(zip(names, identity, strict=True))),
    )


def _old(values: CpuInfoFields) -> str | None:
    """Return the architecture version that 32-bit Linux kernels print (`CPU architecture: 5TEJ`, `7`)."""
    match = _OLD.fullmatch(values.get("CPU architecture", ""))
    return f"ARMv{match[1]}{match[2]}" if match else None
