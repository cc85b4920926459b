"""The design of each CPU: which architecture's fields /proc/cpuinfo has decides who reads them."""

from __future__ import annotations

import re

from asct.facts import isa
from asct.facts.armparts import ARCHITECTURES, IMPLEMENTERS, PARTS
from asct.facts.design import Design, Texts, hexadecimal, numbers
from asct.facts.otherparts import loongarch, other, power, riscv, s390
from asct.facts.x86parts import x86

_OLD = re.compile(r"([4-7])([A-Z]*)")


def design(values: Texts, midr: str | None = None) -> Design:
    """The design of a CPU from its fields and, of Arm, the register that the kernel shows in sysfs."""
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
    """From MIDR_EL1 (Arm Architecture Reference Manual DDI 0487, D24.2 "MIDR_EL1") or the fields that Linux prints.

    Bits 31:24 are the implementer, 23:20 the variant, 15:4 the part, 3:0 the revision.
    """
    if midr:
        implementer: int | None = midr >> 24 & 0xFF
        part: int | None = midr >> 4 & 0xFFF
        variant: int | None = midr >> 20 & 0xF
        revision: int | None = midr & 0xF
    else:
        implementer, part = hexadecimal(values.get("CPU implementer")), hexadecimal(values.get("CPU part"))
        variant, revision = hexadecimal(values.get("CPU variant")), hexadecimal(values.get("CPU revision"))
    key = (-1 if implementer is None else implementer, -1 if part is None else part)
    vendor = None if implementer is None else IMPLEMENTERS.get(implementer, f"0x{implementer:02x}")
    return Design(
        vendor,
        PARTS.get(key),
        PARTS.get(key),
        ARCHITECTURES.get(key) or isa.arm(values.get("Features", "").split()) or _old(values),
        numbers(implementer=implementer, variant=variant, part=part, revision=revision),
    )


def _old(values: Texts) -> str | None:
    """`CPU architecture: 5TEJ`, `7`: the version that 32-bit kernels print."""
    match = _OLD.fullmatch(values.get("CPU architecture", ""))
    return f"ARMv{match[1]}{match[2]}" if match else None
