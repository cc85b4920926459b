"""Build a mesh from its registers: product, crosspoints with their ports, nodes, and the registers themselves.

The method is the same as in `arm_cmn_discover` in the Linux kernel's drivers/perf/arm-cmn.c. All functions are pure and
accept any input: they omit inconsistent data and add the reason to `unknown`.

From the highest to the lowest bits, a node ID consists of x, y, port and device (CMN-600 TRM 100180, Node ID mapping).
No register reports the widths of these parts. The three lowest bits contain the port and the device. If a crosspoint
has more than two ports, the port has two bits and the device one; otherwise, the port has one and the device two
(`arm_cmn_discover`: portid_bits, deviceid_bits). x and y have the same width, which depends on the size of the mesh.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from asct.facts.cmn.kernel_output import KernelOutput, PrintedNode, read_dump
from asct.facts.cmn.layouts import (
    DTC,
    HN_F,
    HN_S,
    INFO_GLOBAL,
    PERIPH_ID_01,
    PERIPH_ID_23,
    RN_SAM,
    UNIT_INFO,
    XP,
    FieldLayout,
    MeshProduct,
    devices,
    node_types,
    of_kind,
    part_number,
    products,
    registers_of,
)
from asct.facts.cmn.model import Crosspoint, Mesh, MeshNode, Port, Register, RegisterField
from asct.facts.unknown import UnknownFacts

_MOST = 16
"""Maximum number of crosspoints along one axis. A coordinate has at most four bits."""
_PLACE_0_1 = 1 << 3
"""The node ID of the crosspoint at (0, 1). This ID does not depend on the width of x and y."""


@dataclass(frozen=True, slots=True)
class CrosspointGrid:
    """The positions of the crosspoints, keyed by register offset."""

    width: int
    height: int
    places: Mapping[int, tuple[int, int]]
    ports: Mapping[int, int]
    """The number of ports on each crosspoint. This number determines the format of the node IDs below the
    crosspoint."""

    def port(self, node: PrintedNode, crosspoint: PrintedNode) -> tuple[int | None, int | None]:
        """Return the port number and the device number of a node. Both are None if the node ID does not belong to the
        crosspoint."""
        low = 5 if self._alone else 3
        if node.node_id >> low != crosspoint.node_id >> low:
            return None, None
        devices = self.device_bits(crosspoint.offset)
        return node.node_id >> devices & ((1 << (low - devices)) - 1), node.node_id & ((1 << devices) - 1)

    def device_bits(self, crosspoint: int) -> int:
        """Return the number of device bits in the node IDs below a crosspoint. The port bits follow them."""
        return 1 if not self._alone and self.ports[crosspoint] > 2 else 2

    @property
    def _alone(self) -> bool:
        return len(self.places) == 1 and self.width * self.height == 1


def grid_of(dump: KernelOutput, root: PrintedNode, gaps: UnknownFacts) -> CrosspointGrid | None:
    """Return the grid. If the IDs of the crosspoints do not form a rectangle, record a note and return None."""
    crosspoints = dump.crosspoints()
    size = _size(crosspoints, root.children)
    if isinstance(size, str):
        gaps.note("size", size)
        return None
    width, height = size
    for bits in (usual_bits(width, height), 1, 2, 3, 4):
        places = {
            node.offset: (node.node_id >> 3 >> bits, node.node_id >> 3 & ((1 << bits) - 1)) for node in crosspoints
        }
        if all(x < width and y < height for x, y in places.values()) and len(set(places.values())) == len(places):
            break
    else:
        gaps.note("size", f"the node IDs of the crosspoints do not form a mesh of {width} x {height}")
        return None
    if len(crosspoints) < root.children:
        gaps.note("crosspoints", f"{root.children - len(crosspoints)} of {root.children} are missing from the output")
    connect = _connect(root)
    return CrosspointGrid(width, height, places, {node.offset: _ports(node, connect) for node in crosspoints})


def _size(crosspoints: list[PrintedNode], count: int) -> tuple[int, int] | str:
    """Return the width and the height, or the reason why they are unknown.

    Logical IDs increase along x first, so the logical ID of the crosspoint at (0, 1) equals the width.
    """
    if not crosspoints:
        return "the output has no crosspoints"
    width = next((node.logical_id for node in crosspoints if node.node_id == _PLACE_0_1), None)
    if width is None and len(crosspoints) < count:
        return "the output does not contain the crosspoint at (0, 1), which determines the width"
    width = count if width is None else width
    if not 0 < width <= _MOST or count % width or not 0 < count // width <= _MOST:
        return f"{count} crosspoints in rows of {width} do not form a mesh"
    return width, count // width


def usual_bits(width: int, height: int) -> int:
    """Return the number of bits per coordinate that the manuals specify: two to four. Some small meshes use fewer."""
    most = max(width, height)
    return 2 if most <= 4 else 3 if most <= 8 else 4


def _connect(root: PrintedNode) -> tuple[int, ...]:
    product = products().get(part_number(root.registers.get(PERIPH_ID_01, 0)))
    return product.connect if product else ()


def _ports(node: PrintedNode, connect: tuple[int, ...]) -> int:
    """Return the number of ports: num_device_port of por_mxp_node_info (CMN-700 and later), or more if a higher port
    has a device."""
    used = [port + 1 for port, offset in enumerate(connect) if node.registers.get(offset, 0) & 0x3F]
    return max(node.info >> 48 & 0xF, *used, 0)


_CAL = 1 << 7
"""The bit cal_connected of por_mxp_device_port_connect_info_p<n>."""


def mesh_of_dump(text: str, instance: int = 0) -> Mesh:
    """Return the mesh described by the output of the `cmn` kernel, including all known registers in that output. Never
    raises an exception."""
    gaps = UnknownFacts()
    dump = read_dump(text)
    if dump.fault:
        gaps.note("dump", f"the output of the `cmn` kernel is incomplete: {dump.fault}")
    mesh = _MeshBuilder(dump, gaps).mesh(instance)
    return mesh.model_copy(update={"registers": registers(dump, mesh, gaps), "unknown": gaps.reasons})


@dataclass(slots=True)
class _MeshBuilder:
    dump: KernelOutput
    gaps: UnknownFacts

    def mesh(self, instance: int) -> Mesh:
        """Return the mesh without its registers."""
        root, base = self.dump.root, self.dump.base
        if root is None:
            self.gaps.note("mesh", "the output has no configuration node")
            return Mesh(source="registers", instance=instance, base=base)
        product = self._product(root)
        grid = grid_of(self.dump, root, self.gaps)
        crosspoints = self._crosspoints(product, grid)
        revision = self._revision(product, root)
        slc, sf = self._caches(product)
        return Mesh(
            kind=product.kind if product else None,
            revision=revision,
            chi=self._chi(product, revision, root),
            width=grid.width if grid else None,
            height=grid.height if grid else None,
            source="registers",
            instance=instance,
            base=base,
            multiple_dtm=self._multiple_dtm(product, revision, root),
            slc_bytes=slc,
            sf_bytes=sf,
            crosspoints=crosspoints,
            nodes=self._nodes(root, grid, product),
        )

    def _product(self, root: PrintedNode) -> MeshProduct | None:
        if PERIPH_ID_01 not in root.registers:
            self.gaps.note("kind", "the output has no peripheral identification")
            return None
        part = part_number(root.registers[PERIPH_ID_01])
        if part not in products():
            self.gaps.note("kind", f"unknown part number {part:#x}")
        return products().get(part)

    def _revision(self, product: MeshProduct | None, root: PrintedNode) -> str | None:
        if product is None or PERIPH_ID_23 not in root.registers:
            self.gaps.note("revision", "the mesh product or its peripheral identification is unknown")
            return None
        code = root.registers[PERIPH_ID_23] >> 4 & 0xF
        why = f"unknown revision number {code} of {product.kind}"
        return self.gaps.known("revision", product.revision(code), why)

    def _chi(self, product: MeshProduct | None, revision: str | None, root: PrintedNode) -> str | None:
        info = root.registers.get(INFO_GLOBAL)
        found = product.chi_issue(info, revision) if product and info is not None else None
        why = "the mesh product or revision is unknown, or por_info_global does not report the CHI issue"
        return self.gaps.known("chi", found, why)

    def _multiple_dtm(self, product: MeshProduct | None, revision: str | None, root: PrintedNode) -> bool | None:
        info = root.registers.get(INFO_GLOBAL)
        found = product.has_multiple_dtms(info, revision) if product and info is not None else None
        why = "its position in por_info_global depends on the mesh product and revision, which are unknown"
        return self.gaps.known("multiple_dtm", found, why)

    def _crosspoints(self, product: MeshProduct | None, grid: CrosspointGrid | None) -> list[Crosspoint]:
        if grid is None:
            return []
        if product is None:
            self.gaps.note("ports", "the offsets of port registers depend on the mesh product, which is unknown")
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
                    ports=self._ports(product, node, grid) if product else [],
                    offset=node.offset,
                )
            )
        return sorted(found, key=lambda xp: xp.logical_id)

    def _domain(self, product: MeshProduct | None, node: PrintedNode) -> int | None:
        """Return the debug and trace domain. CMN-600 does not report it, but if there is a single controller, there is
        only one domain."""
        if product and product.domain is not None and product.domain in node.registers:
            return node.registers[product.domain] & 3
        controllers = sum(one.code == DTC for one in self.dump.nodes)
        if product and product.domain is None and controllers == 1 and not self.dump.isolation:
            return 0
        self.gaps.note("dtc", "the registers do not report the debug and trace domains of the crosspoints")
        return None

    def _ports(self, product: MeshProduct, node: PrintedNode, grid: CrosspointGrid) -> list[Port]:
        found = []
        for number, offset in enumerate(product.connect):
            about = node.registers.get(offset)
            if about is None:
                self.gaps.note("ports", "the output does not contain the devices of some ports")
                continue
            code = about & ((1 << product.device_bits) - 1)
            if code == 0:
                continue
            kind, name = devices().get(code, (None, None))
            if kind is None:
                self.gaps.note("ports", f"unknown device number {code:#x}")
            found.append(
                Port(
                    port=number,
                    kind=kind,
                    device_type=name,
                    code=code,
                    node_id=node.node_id | number << grid.device_bits(node.offset),
                    devices=self._devices(product, node, number, about),
                )
            )
        return found

    def _devices(self, product: MeshProduct, node: PrintedNode, number: int, about: int) -> int | None:
        """Return the number of devices on a port: num_dev of por_mxp_p<n>_info, or one if there is no aggregation
        layer."""
        if not about & _CAL:
            return 1
        info = node.registers.get(product.port_info[number]) if number < len(product.port_info) else None
        if info is None or not info & 7:
            self.gaps.note("devices", "the registers do not report how many devices share some ports")
            return None
        return info & 7

    def _nodes(self, root: PrintedNode, grid: CrosspointGrid | None, product: MeshProduct | None) -> list[MeshNode]:
        found = [MeshNode(type=node_types()[root.code], code=root.code, logical_id=root.logical_id, offset=root.offset)]
        lost = skipped = 0
        for crosspoint in self.dump.crosspoints():
            below = self.dump.below(crosspoint)
            lost += max(crosspoint.children - len(below), 0)
            skipped += sum(node.skipped not in (None, "external") for node in below)
            found += [
                self._node(node, crosspoint, grid, product)
                for node in below
                if node.skipped in (None, "external") and node.code != XP
            ]
        if skipped:
            self.gaps.note(
                "nodes", f"{skipped} nodes were not read, because device isolation is on or they are unreadable"
            )
        elif lost:
            self.gaps.note("nodes", f"{lost} nodes reported by the crosspoints are missing from the output")
        return sorted(found, key=lambda node: (node.external, node.code or 0, node.logical_id or 0, node.offset or 0))

    def _node(
        self, node: PrintedNode, crosspoint: PrintedNode, grid: CrosspointGrid | None, product: MeshProduct | None
    ) -> MeshNode:
        x, y = grid.places[crosspoint.offset] if grid else (None, None)
        if node.skipped:
            return MeshNode(type="external", x=x, y=y, external=True, offset=node.offset)
        port, device = grid.port(node, crosspoint) if grid else (None, None)
        if grid and port is None:
            self.gaps.note("places", "the IDs of some nodes do not match their crosspoints")
        if node.code not in node_types():
            self.gaps.note("types", f"unknown node type {node.code:#x}")
        return MeshNode(
            type=node_types().get(node.code, f"{node.code:#x}"),
            code=node.code,
            node_id=node.node_id,
            logical_id=_logical_id(node, product),
            x=x,
            y=y,
            port=port,
            device=device,
            offset=node.offset,
        )

    def _caches(self, product: MeshProduct | None) -> tuple[int | None, int | None]:
        homes = [node for node in self.dump.nodes if node.code in (HN_F, HN_S)]
        if product is None or not homes or any(UNIT_INFO not in node.registers for node in homes):
            self.gaps.note("slc_bytes", "there are no home nodes, or some do not report their build configuration")
            self.gaps.note("sf_bytes", self.gaps.reasons["slc_bytes"])
            return None, None
        infos = [node.registers[UNIT_INFO] for node in homes]
        return (
            self._sum("slc_bytes", "slc_size", [product.slc_bytes(info) for info in infos]),
            self._sum("sf_bytes", "sf_size", [product.sf_bytes(info) for info in infos]),
        )

    def _sum(self, name: str, source: str, sizes: list[int | None]) -> int | None:
        known = [size for size in sizes if size is not None]
        total = sum(known) if len(known) == len(sizes) else None
        return self.gaps.known(name, total, f"unknown size code in {source} of por_hnf_unit_info")


_ADDRESSES = 1 << 64


def _logical_id(node: PrintedNode, product: MeshProduct | None) -> int | None:
    """Return the logical ID of a node, or None for an RN-SAM, which does not have one.

    Since CMN-650, a DTC has the two bits of its debug and trace domain instead of a logical ID (por_dt_node_info).
    """
    if node.code == RN_SAM:
        return None
    return node.logical_id & 3 if node.code == DTC and product and product.domain is not None else node.logical_id


def registers(dump: KernelOutput, mesh: Mesh, gaps: UnknownFacts) -> list[Register]:
    """Return the known registers of each node that was read, in output order."""
    if mesh.kind is None:
        gaps.note("registers", "the registers depend on the mesh product, which is unknown")
        return []
    unreadable = sum(node.unreadable for node in dump.nodes)
    if unreadable:
        gaps.note("registers", f"{unreadable} registers are unreadable")
    product = of_kind(mesh.kind)
    return [one for node in dump.nodes if not node.skipped for one in _of_node(node, product, mesh)]


def _of_node(node: PrintedNode, product: MeshProduct, mesh: Mesh) -> list[Register]:
    kind = node_types().get(node.code, f"{node.code:#x}")
    logical_id = _logical_id(node, product)
    number = f"at {node.node_id:#x}" if logical_id is None else str(logical_id)
    place = next((f" ({xp.x},{xp.y})" for xp in mesh.crosspoints if xp.offset == node.offset), "")
    found = []
    for layout in registers_of(product.part, mesh.revision, node.code):
        value = node.info if layout.offset == 0 else node.registers.get(layout.offset)
        if value is None:
            continue
        address = None if mesh.base is None else mesh.base + node.offset + layout.offset
        found.append(
            Register(
                node=f"{kind} {number}{place}",
                node_offset=node.offset,
                name=layout.name,
                offset=layout.offset,
                address=address if address is not None and address < _ADDRESSES else None,
                value=value,
                access=layout.access,
                reset=layout.reset,
                description=layout.description,
                fields=[_field(one, value) for one in layout.fields],
            )
        )
    return found


def _field(layout: FieldLayout, value: int) -> RegisterField:
    number = layout.of(value)
    return RegisterField(
        name=layout.name,
        msb=layout.msb,
        lsb=layout.lsb,
        value=number,
        meaning=layout.values.get(number),
        description=layout.description,
    )
