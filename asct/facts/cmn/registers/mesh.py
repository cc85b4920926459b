"""A mesh from its registers: what it is, its crosspoints with their ports, its nodes, and the registers themselves.

The way is that of `arm_cmn_discover` in the kernel's drivers/perf/arm-cmn.c. It is pure, and takes any input: what does
not fit is left out, and `unknown` says why.
"""

from __future__ import annotations

from dataclasses import dataclass

from asct.facts.cmn.layouts.home import sf_bytes, slc_bytes
from asct.facts.cmn.layouts.names import DEVICES, DTC, HN_F, HN_S, NODE_TYPES, RN_SAM, XP
from asct.facts.cmn.layouts.products import (
    INFO_GLOBAL,
    PERIPH_ID_01,
    PERIPH_ID_23,
    PRODUCTS,
    UNIT_INFO,
    Product,
    part_number,
)
from asct.facts.cmn.model import Crosspoint, Mesh, Node, Port
from asct.facts.cmn.registers.detail import registers
from asct.facts.cmn.registers.dump import Dump, Found, read_dump
from asct.facts.cmn.registers.grid import Grid, grid_of
from asct.facts.gaps import Gaps

_CAL = 1 << 7
"""por_mxp_device_port_connect_info_p<n>: cal_connected."""


def mesh_of_dump(text: str, instance: int = 0) -> Mesh:
    """The mesh that the kernel `cmn` printed, with all registers in it that are known. Never raises."""
    gaps = Gaps()
    dump = read_dump(text)
    if dump.fault:
        gaps.note("dump", f"not all of the kernel's output could be read: {dump.fault}")
    mesh = _Reading(dump, gaps).mesh(instance)
    return mesh.model_copy(update={"registers": registers(dump, mesh, gaps), "unknown": gaps.reasons})


