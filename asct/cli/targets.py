"""Convert `--host [USER@]ADDRESS[:PORT]` to a host in the plan language."""

from __future__ import annotations

import re
from typing import Any

from asct.diagnostics.model import Diagnostic
from asct.errors import UsageError
from asct.plan.hosts import address_problem
from asct.plan.model import HostSpec

_ADDRESS = re.compile(
    r"(?:(?P<user>[^@\s]+)@)?(?P<address>\[[0-9A-Fa-f:.]+(%[\w.-]+)?\]|[^@:\s/]+)(?::(?P<port>\d{1,5}))?"
)


def host_of(text: str | None) -> HostSpec:
    """Return this machine for None or `local`, otherwise a host reached over ssh. Raises UsageError if `text` is not an
    address."""
    if text is None or text == "local":
        return HostSpec(name="local", transport="local")
    found = _ADDRESS.fullmatch(text)
    if found is None or not 0 < int(found["port"] or 22) < 65536:
        hint = (
            "write ADDRESS, USER@ADDRESS or USER@ADDRESS:PORT, with a port from 1 to 65535 and an IPv6 address in [ ]"
        )
        raise UsageError(Diagnostic("E910", f"`{text}` is not a host", hint=hint))
    address = found["address"].strip("[]")
    if hint := address_problem(address):
        raise UsageError(Diagnostic("E910", f"`{text}` is not a host", hint=hint))
    return HostSpec(
        name=re.sub(r"[^A-Za-z0-9._-]", "-", address),
        transport="ssh",
        address=address,
        port=int(found["port"] or 22),
        user=found["user"],
    )


def as_plan(spec: HostSpec) -> dict[str, Any] | None:
    """Return the `hosts:` section of a plan for this host, or None for this machine."""
    if spec.transport == "local":
        return None
    host: dict[str, Any] = {"transport": spec.transport, "address": spec.address}
    if spec.port != 22:
        host["port"] = spec.port
    if spec.user:
        host["user"] = spec.user
    return {spec.name: host}
