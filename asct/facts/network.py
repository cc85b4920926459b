"""Network interfaces from /sys/class/net, addresses printed by `ip`, and default routes from /proc/net.

Source: Linux, Documentation/ABI/testing/sysfs-class-net; include/uapi/linux/if_arp.h (types); net/ipv4/fib_trie.c and
net/ipv6/route.c (columns of /proc/net/route and ipv6_route).
"""

from __future__ import annotations

import ipaddress
import re
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass

from asct.facts.devices import DeviceLocation, places
from asct.facts.snapshot import Snapshot
from asct.facts.sources import BIG_ENDIAN, NET
from asct.facts.unknown import NEEDS_ROOT, UnknownFacts, fields, folders, whole
from asct.sdk.facts import Interface, Network, NetworkNamespace

_TYPES = {"772": "loopback", "32": "infiniband"}
_ETHERNET = "1"
_DEVTYPES = {"bridge": "bridge", "bond": "bond", "vlan": "vlan", "wlan": "wireless"}
_FIRST_PIDS = "pid:[4026531836]"  # include/linux/proc_ns.h
_ADDRESS = re.compile(
    r"\d+: +([^\s@]+)(?:@\S+)? +(inet6?) ([0-9a-fA-F.:]+)(?: peer [0-9a-fA-F.:]+)?/(\d{1,3})(?: (.*))?"
)
_GATEWAY = 0x2  # RTF_GATEWAY from include/uapi/linux/route.h
_REJECT = 0x200
_SIX = "/proc/net/ipv6_route"


@dataclass(frozen=True, slots=True)
class _Address:
    """An address with its prefix length. `lasting` is True if the address is global and neither temporary nor
    deprecated."""

    interface: str
    version: int
    text: str
    lasting: bool


@dataclass(frozen=True, slots=True)
class _Route:
    """A default route. The route with the lowest metric applies."""

    version: int
    interface: str
    gateway: str | None
    metric: int


def network(snapshot: Snapshot, arch: str | None, gaps: UnknownFacts) -> Network:
    """Return the network facts that are visible to the account."""
    texts = gaps.known("network.interfaces", folders(snapshot, NET), f"{NET} is empty")
    addresses = _addresses(snapshot.command_output("addresses"))
    gaps.known("network.addresses", addresses, "the program `ip` is missing")
    where = places(snapshot)
    routes = _routes(snapshot.command_output("routes"), arch)
    interfaces = [_interface(name, files, where.get(f"{NET}/{name}"), addresses, gaps) for name, files in texts.items()]
    members: dict[str, list[str]] = {}
    for name, files in texts.items():
        if upper := fields(files.get("master/uevent"), "=").get("INTERFACE"):
            members.setdefault(upper, []).append(name)
    return Network(
        ipv4=_own(4, routes, addresses, snapshot, gaps),
        ipv6=_own(6, routes, addresses, snapshot, gaps),
        gateways=list(dict.fromkeys(route.gateway for route in routes if route.gateway)),
        namespace=_namespace(snapshot, gaps),
        namespaces=_namespaces(snapshot.command_output("network-namespaces"), gaps),
        aliases=_aliases(snapshot.command_output("addresses")),
        interfaces=[one.model_copy(update={"members": members.get(one.name, [])}) for one in interfaces],
    )


def _interface(
    name: str, files: Mapping[str, str], place: DeviceLocation | None, addresses: list[_Address], gaps: UnknownFacts
) -> Interface:
    hardware = place is not None or "device/uevent" in files
    speed = whole(files.get("speed"))
    if hardware and not speed:
        up = files.get("operstate") == "up"
        why = "not reported by the driver, as is typical of virtual interfaces" if up else "there is no link"
        gaps.note(f"network.interfaces.{name}.speed", why)
    return Interface(
        name=name,
        kind=_kind(files, hardware),
        state=files.get("operstate") or None,
        mtu=whole(files.get("mtu")),
        mac=files.get("address") or None,
        speed=speed * 1e6 if speed else None,
        duplex=files.get("duplex") if files.get("duplex") in ("full", "half") else None,
        driver=fields(files.get("device/uevent"), "=").get("DRIVER"),
        node=place.node if place else None,
        pci_address=place.pci_address if place else None,
        rx_queues=place.receiving if place else None,
        tx_queues=place.sending if place else None,
        ipv4=[one.text for one in addresses if one.interface == name and one.version == 4],
        ipv6=[one.text for one in addresses if one.interface == name and one.version == 6],
    )


