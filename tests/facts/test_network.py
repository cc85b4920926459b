"""Interfaces, addresses and routes, parsed from synthetic files."""

from __future__ import annotations

import pytest

from asct.analysis.machine import hardware
from asct.facts.network import network
from asct.facts.snapshot import CommandOutput, Snapshot
from asct.facts.unknown import NEEDS_ROOT, UnknownFacts
from asct.sdk.facts import HostFacts, Interface, Network

ADDRESSES = """\
1: lo    inet 127.0.0.1/8 scope host lo\\       valid_lft forever preferred_lft forever
2: enp1s0f0    inet 192.0.2.10/24 brd 192.0.2.255 scope global enp1s0f0\\       valid_lft forever
2: enp1s0f0    inet6 2001:db8::99/64 scope global temporary dynamic \\       valid_lft 6000sec
2: enp1s0f0    inet6 2001:db8::10/64 scope global dynamic mngtmpaddr \\       valid_lft 6000sec
2: enp1s0f0    inet6 fe80::1/64 scope link \\       valid_lft forever
7: veth1@if6    inet 10.0.0.1/24 scope global veth1\\       valid_lft forever
8: tun0    inet 10.8.0.1 peer 10.8.0.2/32 scope global tun0\\       valid_lft forever
9: odd    inet 300.0.0.1/24 scope global odd
cut    inet
"""
ROUTES = """\
/proc/net/route:br0\t00000000\t0101A8C0\t0003\t0\t0\t425\t00000000\t0\t0\t0
/proc/net/route:enp1s0f0\t00000000\t010200C0\t0003\t0\t0\t100\t00000000\t0\t0\t0
/proc/net/route:wrong\t00000000\t01\t0003\t0\t0\t1\t00000000\t0\t0\t0
/proc/net/ipv6_route:00000000000000000000000000000000 00 00000000000000000000000000000000 00 \
fe800000000000000000000000000001 00000064 00000001 00000000 00000003 enp1s0f0
/proc/net/ipv6_route:00000000000000000000000000000000 00 00000000000000000000000000000000 00 \
00000000000000000000000000000000 ffffffff 00000001 00000000 00200200       lo
cut
"""
DEVICES = """\
/sys/class/net/enp1s0f0|/sys/devices/pci0000:00/0000:00:01.0/0000:01:00.0/net/enp1s0f0|32|32|0|16.0 GT/s PCIe|16|16.0 GT/s PCIe|16|DRIVER=mlx5_core
"""  # noqa: E501


def interface(name: str, **texts: str) -> dict[str, str]:
    return {f"/sys/class/net/{name}/{path.replace('__', '/')}": f"{text}\n" for path, text in texts.items()}


FILES = {
    **interface("lo", type="772", mtu="65536", operstate="unknown", ifindex="1", iflink="1"),
    **interface(
        "enp1s0f0", type="1", mtu="9000", operstate="up", address="b8:59:9f:00:00:01", speed="100000", duplex="full",
        device__uevent="DRIVER=mlx5_core\nPCI_CLASS=20000", master__uevent="INTERFACE=br0\nIFINDEX=5",
        ifindex="2", iflink="2",
    ),
    **interface("br0", type="1", uevent="DEVTYPE=bridge\nINTERFACE=br0", speed="-1", duplex="unknown"),
    **interface("bond0", type="1", uevent="DEVTYPE=bond"),
    **interface("br0.5", type="1", uevent="DEVTYPE=vlan"),
    **interface("veth1", type="1", uevent="INTERFACE=veth1", ifindex="7", iflink="6"),
    **interface("dummy0", type="1", uevent="INTERFACE=dummy0", ifindex="9", iflink="9"),
    **interface("tun0", type="65534", tun_flags="0x1001"),
    **interface("wlan0", type="1", uevent="DEVTYPE=wlan", device__uevent="DRIVER=iwlwifi"),
    **interface("ib0", type="32", device__uevent="DRIVER=mlx5_core"),
    **interface("gre0", type="778"),
    "/sys/class/net/bonding_masters": "bond0",
}  # fmt: skip
COMMANDS = {
    "addresses": CommandOutput(0, ADDRESSES),
    "routes": CommandOutput(0, ROUTES),
    "devices": CommandOutput(0, DEVICES),
}


def made_of(
    files: dict[str, str], commands: dict[str, CommandOutput], arch: str = "x86_64"
) -> tuple[Network, dict[str, Interface], dict[str, str]]:
    gaps = UnknownFacts()
    made = network(Snapshot(files, commands), arch, gaps)
    return made, {one.name: one for one in made.interfaces}, gaps.reasons


