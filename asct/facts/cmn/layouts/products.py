"""The meshes that are known, and where each of them keeps what discovery needs.

Sources: Linux, drivers/perf/arm-cmn.c: `enum cmn_part`, `enum cmn_revision`, CMN_CFGM_PERIPH_ID_01,
CMN_CFGM_INFO_GLOBAL, `arm_cmn_device_connect_info`, `arm_cmn_dtc_domain`, `arm_cmn_pmu_offset`; the Technical Reference
Manuals (CMN-600 100180, CMN-650 101481, CMN-700 102308, CI-700 101569, CMN S3 107858), in the form of the register
definitions of Arm's cmn-tools (github.com/ArmDeveloperEcosystem/cmn-tools, regdefs/).
"""

from __future__ import annotations

from dataclasses import dataclass
from types import MappingProxyType
from typing import Final

from asct.facts.cmn.model import MeshKind


@dataclass(frozen=True, slots=True)
class Product:
    """A kind of mesh. Offsets count from the registers of the node concerned."""

    kind: MeshKind
    part: int
    revisions: tuple[str | None, ...]
    """By the number in por_cfgm_periph_id_2; None where sources differ."""
    connect: tuple[int, ...]
    """por_mxp_device_port_connect_info_p<n> of each port, in the crosspoint."""
    port_info: tuple[int, ...]
    """por_mxp_p<n>_info of each port; empty where it was not looked up."""
    mesh_connect: int
    """por_mxp_mesh_port_connect_info_east; that of the north follows."""
    domain: int | None
    """por_dtm_unit_info, which has the debug and trace domain of a crosspoint."""
    chi: int | None
    """Lowest of three bits of por_info_global with the issue of CHI, 1 for A; None: one bit, see `chi_issue`."""
    device_bits: int
    """Width of a device type on a port."""

    def revision(self, code: int) -> str | None:
        """`r1p0`; None for a number that is not known."""
        return self.revisions[code] if code < len(self.revisions) else None

    def chi_issue(self, info_global: int) -> str | None:
        """`CHI-E`. A CMN-600 tells C from B by chic_mode_en, bit 49 (cmn-tools, cmn_devmem.py: `chi_version`)."""
        number = 2 + (info_global >> 49 & 1) if self.chi is None else info_global >> self.chi & 7
        return f"CHI-{'?ABCDEFG'[number]}" if number else None

    def trace_base(self, crosspoint: bool, revision: str | None) -> int | None:
        """Where the registers for debug, trace and counting begin; None if the revision decides it and is unknown."""
        if self.part != CMN_S3:
            return 0x2000
        if not crosspoint:
            return 0xD900
        return None if revision is None else 0xD900 if revision.startswith("r0") else 0xA000


CMN_600, CMN_600AE, CMN_650, CMN_700, CI_700, CMN_S3 = 0x434, 0x438, 0x436, 0x43C, 0x43A, 0x43E

_TWO = (0x08, 0x10)
_SIX = tuple(0x08 + 8 * port for port in range(6))
_SIX_AROUND = (*_TWO, *(0x18 + 8 * port for port in range(2, 6)))
"""CI-700: the registers of the mesh ports stand between those of ports 1 and 2. So the driver of Linux has it;
cmn-tools takes a CI-700 for a CMN-700 here and in por_dtm_unit_info."""
_INFO_TWO = (0x900, 0x908)
_INFO_SIX = tuple(0x900 + 16 * port for port in range(6))
_REVISIONS_600 = ("r1p0", "r1p1", "r1p2", "r1p3", "r2p0", "r3p0", None, "r3p2")
"""6 is r3p1 to the driver of Linux and r2p1 to Arm's cmn-tools."""

PRODUCTS: Final = MappingProxyType(
    {
        product.part: product
        for product in (
            Product("CMN-600", CMN_600, _REVISIONS_600, _TWO, _INFO_TWO, 0x18, None, None, 5),
            Product("CMN-600AE", CMN_600AE, (), _TWO, _INFO_TWO, 0x18, None, None, 5),
            Product("CMN-650", CMN_650, ("r0p0", "r1p0", "r1p1", "r2p0", "r1p2"), _TWO, _INFO_TWO, 0x18, 0x910, 60, 5),
            Product("CMN-700", CMN_700, ("r0p0", "r1p0", "r2p0", "r3p0"), _SIX, _INFO_SIX, 0x38, 0x960, 60, 5),
            Product("CI-700", CI_700, ("r0p0", "r1p0", "r2p0"), _SIX_AROUND, (), 0x18, 0x910, 60, 5),
            Product("CMN S3", CMN_S3, ("r0p0", "r0p1", "r1p0", "r2p0"), _SIX, _INFO_SIX, 0x38, 0x960, 56, 6),
        )
    }
)

PERIPH_ID_01, PERIPH_ID_23, INFO_GLOBAL, UNIT_INFO = 0x08, 0x10, 0x900, 0x900


def part_number(periph_id_01: int) -> int:
    """Bits 7 to 0 and 35 to 32 of por_cfgm_periph_id_0_periph_id_1 (CMN_CFGM_PID0_PART_0, CMN_CFGM_PID1_PART_1)."""
    return (periph_id_01 >> 32 & 0xF) << 8 | periph_id_01 & 0xFF


def of_kind(kind: MeshKind) -> Product:
    """The product of a name."""
    return next(product for product in PRODUCTS.values() if product.kind == kind)
