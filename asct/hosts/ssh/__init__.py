"""Hosts reached over ssh (paramiko), with strict host key checking, jump hosts, and authentication by agent or key.

The host needs a POSIX shell. Files are copied through the shell, so it does not need sftp.
"""

from __future__ import annotations

from pathlib import Path

from asct.hosts.base import Host
from asct.hosts.ssh.options import TRANSPORT as TRANSPORT
from asct.plan.model import HostSpec


def make(spec: HostSpec, folder: Path) -> Host:
    """Return the host that `spec` describes. Relative paths (known_hosts, identity_file) are resolved against
    `folder`."""
    from asct.hosts.remote import RemoteHost
    from asct.hosts.runner_session import RECONNECT_S
    from asct.hosts.ssh.link import SshLink

    reconnect_s = float(spec.options.get("reconnect_timeout", RECONNECT_S))
    return RemoteHost(spec.name, "ssh", spec.workdir, SshLink(spec, folder), reconnect_s)