def test_interfaces() -> None:
    _, made, unknown = made_of(FILES, COMMANDS)
    assert made["enp1s0f0"] == Interface(
        name="enp1s0f0", kind="ethernet", state="up", mtu=9000, mac="b8:59:9f:00:00:01", speed=100e9, duplex="full",
        driver="mlx5_core", node=0, pci_address="0000:01:00.0", rx_queues=32, tx_queues=32, ipv4=["192.0.2.10/24"],
        ipv6=["2001:db8::99/64", "2001:db8::10/64", "fe80::1/64"],
    )  # fmt: skip
    assert {name: one.kind for name, one in made.items()} == {
        "lo": "loopback", "enp1s0f0": "ethernet", "br0": "bridge", "bond0": "bond", "br0.5": "vlan", "veth1": "veth",
        "dummy0": "other", "tun0": "tun", "wlan0": "wireless", "ib0": "infiniband", "gre0": "other",
    }  # fmt: skip
    assert (made["br0"].speed, made["br0"].duplex, made["br0"].members) == (None, None, ["enp1s0f0"])
    assert (made["veth1"].ipv4, made["tun0"].ipv4) == (["10.0.0.1/24"], ["10.8.0.1/32"])
    assert unknown["network.interfaces.ib0.speed"] == "there is no link"
    assert {name for name in unknown if name.endswith(".speed")} == {
        "network.interfaces.wlan0.speed", "network.interfaces.ib0.speed"
    }  # fmt: skip


def test_the_address_of_the_best_default_route() -> None:
    made, _, unknown = made_of(FILES, COMMANDS)
    assert (made.ipv4, made.ipv6) == ("192.0.2.10", "2001:db8::10")
    assert made.gateways == ["192.0.2.1", "fe80::1", "192.168.1.1"]
    assert not {"network.ipv4", "network.ipv6"} & set(unknown)


def test_numbers_are_in_the_order_of_the_machine() -> None:
    route = "/proc/net/route:enc1000\t00000000\tC0000201\t0003\t0\t0\t0\t00000000\t0\t0\t0\n"
    assert made_of({}, {"routes": CommandOutput(0, route)}, "s390x")[0].gateways == ["192.0.2.1"]


def test_no_network_at_all() -> None:
    made, interfaces, unknown = made_of({}, {})
    assert (made.ipv4, made.gateways, interfaces) == (None, [], {})
    assert set(unknown) == {
        f"network.{name}" for name in ("interfaces", "addresses", "ipv4", "ipv6", "namespace", "namespaces")
    }


@pytest.mark.parametrize(
    ("said", "pids", "uid", "namespace", "reason"),
    [
        ("first", "pid:[4026531836]", "0", "host", ""),
        ("own", "pid:[4026531836]", "0", "own", ""),
        ("first", "pid:[4026532000]", "0", None, "cannot be read"),
        ("unreadable", "pid:[4026531836]", "1000", None, NEEDS_ROOT),
        ("unreadable", "pid:[4026531836]", "0", None, "cannot be read"),
    ],
)
def test_namespaces(said: str, pids: str, uid: str, namespace: str | None, reason: str) -> None:
    texts = {"network-namespace": said, "namespaces": f"{pids}\nuts:[1]", "id": uid}
    made, _, unknown = made_of({}, {name: CommandOutput(0, text) for name, text in texts.items()})
    assert made.namespace == namespace
    assert reason in unknown.get("network.namespace", "")


def test_a_link_that_is_up_and_reports_no_speed() -> None:
    files = interface("eth0", type="1", operstate="up", speed="-1", device__uevent="DRIVER=virtio_net")
    _, made, unknown = made_of(files, {})
    assert made["eth0"].speed is None and "virtual" in unknown["network.interfaces.eth0.speed"]
    facts = HostFacts(host="h", collected_at="", network=Network(interfaces=[made["eth0"]]))
    down = made["eth0"].model_copy(update={"name": "eth1", "state": "down"})
    both = facts.model_copy(update={"network": Network(interfaces=[made["eth0"], down])})
    rows = {row[0]: row[1] for row in hardware.network(both).details}
    assert "speed unknown" in rows["eth0"] and "speed" not in rows["eth1"]


def test_aliases_are_the_names_of_the_addresses_of_this_host() -> None:
    lines = ["127.0.0.1 localhost", "127.0.0.1 db localhost", "::1 ip6-loopback", "bad x", ""]
    said = ADDRESSES + "".join(f"hosts {line}\n" for line in lines)
    made, _, _ = made_of({}, {"addresses": CommandOutput(0, said)})
    assert made.aliases == {"127.0.0.1": ["localhost", "db"], "::1": ["ip6-loopback"]}


def test_named_namespaces() -> None:
    said = "4026532194 /run/netns/blue\n 4026532195 /run/docker/netns/1a2b\nown /run/netns/blue\nodd\nx /run/netns/y\n"
    made, _, unknown = made_of({}, {"network-namespaces": CommandOutput(0, said)})
    assert [(one.name, one.inode, one.own, one.path) for one in made.namespaces] == [
        ("blue", 4026532194, True, "/run/netns/blue"), ("1a2b", 4026532195, False, "/run/docker/netns/1a2b"),
    ]  # fmt: skip
    assert "network.namespaces" not in unknown and "network.namespaces" in made_of({}, {})[2]
