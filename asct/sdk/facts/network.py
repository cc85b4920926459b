"""Network interfaces and addresses."""

from __future__ import annotations

from pydantic import Field

from asct.sdk.facts.base import Fact


class Interface(Fact):
    """`kind` is ethernet, loopback, bridge, bond, vlan, veth, tun, wireless, infiniband or other. `speed` in bits a
    second. Addresses with their prefix (`192.0.2.10/24`)."""

    name: str
    kind: str
    state: str | None = None
    mtu: int | None = None
    mac: str | None = None
    speed: float | None = None
    duplex: str | None = None
    driver: str | None = None
    node: int | None = None
    pci_address: str | None = None
    rx_queues: int | None = None
    tx_queues: int | None = None
    ipv4: list[str] = Field(default_factory=list)
    ipv6: list[str] = Field(default_factory=list)
    members: list[str] = Field(default_factory=list)
    """Interfaces that a bridge or bond is made of."""


class Network(Fact):
    """`ipv4` and `ipv6` are the addresses that the default routes start from; `namespace` tells whether this is the
    network that the kernel started with (`host`) or one of its own (`own`)."""

    ipv4: str | None = None
    ipv6: str | None = None
    gateways: list[str] = Field(default_factory=list)
    namespace: str | None = None
    interfaces: list[Interface] = Field(default_factory=list)
