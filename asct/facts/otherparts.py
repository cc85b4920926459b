"""Cores of Power, s390x, LoongArch, RISC-V and the rest, from what their kernels print in /proc/cpuinfo."""

from __future__ import annotations

import re

from asct.facts.design import Design, Texts, decimal, hexadecimal, numbers

_PVR = re.compile(r"\(pvr ([0-9a-fA-F]{4}) ([0-9a-fA-F]{4})\)")
_POWER = re.compile(r"POWER([0-9]{1,2})\+?", re.IGNORECASE)

# Power ISA, preface of each version: the processors that implement it first
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
    """`cpu : POWER9 (raw), altivec supported` (arch/powerpc/kernel/setup-common.c)."""
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
    """`vendor_id : IBM/S390`, `processor 0: version = FF, ..., machine = 3906` (arch/s390/kernel/processor.c)."""
    machine = decimal(values.get("machine"))
    return Design(
        values.get("vendor_id") or None,
        None if machine is None else f"IBM {machine}",
        None if machine is None else _Z.get(machine),
        None,
        numbers(machine=machine),
    )


def loongarch(values: Texts) -> Design:
    """`Model Name : Loongson-3A5000`, `ISA : loongarch32 loongarch64` (arch/loongarch/kernel/proc.c)."""
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
    """`isa`, `uarch`, `mvendorid`, `marchid`, `mimpid` (arch/riscv/kernel/cpu.c); the vendor is the number."""
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
    """IA-64, MIPS, SPARC, Alpha: what they print as it is."""
    model = values.get("model name") or values.get("cpu model") or values.get("cpu") or values.get("family")
    return Design(values.get("vendor_id") or values.get("vendor") or None, model or None)
