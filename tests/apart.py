"""Hosts that are all this machine, each with its own lock, as if they were separate machines."""

from __future__ import annotations

from pathlib import Path

from asct.hosts.local import LocalHost
from asct.hosts.shell import ProcessChannel
from asct.plan.model import HostSpec


def apart(spec: HostSpec, locks: Path) -> LocalHost:
    """Return the host of `spec`, not yet open. Its lock is in the folder `locks`."""
    host, lock = LocalHost(spec.name, spec.workdir), bytes(locks / f"lock-{spec.name}")
    start = host._link.start

    def started(command: str) -> ProcessChannel:
        channel = start(command)
        assert isinstance(channel, ProcessChannel)
        send = channel.send
        channel.send = lambda data: send(data.replace(b"/var/tmp/asct.lock", lock))  # type: ignore[method-assign]
        return channel

    host._link.start = started  # type: ignore[method-assign]
    return host
