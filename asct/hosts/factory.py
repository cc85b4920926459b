"""Open a host by the transport that the plan names."""

from __future__ import annotations

from pathlib import Path
from typing import cast

from asct.errors import UsageError
from asct.hosts import errors
from asct.hosts.base import Host
from asct.plan.model import HostSpec
from asct.transports import module, sources


def make_host(spec: HostSpec, *, transport: str | None = None, folder: Path | None = None) -> Host:
    """The host of `spec`, not yet open. `transport` overrides the plan's (dryrun); relative paths refer to `folder`.

    Raises UsageError for a transport that does not exist.
    """
    name = transport or spec.transport
    found = module(name)
    if found is None:
        raise UsageError(errors.unknown_transport(name, list(sources()), spec.span))
    return cast(Host, found.make(spec, folder or Path.cwd()))


def open_host(spec: HostSpec, *, transport: str | None = None, folder: Path | None = None) -> Host:
    """The host of `spec`, open. Raises UsageError or ConnectError."""
    host = make_host(spec, transport=transport, folder=folder)
    host.open()
    return host
