"""Which registers each node of each mesh has, and what they mean: data from the public manuals.

Only what software that is not secure may read is listed, and nothing whose reading changes anything.
"""

from __future__ import annotations

from functools import cache

from asct.facts.cmn.layouts.base import FieldLayout, RegisterLayout
from asct.facts.cmn.layouts.common import configuration, node
from asct.facts.cmn.layouts.controller import controller
from asct.facts.cmn.layouts.crosspoint import crosspoint
from asct.facts.cmn.layouts.edge import address_map, bridge, gateway, requester
from asct.facts.cmn.layouts.home import dvm, home
from asct.facts.cmn.layouts.names import NODE_TYPES
from asct.facts.cmn.layouts.products import PRODUCTS, Product

__all__ = ["FieldLayout", "RegisterLayout", "discovery", "registers_of"]

_PREFIXES = {
    0x1: "por_dn_", 0x2: "por_cfgm_", 0x3: "por_dt_", 0x4: "por_hni_", 0x5: "por_hnf_", 0x6: "por_mxp_",
    0x7: "por_sbsx_", 0xA: "por_rni_", 0xD: "por_rnd_", 0xF: "por_rnsam_", 0x100: "por_cxg_ra_", 0x101: "por_cxg_ha_",
    0x102: "por_cxla_", 0x103: "por_ccg_ra_", 0x104: "por_ccg_ha_", 0x105: "por_ccla_", 0x200: "cmn_hns_",
}  # fmt: skip
"""How the manuals begin the names of a node's registers. Of the other types only what all nodes have is listed."""


@cache
def registers_of(part: int, revision: str | None, code: int) -> tuple[RegisterLayout, ...]:
    """The registers of nodes of the type `code` in a mesh, by its part number; empty for one that is not known.

    Where registers stand depends in a CMN S3 on the revision; without it those are left out.
    """
    product = PRODUCTS.get(part)
    if product is None or code not in NODE_TYPES:
        return ()
    return (*node(_PREFIXES.get(code, ""), product, code), *_own(product, revision, code))


def _own(product: Product, revision: str | None, code: int) -> tuple[RegisterLayout, ...]:
    match code:
        case 0x1:
            return dvm(product)
        case 0x2:
            return configuration(product)
        case 0x3:
            return controller(product)
        case 0x5 | 0x200:
            return home(product, code)
        case 0x6:
            return crosspoint(product, revision)
        case 0x7:
            return bridge(product)
        case 0xA | 0xD:
            return requester(product, _PREFIXES[code])
        case 0xF:
            return address_map(product)
        case _:
            return gateway(product, code)


def discovery(product: Product) -> dict[int, tuple[int, ...]]:
    """Offsets of the registers, by type of node, that tell the topology and the sizes of the caches."""
    domain = () if product.domain is None else (product.domain,)
    return {
        0x2: (0x08, 0x10, 0x900, 0x908),
        0x6: (*product.connect, *product.port_info, *domain),
        0x5: (0x900,),
        0x200: (0x900,),
    }
