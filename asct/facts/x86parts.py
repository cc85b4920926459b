"""Microarchitectures of x86 processors by vendor, family, model and, where one number has several, stepping.

Sources: Linux, arch/x86/include/asm/intel-family.h (Intel), arch/x86/kernel/cpu/amd.c and AMD's Revision Guides and
Processor Programming References (AMD), arch/x86/kernel/cpu/hygon.c; GCC, gcc/common/config/i386/cpuinfo.h (Zhaoxin).
"""

from __future__ import annotations

from collections.abc import Collection

from asct.facts import isa
from asct.facts.design import Design, Texts, decimal, numbers

# Family 6: the name of the processor's generation and its models.
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

# Family, models (first, last) and a name; the first row that fits counts. Steppings below tell one model's names apart.
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

# intel-family.h notes the steppings: 0x8E is Amber Lake 9, Coffee Lake 10, Whiskey Lake 11 and 12; 0x55 from the
# specification updates of the Xeon Scalable generations.
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
    """A design from the fields of /proc/cpuinfo (arch/x86/kernel/cpu/proc.c)."""
    family, model = decimal(values.get("cpu family")), decimal(values.get("model"))
    stepping = decimal(values.get("stepping"))
    vendor = values.get("vendor_id") or None
    named = None if family is None or model is None else microarchitecture(vendor or "", family, model, stepping)
    return Design(
        vendor,
        values.get("model name") or None,
        named,
        isa.x86_64(values.get("flags", "").split()),
        numbers(family=family, model=model, stepping=stepping),
    )


def microarchitecture(vendor: str, family: int, model: int, stepping: int | None) -> str | None:
    """The name of a generation; None when no table has it."""
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
    """The microarchitecture of the cores that the kernel calls cpu_core, cpu_atom and cpu_lowpower."""
    if dict(identity).get("model") == _ARROW_LAKE_U and named == "Arrow Lake":
        named = "Meteor Lake"
    return _HYBRID.get(named or "", {}).get(kind)
