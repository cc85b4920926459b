"""Fixtures: a real sshd on a free loopback port, ended by its pid.

As root, it serves a separate unprivileged account (`asct-bench`, created if missing); otherwise, it serves the account
of the tests. Every worker of pytest-xdist starts its own server with its own keys in its own folder.
"""

from __future__ import annotations

import fcntl
import getpass
import os
import pwd
import random
import shutil
import socket
import subprocess
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from asct.plan.model import HostSpec
from tests.awaiting import PATIENCE_S, until

SSHD = "/usr/sbin/sshd"
ACCOUNT = "asct-bench"
CONFIG = """\
Port {port}
ListenAddress {address}
HostKey {folder}/host
PidFile {folder}/sshd.pid
AuthorizedKeysFile {folder}/authorized_keys
UsePAM no
PasswordAuthentication no
KbdInteractiveAuthentication no
PermitRootLogin no
StrictModes no
UseDNS no
PrintMotd no
MaxStartups 200:30:400
MaxSessions 100
"""


@dataclass
class Sshd:
    """A running server: the account that may log in and its key, and the key that identifies the host."""

    folder: Path
    port: int
    user: str
    address: str = "127.0.0.1"
    process: subprocess.Popen[bytes] | None = field(default=None, repr=False)

    @property
    def identity(self) -> Path:
        return self.folder / "client"

    @property
    def known_hosts(self) -> Path:
        return self.folder / "known_hosts"

    @property
    def log(self) -> Path:
        return self.folder / "sshd.log"

    def spec(self, name: str = "peer", **changes: object) -> HostSpec:
        """Return a host of a plan that reaches this server. Its work folder is accessible to the account."""
        spec = HostSpec(
            name=name,
            transport="ssh",
            address=self.address,
            port=self.port,
            user=self.user,
            identity_file=str(self.identity),
            known_hosts=str(self.known_hosts),
            workdir=str(self.folder / "account" / "work"),
            options={"connect_timeout": PATIENCE_S},
        )
        return spec._replace(**changes)

    def entry(self, **changes: object) -> dict[str, object]:
        """Return the keys of a host in a plan, for the same host as `spec`."""
        return {
            "transport": "ssh", "address": self.address, "port": self.port, "user": self.user,
            "identity_file": str(self.identity), "known_hosts": str(self.known_hosts),
            "workdir": str(self.folder / "account" / "work"), **changes,
        }  # fmt: skip

    def start(self, prefix: Sequence[str] = ()) -> None:
        """Start the server and wait until it accepts connections. `prefix` is a command that runs it."""
        with self.log.open("ab") as log:
            self.process = subprocess.Popen(
                [*prefix, SSHD, "-D", "-e", "-f", str(self.folder / "sshd_config")],
                stdin=subprocess.DEVNULL,
                stderr=log,
            )
        until(lambda: self.accepts() or self._ended(), f"sshd at port {self.port} accepts no connections")
        if self._ended():
            raise RuntimeError(f"sshd did not start: {self.log.read_text()[-2000:]}")

    def accepts(self) -> bool:
        """Return whether a server accepts connections at its port."""
        try:
            socket.create_connection((self.address, self.port), 10).close()
        except OSError:
            return False
        return True

    def _ended(self) -> bool:
        return self.process is None or self.process.poll() is not None

    def stop(self) -> None:
        """End the server. Its sessions end with their connections."""
        if self.process is not None:
            self.process.terminate()
            self.process.wait(PATIENCE_S)
            self.process = None
            # a session that was just forked still listens at the port, so that another server could not
            until(lambda: not self.accepts(), f"port {self.port} is not free")


def free_port() -> int:
    """Return a port that was free a moment ago. It is below the ports that the system assigns to outgoing connections,
    because other tests open many of these before a server listens at the port."""
    lowest = int(Path("/proc/sys/net/ipv4/ip_local_port_range").read_text().split()[0])
    while True:
        port = random.SystemRandom().randrange(10_000, lowest)
        with socket.socket() as probe, suppress(OSError):
            probe.bind(("127.0.0.1", port))
            return port


def make_account() -> str:
    """Return the account that the tests log in as. As root, this is an unprivileged account without startup files,
    which is created if missing."""
    if os.geteuid() != 0:
        return getpass.getuser()
    Path("/run/sshd").mkdir(exist_ok=True)
    with Path("/run/asct-bench.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        try:
            pwd.getpwnam(ACCOUNT)
        except KeyError:
            subprocess.run(["useradd", "--create-home", "--shell", "/bin/sh", ACCOUNT], check=True)
            subprocess.run(["usermod", "-p", "*", ACCOUNT], check=True)
    return ACCOUNT


def keygen(path: Path) -> None:
    """Create an ed25519 key without a passphrase."""
    subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-C", "", "-f", str(path)], check=True)


def configuration(server: Sshd) -> str:
    """Return the sshd_config of a server."""
    return CONFIG.format(address=server.address, port=server.port, folder=server.folder)


def known_line(server: Sshd) -> str:
    """Return the line of known_hosts that makes the key of the server known."""
    kind, blob = (server.folder / "host.pub").read_text().split()[:2]
    return f"[{server.address}]:{server.port} {kind} {blob}\n"


def serve(folder: Path) -> Sshd:
    """Create keys and a configuration in `folder`, and start a server."""
    user = make_account()
    server = Sshd(folder, free_port(), user)
    keygen(folder / "host")
    keygen(server.identity)
    shutil.copy(folder / "client.pub", folder / "authorized_keys")
    (folder / "authorized_keys").chmod(0o644)
    (folder / "sshd_config").write_text(configuration(server))
    server.known_hosts.write_text(known_line(server))
    account = folder / "account"
    account.mkdir(mode=0o755)
    if os.geteuid() == 0:
        shutil.chown(account, user)
    server.start()
    return server


@contextmanager
def _served() -> Iterator[Sshd]:
    """Provide a server, in a folder that other accounts may traverse, unlike the folders of pytest."""
    folder = Path(tempfile.mkdtemp(prefix="asct-sshd-"))
    try:
        folder.chmod(0o755)
        server = serve(folder)
        try:
            yield server
        finally:
            server.stop()
    finally:
        shutil.rmtree(folder, ignore_errors=True)


@pytest.fixture(scope="session")
def sshd() -> Iterator[Sshd]:
    """Provide one server for all tests of this process. Tests that break servers use `own_sshd`."""
    with _served() as server:
        yield server


@pytest.fixture
def own_sshd() -> Iterator[Sshd]:
    """Provide a server for one test, which may stop or damage it."""
    with _served() as server:
        yield server
