"""The coherent meshes of a machine (asct.cmn/1). Unknown values are null, and `unknown` contains the reasons.

Terms follow Arm's Technical Reference Manuals. A mesh is a grid of crosspoints (XP); x increases to the east and y to
the north, and (0, 0) is the south-west corner. A crosspoint has ports, a port has one or more devices, and the
programming interfaces of devices are nodes.
"""

from __future__ import annotations

from collections import Counter
from typing import Annotated, Literal

from pydantic import BeforeValidator, Field, PlainSerializer, WithJsonSchema

from asct.sdk.facts import Fact

MeshKind = Literal["CMN-600", "CMN-600AE", "CMN-650", "CMN-700", "CI-700", "CMN S3"]
MeshSource = Literal["registers", "debugfs", "pmu", "acpi"]


def _number(value: object) -> object:
    return int(value, 16) if isinstance(value, str) else value


Hex = Annotated[
    int,
    BeforeValidator(_number),
    Field(ge=0, lt=1 << 64),
    PlainSerializer(hex, when_used="json"),
    WithJsonSchema({"type": "string", "pattern": "^0x[0-9a-f]{1,16}$"}),
]
"""An address, an offset or a register value. It is a string (`0x1f`) in JSON, because many JSON parsers support only
53-bit integers."""


class Port(Fact):
    """A port of a crosspoint.

    `device_type` is the device's name in the manuals (`RN-F_CHIC_ESAM`); it is null if the code is unknown. `kind` is
    the device family (`RN-F`), and `code` is the numeric code of the device type, which only the registers report.
    """

    port: int
    kind: str | None = None
    device_type: str | None = None
    code: int | None = None
    node_id: int | None = None
    """The node ID of the first device on the port, which only the registers report."""
    devices: int | None = None
    """Number of devices on the port, if the registers report it."""


class Crosspoint(Fact):
    """A crosspoint with its connected `ports`.

    `dtc` is the debug and trace domain that counts the crosspoint's events.
    """

    node_id: int | None = None
    logical_id: int
    x: int
    y: int
    dtc: int | None = None
    ports: list[Port] = Field(default_factory=list)
    offset: Hex | None = None
    """The offset of the crosspoint's registers from the base of the mesh. The `offset` of a node and the `node_offset`
    of a register are relative to the same base."""


class MeshNode(Fact):
    """A node of the configuration tree that is not a crosspoint.

    `type` is the name of the node type (`HN-F`), and `code` is the numeric code of that type. The root of the tree has
    no position. Nodes marked `external` are outside the mesh and were not read.
    """

    type: str
    code: int | None = None
    node_id: int | None = None
    logical_id: int | None = None
    x: int | None = None
    y: int | None = None
    port: int | None = None
    device: int | None = None
    external: bool = False
    offset: Hex | None = None


class RegisterField(Fact):
    """A field of a register: bits `msb` to `lsb`. `meaning` explains the value and is null for a plain number."""

    name: str
    msb: int
    lsb: int
    value: int
    meaning: str | None = None
    description: str = ""


class Register(Fact):
    """A register of a node. The node's registers begin at `node_offset`.

    `reset` is null if the reset value depends on the configuration of the mesh or is not published.
    """

    node: str
    """The display name of the node: `XP 0 (0,0)`, `HN-F 3`."""
    node_offset: Hex
    name: str
    offset: Hex
    """The offset of the register from the base of the node."""
    address: Hex | None = None
    """The physical address of the register, if the base of the mesh is known."""
    value: Hex
    access: Literal["RO", "RW"] = "RO"
    reset: Hex | None = None
    description: str = ""
    fields: list[RegisterField] = Field(default_factory=list)


class CpuPort(Fact):
    """The port at which a CPU enters a mesh. `device` is null if several devices share the port.

    `source` is the method used to locate the CPU (`detected` means that it was observed under load). `confidence`
    ranges from 0 to 1.
    """

    x: int
    y: int
    port: int | None = None
    device: int | None = None
    node_id: int | None = None
    source: str = "detected"
    confidence: float | None = None


class Mesh(Fact):
    """A mesh. `revision` is in Arm's notation (`r3p0`), and `chi` is the issue of the CHI protocol (`CHI-E`).

    `instance` is the index of the mesh in the machine, and `base` is the physical address of its registers.
    """

    kind: MeshKind | None = None
    revision: str | None = None
    chi: str | None = None
    width: int | None = None
    """Number of crosspoints along x; `height` is the number along y."""
    height: int | None = None
    source: MeshSource
    instance: int = 0
    base: Hex | None = None
    multiple_dtm: bool | None = None
    """Whether a crosspoint has one debug and trace monitor for every two ports."""
    slc_bytes: int | None = None
    """Total size of the system level cache in all home nodes, in bytes. `sf_bytes` is the total size of the cache lines
    that the snoop filters can track, also in bytes."""
    sf_bytes: int | None = None
    crosspoints: list[Crosspoint] = Field(default_factory=list)
    nodes: list[MeshNode] = Field(default_factory=list)
    registers: list[Register] = Field(default_factory=list)
    cpus: dict[int, CpuPort | None] = Field(default_factory=dict)
    """The port of each CPU, or null if the CPU could not be located (see `cpus.<number>` in `unknown`). The mapping is
    empty if the CPUs have not been located yet."""
    detected_at: str | None = None
    """The time of detection (UTC)."""
    unknown: dict[str, str] = Field(default_factory=dict)

    def counts(self) -> dict[str, int]:
        """Count the nodes of each type, including crosspoints, and the devices without a node (`RN-F`, `SN-F`).

        Devices without a node are requesters and memory. If the number of devices on some ports is unknown, as in the
        driver's map, the ports are counted instead (`RN-F ports`).
        """
        found = Counter(node.type for node in self.nodes if not node.external)
        found["XP"] = len(self.crosspoints)
        ports: dict[str, list[Port]] = {}
        for port in (port for xp in self.crosspoints for port in xp.ports):
            if port.kind and port.kind not in found:
                ports.setdefault(port.kind, []).append(port)
        for kind, listed in ports.items():
            known = [port.devices for port in listed if port.devices is not None]
            found |= {kind: sum(known)} if len(known) == len(listed) else {f"{kind} ports": len(listed)}
        return dict(sorted((kind, count) for kind, count in found.items() if count))

    def at(self, x: int, y: int) -> Crosspoint | None:
        """Return the crosspoint at a position, or None if it is unknown."""
        return next((xp for xp in self.crosspoints if (xp.x, xp.y) == (x, y)), None)


class CmnReport(Fact):
    """The meshes of a machine. If none was found, `unknown` contains the reason."""

    schema_: Literal["asct.cmn/1"] = Field("asct.cmn/1", alias="schema")
    host: str | None = None
    collected_at: str | None = None
    meshes: list[Mesh] = Field(default_factory=list)
    unknown: dict[str, str] = Field(default_factory=dict)
    notes: list[str] = Field(default_factory=list)
    """Data missing from the snapshot."""
