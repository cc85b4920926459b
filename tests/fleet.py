"""Many hosts on one machine: an sshd on each of 127.0.1.1, 127.0.1.2, ..., each with its own key and its own /var/tmp.

Because each host has a private /var/tmp, which contains the lock, asct treats them as separate hosts. `Fleet.left`
shows what a run leaves behind. The hosts share the account and therefore its cache of kernels, just as the nodes of a
cluster share a home folder.
"""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tests.awaiting import PATIENCE_S
from tests.sshd import Sshd, configuration, free_port, keygen, known_line, make_account

_AT_ONCE = 8


@dataclass(frozen=True)
class Fleet:
    """Running servers by the names used in plans: n001, n002, ..."""

    folder: Path
    servers: dict[str, Sshd]

    @property
    def known_hosts(self) -> Path:
        """The known_hosts file with the keys of all servers."""
        return self.folder / "known_hosts"

    @property
    def identity(self) -> Path:
        """The private key that all servers accept."""
        return self.folder / "client"

    def hosts(self) -> dict[str, Any]:
        """Return the `hosts:` section of a plan."""
        one = next(iter(self.servers.values()))
        common = {
            "transport": "ssh", "port": one.port, "user": one.user, "identity_file": str(self.identity),
            "known_hosts": str(self.known_hosts), "connect_timeout": f"{PATIENCE_S}s",
        }  # fmt: skip
        return {"defaults": common, **{name: {"address": server.address} for name, server in self.servers.items()}}

    def left(self) -> list[str]:
        """Return the files in the work folders of the hosts."""
        places = [server.folder / "tmp" / "asct" for server in self.servers.values()]
        return sorted(str(path) for place in places for path in place.rglob("*") if path.is_file())

    def stop(self) -> None:
        """End all servers. A host that is already down stays down."""
        for server in self.servers.values():
            server.stop()


@contextmanager
def fleet(size: int) -> Iterator[Fleet]:
    """Provide `size` running servers. They and their folder are removed afterward."""
    folder = Path(tempfile.mkdtemp(prefix="asct-fleet-"))
    folder.chmod(0o755)
    user, port = make_account(), free_port()
    servers = {
        f"n{number:03}": Sshd(folder / f"n{number:03}", port, user, f"127.0.1.{number}")
        for number in range(1, size + 1)
    }
    made = Fleet(folder, servers)
    try:
        keygen(made.identity)
        with ThreadPoolExecutor(_AT_ONCE) as pool:
            list(pool.map(lambda server: _start(server, made.identity), servers.values()))
        made.known_hosts.write_text("".join(known_line(server) for server in servers.values()))
        yield made
    finally:
        made.stop()
        shutil.rmtree(folder, ignore_errors=True)


def _start(server: Sshd, client: Path) -> None:
    server.folder.mkdir()
    (server.folder / "tmp").mkdir()
    (server.folder / "tmp").chmod(0o1777)
    keygen(server.folder / "host")
    shutil.copy(client.with_suffix(".pub"), server.folder / "authorized_keys")
    (server.folder / "authorized_keys").chmod(0o644)
    (server.folder / "sshd_config").write_text(configuration(server))
    server.start(private_var_tmp(server.folder / "tmp"))


def private_var_tmp(folder: Path) -> Sequence[str]:
    """Return a command prefix that makes `folder` the /var/tmp of the command."""
    script = 'mount --bind "$1" /var/tmp || exit 99; shift; exec "$@"'
    spaces = ["--mount"] if os.geteuid() == 0 else ["--map-current-user", "--keep-caps", "--mount"]
    return ["unshare", *spaces, "sh", "-c", script, "sh", str(folder)]