def _kind(files: Mapping[str, str], hardware: bool) -> str:
    """Return the kind of an interface. A veth has neither hardware nor a DEVTYPE, but is linked to another
    interface."""
    number = files.get("type", "")
    devtype = fields(files.get("uevent"), "=").get("DEVTYPE")
    if "tun_flags" in files:
        return "tun"
    if devtype:
        return _DEVTYPES.get(devtype, "other")
    if number in _TYPES:
        return _TYPES[number]
    if number != _ETHERNET:
        return "other"
    if hardware:
        return "wireless" if "wireless/status" in files else "ethernet"
    return "veth" if files.get("iflink", "") != files.get("ifindex", "") else "other"


def _addresses(output: str | None) -> list[_Address]:
    addresses = []
    for line in (output or "").split("\n"):
        match = _ADDRESS.match(line)
        if not match:
            continue
        name, family, text, prefix, rest = match.groups()
        words = (rest or "").split("\\")[0].split()
        lasting = "global" in words and not {"temporary", "deprecated", "tentative"} & set(words)
        with suppress(ValueError):
            address = ipaddress.ip_interface(f"{text}/{prefix}")
            addresses.append(_Address(name, 6 if family == "inet6" else 4, address.with_prefixlen, lasting))
    return addresses


def _routes(output: str | None, arch: str | None) -> list[_Route]:
    """Parse the default routes and sort them by metric, skipping malformed lines."""
    routes = []
    for line in (output or "").split("\n"):
        path, _, text = line.partition(":")
        words = text.split()
        with suppress(ValueError, IndexError):
            if path == _SIX:
                flags, metric, name = int(words[8], 16), int(words[5], 16), words[9]
                gateway = str(ipaddress.IPv6Address(bytes.fromhex(words[4])))
            else:
                flags, metric, name = int(words[3], 16), int(words[6]), words[0]
                raw = bytes.fromhex(words[2])
                gateway = str(ipaddress.IPv4Address(raw if arch in BIG_ENDIAN else raw[::-1]))
            if not flags & _REJECT:
                routes.append(_Route(6 if path == _SIX else 4, name, gateway if flags & _GATEWAY else None, metric))
    return sorted(routes, key=lambda route: route.metric)


def _own(
    version: int, routes: list[_Route], addresses: list[_Address], snapshot: Snapshot, gaps: UnknownFacts
) -> str | None:
    """Return the first lasting address, without prefix length, of the interface with the default route."""
    for route in routes:
        for one in addresses:
            if route.version == one.version == version and route.interface == one.interface and one.lasting:
                return one.text.partition("/")[0]
    cut = not snapshot.omitted.keys().isdisjoint(("network.addresses", "network.gateways"))
    none = "there is no default route, or no source address for it"
    gaps.note(f"network.ipv{version}", "there are too many addresses or routes; only some were read" if cut else none)
    return None


def _aliases(output: str | None) -> dict[str, list[str]]:
    """Return the names that /etc/hosts assigns to each address of the host (hosts(5))."""
    aliases: dict[str, list[str]] = {}
    for line in (output or "").split("\n"):
        mark, address, *names = [*line.split()[:64], "", ""]
        with suppress(ValueError):
            if mark == "hosts":
                known = aliases.setdefault(str(ipaddress.ip_address(address)), [])
                known += [name for name in dict.fromkeys(names) if name and name not in known]
    return aliases


def _namespaces(output: str | None, gaps: UnknownFacts) -> list[NetworkNamespace]:
    """Parse the named network namespaces from lines of the form `INODE PATH`. A line `own PATH` marks the namespace of
    the process that read them."""
    if output is None:
        gaps.note("network.namespaces", "the names of network namespaces were not read")
    rows = [line.strip().partition(" ")[::2] for line in (output or "").split("\n")]
    own = {path for word, path in rows if word == "own"}
    return [
        NetworkNamespace(name=path.rpartition("/")[2], inode=int(word), own=path in own, path=path)
        for word, path in rows
        if path and re.fullmatch(r"\d{1,18}", word, re.ASCII)
    ]


def _namespace(snapshot: Snapshot, gaps: UnknownFacts) -> str | None:
    output = snapshot.command_output("network-namespace")
    pids = (snapshot.command_output("namespaces") or "").split("\n")[0]
    if output == "own":
        return "own"
    if output == "first" and pids == _FIRST_PIDS:
        return "host"
    if output == "unreadable" and whole(snapshot.command_output("id")) != 0:
        gaps.note("network.namespace", NEEDS_ROOT)
    else:
        gaps.note("network.namespace", "the network namespace of the first process cannot be read")
    return None
