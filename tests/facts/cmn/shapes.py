"""Meshes of several products and shapes, as found in servers."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from tests.facts.cmn import generator as hw
from tests.facts.cmn.generator import Hardware, Plug, build


def small(x: int, y: int) -> Sequence[Plug]:
    """2 x 2: a requester, a home node, a memory controller, and a corner for input and output."""
    return {
        (0, 0): [Plug(0, hw.P_HND, (hw.HN_I, hw.DVM, hw.DTC))],
        (1, 0): [Plug(0, hw.RNF_B_ESAM, (hw.RN_SAM,)), Plug(1, hw.P_RNI, (hw.RN_I,))],
        (0, 1): [Plug(0, hw.P_HNF, (hw.HN_F,))],
        (1, 1): [Plug(1, hw.P_SNF)],
    }[x, y]


def altra(x: int, y: int) -> Sequence[Plug]:
    """8 x 8: two CPUs behind an aggregation layer and a home node on most crosspoints, memory on two edges, and a
    gateway in the corner."""
    if (x, y) == (0, 0):
        return [Plug(0, hw.P_HND, (hw.HN_I, hw.DVM, hw.DTC)), Plug(1, hw.P_HNF, (hw.HN_F,))]
    if (x, y) == (7, 7):
        return [Plug(0, hw.P_CXHA, (hw.CXHA, hw.CXRA)), Plug(1, hw.P_CXHA, (hw.CXLA,), external=True)]
    if x in (0, 7):
        return [Plug(0, hw.P_SBSX, (hw.SBSX,)), Plug(1, hw.P_HNF, (hw.HN_F,))]
    return [Plug(0, hw.RNF_B_ESAM, (hw.RN_SAM,), devices=2), Plug(1, hw.P_HNF, (hw.HN_F,))]


def neoverse(x: int, y: int) -> Sequence[Plug]:
    """CMN-700: up to four ports, several controllers for debug and trace, CCG gateways, and some empty crosspoints."""
    if (x, y) == (1, 1):
        return []
    if x == 0:
        return [
            Plug(0, hw.P_HND if y == 0 else hw.P_HNT, (hw.HN_I, hw.DTC)),
            Plug(2, hw.P_CCG, (hw.CCG_RA, hw.CCG_HA, hw.CCLA)),
        ]
    if y == 0:
        return [Plug(1, hw.P_SNF, devices=2)]
    return [
        Plug(0, hw.RNF_E_ESAM, (hw.RN_SAM,), devices=2),
        Plug(1, hw.RNF_E_ESAM, (hw.RN_SAM,), external=True),
        Plug(2, hw.P_HNF, (hw.HN_F,)),
        Plug(3, hw.P_HNF, (hw.HN_F,)),
    ]


def two_ports(x: int, y: int) -> Sequence[Plug]:
    """Only what exists in meshes with two ports per crosspoint."""
    return (
        [Plug(0, hw.RNF_B_ESAM, (hw.RN_SAM,)), Plug(1, hw.P_HNF, (hw.HN_F,), devices=2)]
        if (x + y) % 2
        else small(x % 2, y % 2)
    )


def slices(x: int, y: int) -> Sequence[Plug]:
    """CMN S3: home nodes of type HN-S."""
    if (x, y) == (0, 0):
        return [Plug(0, hw.P_HND, (hw.HN_I, hw.DTC)), Plug(1, hw.P_RNI, (hw.RN_I,))]
    return [Plug(0, hw.RNF_F, (hw.RN_SAM,), devices=4), Plug(1, hw.P_HNS, (hw.HN_S,), devices=2)]


def interconnect(_x: int, _y: int) -> Sequence[Plug]:
    """CI-700: many ports on few crosspoints."""
    return [
        Plug(0, hw.RNF_E_ESAM, (hw.RN_SAM,)),
        Plug(1, hw.P_HNF, (hw.HN_F,)),
        Plug(2, hw.P_SBSX, (hw.SBSX,)),
        Plug(3, hw.P_HND, (hw.HN_I, hw.DTC)),
    ]


SHAPES: dict[str, Callable[[], Hardware]] = {
    "CMN-600 2x2": lambda: build(hw.CMN_600, 2, 2, small, chi=2),
    "CMN-600 2x2 with one bit a side": lambda: build(hw.CMN_600, 2, 2, small, chi=3, bits=1),
    "CMN-600 4x4": lambda: build(hw.CMN_600, 4, 4, two_ports, chi=2),
    "CMN-600 8x8": lambda: build(hw.CMN_600, 8, 8, altra, chi=2, home_info=0x1035),
    "CMN-600 6x1": lambda: build(hw.CMN_600, 6, 1, two_ports, chi=2),
    "CMN-600 1x3": lambda: build(hw.CMN_600, 1, 3, two_ports, chi=2),
    "CMN-650 5x3": lambda: build(hw.CMN_650, 5, 3, two_ports, chi=4),
    "CMN-700 10x10": lambda: build(hw.CMN_700, 10, 10, neoverse, revision=2, home_info=0x1038 | 16 << 54),
    "CMN-700 12x12": lambda: build(
        hw.CMN_700, 12, 12, neoverse, revision=3, home_info=0x0C19 | 16 << 54, global_info=1 << 63
    ),
    "CMN-700 3x7": lambda: build(hw.CMN_700, 3, 7, neoverse, revision=1, home_info=0x1035 | 16 << 54),
    "CI-700 1x1": lambda: build(hw.CI_700, 1, 1, interconnect, revision=0, home_info=0x1035 | 16 << 54),
    "CI-700 2x1": lambda: build(hw.CI_700, 2, 1, interconnect, revision=0, home_info=0x1035 | 16 << 54),
    "CMN S3 8x6": lambda: build(hw.CMN_S3, 8, 6, slices, revision=3, chi=6, home_info=0x1035 | 12 << 54),
    "CMN S3 3x3": lambda: build(hw.CMN_S3_R0, 3, 3, slices, revision=2, chi=6, home_info=0x1035 | 12 << 54),
}
