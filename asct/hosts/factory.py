"""Open a host with the transport named in the plan."""

from __future__ import annotations

from pathlib import Path
from typing import cast

from asct.errors import UsageError
from asct.hosts import errors
from asct.hosts.base import Host
from asct.plan.model import HostSpec
from asct.transports import module, sources


def make_host(spec: HostSpec, folder: Path | None = None) -> Host:
    """Return the host that `spec` describes, without opening it.

    Relative paths are resolved against `folder`. Raises UsageError if the transport does not exist.
    """
    found = module(spec.transport)
    if found is None:
        raise UsageError(errors.unknown_transport(spec.transport, list(sources()), spec.span))
    return cast(Host, found.make(spec, folder or Path.cwd()))


def open_host(spec: HostSpec) -> Host:
    """Open the host that `spec` describes, and return it. Raises UsageError or ConnectError."""
    host = make_host(spec)
    host.open()
    return host
