"""Open a host with the transport named in the plan."""

from __future__ import annotations

from pathlib import Path
from typing import cast

from asct.errors import UsageError
from asct.hosts import errors
from asct.hosts.base import Host
from asct.plan.model import HostSpec
from asct.transports import module, sources


def make_host(spec: HostSpec, *, transport: str | None = None, folder: Path | None = None) -> Host:
    """Return the host that `spec` describes, without opening it.

    `transport` overrides the transport in the plan (for dry runs). Relative paths are resolved against `folder`. Raises
    UsageError if the transport does not exist.
    """
    name = transport or spec.transport
    found = module(name)
    if found is None:
        raise UsageError(errors.unknown_transport(name, list(sources()), spec.span))
    return cast(Host, found.make(spec, folder or Path.cwd()))


def open_host(spec: HostSpec, *, transport: str | None = None, folder: Path | None = None) -> Host:
    """Open the host that `spec` describes, and return it. Raises UsageError or ConnectError."""
    host = make_host(spec, transport=transport, folder=folder)
    host.open()
    return host