@dataclass(slots=True)
class _Reading:
    dump: Dump
    gaps: Gaps

    def mesh(self, instance: int) -> Mesh:
        """All but the registers."""
        root, base = self.dump.root, self.dump.base
        if root is None:
            self.gaps.note("mesh", "the output has no configuration node")
            return Mesh(source="registers", instance=instance, base=base)
        product = self._product(root)
        grid = grid_of(self.dump, root, self.gaps)
        crosspoints = self._crosspoints(product, grid)
        slc, sf = self._caches(product)
        return Mesh(
            kind=product.kind if product else None,
            revision=self._revision(product, root),
            chi=self._chi(product, root),
            width=grid.width if grid else None,
            height=grid.height if grid else None,
            source="registers",
            instance=instance,
            base=base,
            multiple_dtm=bool(root.registers[INFO_GLOBAL] >> 63) if INFO_GLOBAL in root.registers else None,
            slc_bytes=slc,
            sf_bytes=sf,
            crosspoints=crosspoints,
            nodes=self._nodes(root, grid),
        )

    def _product(self, root: Found) -> Product | None:
        if PERIPH_ID_01 not in root.registers:
            self.gaps.note("kind", "the output has no peripheral identification")
            return None
        part = part_number(root.registers[PERIPH_ID_01])
        if part not in PRODUCTS:
            self.gaps.note("kind", f"no mesh is known with the part number {part:#x}")
        return PRODUCTS.get(part)

    def _revision(self, product: Product | None, root: Found) -> str | None:
        if product is None or PERIPH_ID_23 not in root.registers:
            self.gaps.note("revision", "the kind of mesh, or its peripheral identification, is unknown")
            return None
        code = root.registers[PERIPH_ID_23] >> 4 & 0xF
        found = product.revision(code)
        if found is None:
            self.gaps.note("revision", f"it is not known which revision of a {product.kind} has the number {code}")
        return found

    def _chi(self, product: Product | None, root: Found) -> str | None:
        info = root.registers.get(INFO_GLOBAL)
        found = product.chi_issue(info) if product and info is not None else None
        if found is None:
            self.gaps.note("chi", "the kind of mesh is unknown, or por_info_global does not tell the issue of CHI")
        return found

    def _crosspoints(self, product: Product | None, grid: Grid | None) -> list[Crosspoint]:
        if grid is None:
            return []
        if product is None:
            self.gaps.note("ports", "where the registers of ports are depends on the kind of mesh")
        found = []
        for node in self.dump.crosspoints():
            x, y = grid.places[node.offset]
            found.append(
                Crosspoint(
                    node_id=node.node_id,
                    logical_id=node.logical_id,
                    x=x,
                    y=y,
                    dtc=self._domain(product, node),
                    ports=self._ports(product, node) if product else [],
                    offset=node.offset,
                )
            )
        return sorted(found, key=lambda xp: xp.logical_id)

    def _domain(self, product: Product | None, node: Found) -> int | None:
        """A CMN-600 does not tell; but with a single controller there is a single domain."""
        if product and product.domain is not None and product.domain in node.registers:
            return node.registers[product.domain] & 3
        controllers = sum(one.code == DTC for one in self.dump.nodes)
        if product and product.domain is None and controllers == 1 and not self.dump.isolation:
            return 0
        self.gaps.note("dtc", "the registers do not tell the debug and trace domains of the crosspoints")
        return None

    def _ports(self, product: Product, node: Found) -> list[Port]:
        found = []
        for number, offset in enumerate(product.connect):
            about = node.registers.get(offset)
            if about is None:
                self.gaps.note("ports", "the output lacks what hangs on some ports")
                continue
            code = about & ((1 << product.device_bits) - 1)
            if code == 0:
                continue
            kind, name = DEVICES.get(code, (None, None))
            if kind is None:
                self.gaps.note("ports", f"no device is known by the number {code:#x}")
            found.append(
                Port(
                    port=number,
                    kind=kind,
                    device_type=name,
                    code=code,
                    devices=self._devices(product, node, number, about),
                )
            )
        return found

    def _devices(self, product: Product, node: Found, number: int, about: int) -> int | None:
        """One without an aggregation layer; behind one, num_dev of por_mxp_p<n>_info."""
        if not about & _CAL:
            return 1
        info = node.registers.get(product.port_info[number]) if number < len(product.port_info) else None
        if info is None or not info & 7:
            self.gaps.note("devices", "the registers do not tell how many devices share some of the ports")
            return None
        return info & 7

    def _nodes(self, root: Found, grid: Grid | None) -> list[Node]:
        found = [Node(type=NODE_TYPES[root.code], code=root.code, logical_id=root.logical_id, offset=root.offset)]
        lost = held = 0
        for crosspoint in self.dump.crosspoints():
            below = self.dump.below(crosspoint)
            lost += max(crosspoint.children - len(below), 0)
            held += sum(node.skipped not in (None, "external") for node in below)
            found += [
                self._node(node, crosspoint, grid)
                for node in below
                if node.skipped in (None, "external") and node.code != XP
            ]
        if held:
            self.gaps.note("nodes", f"{held} nodes were not looked at: device isolation is on, or they cannot be read")
        elif lost:
            self.gaps.note("nodes", f"{lost} nodes that crosspoints count are not there, or not in the output")
        return sorted(found, key=lambda node: (node.external, node.code or 0, node.logical_id or 0, node.offset or 0))

    def _node(self, node: Found, crosspoint: Found, grid: Grid | None) -> Node:
        x, y = grid.places[crosspoint.offset] if grid else (None, None)
        if node.skipped:
            return Node(type="external", x=x, y=y, external=True, offset=node.offset)
        port, device = grid.port(node, crosspoint) if grid else (None, None)
        if grid and port is None:
            self.gaps.note("places", "the node ids of some nodes are not those of their crosspoints")
        if node.code not in NODE_TYPES:
            self.gaps.note("types", f"no type of node is known by the number {node.code:#x}")
        return Node(
            type=NODE_TYPES.get(node.code, f"{node.code:#x}"),
            code=node.code,
            node_id=node.node_id,
            logical_id=None if node.code == RN_SAM else node.logical_id,
            x=x,
            y=y,
            port=port,
            device=device,
            offset=node.offset,
        )

    def _caches(self, product: Product | None) -> tuple[int | None, int | None]:
        homes = [node for node in self.dump.nodes if node.code in (HN_F, HN_S)]
        if product is None or not homes or any(UNIT_INFO not in node.registers for node in homes):
            self.gaps.note("slc_bytes", "there are no home nodes, or not all of them tell what they were built with")
            self.gaps.note("sf_bytes", self.gaps.reasons["slc_bytes"])
            return None, None
        infos = [node.registers[UNIT_INFO] for node in homes]
        return (
            self._sum("slc_bytes", "slc_size", [slc_bytes(product, info) for info in infos]),
            self._sum("sf_bytes", "sf_size", [sf_bytes(product, info) for info in infos]),
        )

    def _sum(self, name: str, source: str, sizes: list[int | None]) -> int | None:
        known = [size for size in sizes if size is not None]
        if len(known) == len(sizes):
            return sum(known)
        self.gaps.note(name, f"it is not known what size {source} of por_hnf_unit_info stands for")
        return None
