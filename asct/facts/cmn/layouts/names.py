"""Numbers that the meshes give to types of nodes and to devices on ports.

Sources: Linux, drivers/perf/arm-cmn.c, `enum cmn_node_type` and `arm_cmn_device_type`; Arm, SCP-firmware,
module/cmn_cyprus/include/internal/cmn_cyprus_mxp_reg.h, `enum cmn_cyprus_device_type` (the names of the manuals:
por_mxp_device_port_connect_info_p0, device_type_p0).
"""

from __future__ import annotations

from types import MappingProxyType
from typing import Final

CFG, DTC, HN_F, XP, RN_SAM, HN_S = 2, 3, 5, 6, 0xF, 0x200

NODE_TYPES: Final = MappingProxyType(
    {
        0x1: "DN",
        CFG: "CFG",
        DTC: "DTC",
        0x4: "HN-I",
        HN_F: "HN-F",
        XP: "XP",
        0x7: "SBSX",
        0x8: "MPAM_S",
        0x9: "MPAM_NS",
        0xA: "RN-I",
        0xD: "RN-D",
        RN_SAM: "RN-SAM",
        0x10: "MTSX",
        0x11: "HN-P",
        0x100: "CXRA",
        0x101: "CXHA",
        0x102: "CXLA",
        0x103: "CCG_RA",
        0x104: "CCG_HA",
        0x105: "CCLA",
        0x106: "CCLA_RNI",
        HN_S: "HN-S",
        0x201: "HN-S_MPAM_S",
        0x202: "HN-S_MPAM_NS",
        0x1000: "APB",
    }
)

DEVICES: Final = MappingProxyType(
    {
        0x01: ("RN-I", "RN-I"),
        0x02: ("RN-D", "RN-D"),
        0x04: ("RN-F", "RN-F_CHIB"),
        0x05: ("RN-F", "RN-F_CHIB_ESAM"),
        0x06: ("RN-F", "RN-F_CHIA"),
        0x07: ("RN-F", "RN-F_CHIA_ESAM"),
        0x08: ("HN-I", "HN-T"),
        0x09: ("HN-I", "HN-I"),
        0x0A: ("HN-I", "HN-D"),
        0x0B: ("HN-P", "HN-P"),
        0x0C: ("SN-F", "SN-F"),
        0x0D: ("SBSX", "SBSX"),
        0x0E: ("HN-F", "HN-F"),
        0x0F: ("SN-F", "SN-F_CHIE"),
        0x10: ("SN-F", "SN-F_CHID"),
        0x11: ("CXG", "CXHA"),
        0x12: ("CXG", "CXRA"),
        0x13: ("CXG", "CXRH"),
        0x14: ("RN-F", "RN-F_CHID"),
        0x15: ("RN-F", "RN-F_CHID_ESAM"),
        0x16: ("RN-F", "RN-F_CHIC"),
        0x17: ("RN-F", "RN-F_CHIC_ESAM"),
        0x18: ("RN-F", "RN-F_CHIE"),
        0x19: ("RN-F", "RN-F_CHIE_ESAM"),
        0x1A: ("HN-S", "HN-S"),
        0x1B: ("LCN", "LCN"),
        0x1C: ("MTSX", "MTSX"),
        0x1D: ("HN-I", "HN-V"),
        0x1E: ("CCG", "CCG"),
        0x20: ("RN-F", "RN-F_CHIF"),
        0x21: ("RN-F", "RN-F_CHIF_ESAM"),
        0x22: ("SN-F", "SN-F_CHIF"),
    }
)
"""Family and full name. HN-T (with debug and trace), HN-D (and the DVM node) and HN-V are kinds of HN-I."""

DEVICE_NAMES: Final = MappingProxyType({0: "nothing", **{code: name for code, (_, name) in DEVICES.items()}})
