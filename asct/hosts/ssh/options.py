"""Plan keys for a host that is reached over ssh."""

from __future__ import annotations

import re
from typing import Final

from asct.transports import Option, Transport
from asct.values.address import is_address
from asct.values.error import clip

_HOP: Final = re.compile(r"(?:[^@\s,]+@)?(?P<name>\[[^\]]*\]|[^@:\s,\[\]]+)(?::(?P<port>\d{1,5}))?")
_HINT: Final = "write `HOST`, `USER@HOST` or `USER@HOST:PORT`; separate several hosts with commas"


def jump_problem(text: str) -> str:
    """Return the reason why a list of jump hosts is not `[USER@]HOST[:PORT],...`, or an empty string if it is valid."""
    for hop in text.split(","):
        found = _HOP.fullmatch(hop.strip())
        if found is None or not 0 < int(found["port"] or 22) < 65536:
            return "it is not a list of jump hosts"
        name = found["name"]
        inner = name[1:-1] if name.startswith("[") else name
        if not is_address(inner) or (inner != name and ":" not in inner):
            return f"`{clip(name)}` is neither a host name nor an IP address"
    return ""


TRANSPORT: Final = Transport(
    {
        "port": Option("whole", "ssh port; default: 22", bounds=(1, 65535)),
        "identity_file": Option("path", "Path of the private key, relative to the plan"),
        "known_hosts": Option("path", "Path of the file with known host keys, relative to the plan"),
        "jump": Option("text", "Jump host", jump_problem, _HINT),
        "connect_timeout": Option("duration", "Time limit for connecting and logging in"),
        "reconnect_timeout": Option("duration", "Time limit for restoring a lost connection"),
    }
)
