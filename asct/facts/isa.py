"""Instruction sets from the features that the kernel lists."""

from __future__ import annotations

from collections.abc import Collection

# System V ABI, AMD64 Architecture Processor Supplement, 3.1.1 "Processor Architecture"; in the kernel's spelling
# (arch/x86/include/asm/cpufeatures.h): SSE3 is pni, LZCNT abm, CMPXCHG16B cx16, SYSCALL goes with lm.
_X86_64: tuple[tuple[str, str], ...] = (
    ("x86-64", "lm cmov cx8 fpu fxsr mmx sse sse2"),
    ("x86-64-v2", "cx16 lahf_lm popcnt pni sse4_1 sse4_2 ssse3"),
    ("x86-64-v3", "avx avx2 bmi1 bmi2 f16c fma abm movbe xsave"),
    ("x86-64-v4", "avx512f avx512bw avx512cd avx512dq avx512vl"),
)

# Arm Architecture Reference Manual (DDI 0487), A2 "Armv8-A Architecture Extensions": features that are mandatory from
# a version on and that Linux lists (Documentation/arch/arm64/elf_hwcaps.rst). Left out is what the kernel hides on its
# own (ssbs for errata, paca and bti by configuration).
_ARM: tuple[tuple[str, str], ...] = (
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


def x86_64(flags: Collection[str]) -> str | None:
    """`x86-64-v3`; None without 64 bits."""
    return _highest(_X86_64, flags)


def arm(features: Collection[str]) -> str | None:
    """`ARMv8.2-A or later`: no version below can be meant, but later ones may add nothing that is listed.

    SVE2 exists from Armv9.0 on, and 9.n contains all of 8.(n + 5) (the same manual). None for 32 bits.
    """
    version = _highest(_ARM, features)
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
