"""Network interfaces and addresses."""

from __future__ import annotations

from asct.facts.sources.model import Command, FolderSet

NET = "/sys/class/net"

FILES: tuple[str, ...] = ()

FOLDERS: tuple[FolderSet, ...] = (
    FolderSet(
        "network.interfaces",
        (f"{NET}/*",),
        (
            "address",
            "device/uevent",
            "duplex",
            "ifindex",
            "iflink",
            "master/uevent",
            "mtu",
            "operstate",
            "speed",
            "tun_flags",
            "type",
            "uevent",
            "wireless/status",
        ),
        256,
    ),
)

# Routers have hundreds of thousands of routes, so only the default ones leave the host. /proc/net/route has numbers in
# the order of the machine's bytes.
_ROUTES = """\
awk -v mark="$token left network.gateways" '
(FILENAME ~ /ipv6/ ? $1 ~ /^0+$/ && $2 == "00" : $2 == "00000000" && $8 == "00000000") {
if (++count <= 40) print FILENAME ":" $0 }
END { if (count > 40) print mark, count - 40 }' /proc/net/route /proc/net/ipv6_route 2>/dev/null"""

_NAMESPACE = """\
if [ ! -e /proc/1/ns/net ]; then echo unreadable
elif [ /proc/1/ns/net -ef /proc/self/ns/net ]; then echo first; else echo own; fi"""

COMMANDS: tuple[Command, ...] = (
    ("addresses", "most network.addresses 1000; ip -o addr 2>/dev/null || true"),
    ("routes", _ROUTES),
    ("network-namespace", _NAMESPACE),
)

LASTING: tuple[Command, ...] = ()
