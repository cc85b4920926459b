"""A Link that uses a Fabric connection and its paramiko transport: strict host keys, jump hosts, agent and keys."""

from __future__ import annotations

import contextlib
import logging
import os
import socket
import threading
from functools import lru_cache
from pathlib import Path
from typing import Any

import fabric
import paramiko
from paramiko.pkey import UnknownKeyType

from asct.diagnostics.model import Diagnostic
from asct.errors import ConnectError, HostLost
from asct.hosts import errors
from asct.hosts.link import Channel, TimedLink, quoted
from asct.hosts.shell_files import COMMAND, ShellFiles
from asct.hosts.ssh import known_hosts
from asct.hosts.ssh.known_hosts import Key, KnownKeys, known_keys
from asct.plan.model import HostSpec

CONNECT_S = 10.0
KEEPALIVE_S = 15
IDLE_S = 1.0
"""The interval, in seconds, between checks of an idle connection for keepalives. With paramiko's default interval of
0.1 s, each connection takes 0.6 ms of CPU time per second."""
MAX_JUMPS = 8
_BLOCK = 1 << 17
_READ = 1 << 15
"""Maximum number of bytes that one system call reads from a connection."""
_MOST_ERROR = 1 << 20
"""Maximum number of bytes of standard error to read at once, because a command may print without end."""
_READ_LOCK = threading.Lock()
"""The lock held while a key file is read, so that only one thread reads the file for all hosts in a fleet."""
logging.getLogger("paramiko").addHandler(logging.NullHandler())  # asct's diagnostics quote paramiko's messages


class SshLink(TimedLink):
    """A Link over a Fabric connection and its paramiko transport."""

    broken = (paramiko.SSHException, EOFError, OSError)

    def __init__(self, spec: HostSpec, folder: Path, connect_s: float = CONNECT_S) -> None:
        super().__init__(spec.name)
        self._spec = spec
        self._folder = folder
        self._connect_s = float(spec.options.get("connect_timeout", connect_s))
        self._hops: list[fabric.Connection] = []
        self._files: ShellFiles | None = None

    def connect(self) -> None:
        self._hops = []
        try:
            self._connect_hops()
        except BaseException:
            self.close()
            raise
        self.watch()

    def _connect_hops(self) -> None:
        spec = self._spec
        target = Hop(spec, self._folder, spec.address or spec.name, self._connect_s)
        for hop in self._route(target):
            self._hops.append(hop.open(self._hops[-1] if self._hops else None))
        self.label = target.label
        self._hops.append(target.open(self._hops[-1] if self._hops else None))

    def _route(self, target: Hop, depth: int = 0) -> list[Hop]:
        """Return the jump hosts before `target`. The first jump host may have its own ProxyJump in ~/.ssh/config."""
        if depth > MAX_JUMPS:
            detail = f"there are more than {MAX_JUMPS} jump hosts in a row; check ProxyJump for a loop"
            raise ConnectError(self._spec.name, errors.problem("bad_ssh_config", target.label, detail=detail))
        jumps = [Hop(self._spec, self._folder, one, self._connect_s, is_jump=True) for one in target.jumps()]
        return [*self._route(jumps[0], depth + 1), *jumps] if jumps else []

    def close(self) -> None:
        self.unwatch()
        for connection in reversed(self._hops):
            with contextlib.suppress(Exception):
                connection.client.close()
        self._hops, self._files = [], None

    def alive(self) -> bool:
        transport = self._hops[-1].transport if self._hops else None
        return transport is not None and bool(transport.is_active())

    def cut(self) -> None:
        for connection in self._hops[:1]:
            connection.transport.sock.close()
        for connection in self._hops:
            connection.transport.stop_thread()

    def _transport(self) -> paramiko.Transport:
        transport: paramiko.Transport | None = self._hops[-1].transport if self._hops else None
        if transport is None or not transport.is_active():
            raise HostLost(self._spec.name, errors.connection_lost(self.label, "idle"))
        return transport

    def start(self, command: str) -> Channel:
        channel = self._transport().open_session()
        channel.exec_command(command.encode("utf-8", "surrogateescape"))
        return SshChannel(channel)

    @property
    def files(self) -> ShellFiles:
        if self._files is None:
            self._files = ShellFiles(self._spec.name, self.label, self.start(COMMAND), self.progress)
        self._transport()
        return self._files


class SshChannel:
    """A Channel over a paramiko channel."""

    def __init__(self, channel: paramiko.Channel) -> None:
        self._channel = channel

    def send(self, data: bytes) -> None:
        rest = memoryview(data)
        while rest:
            try:
                sent = self._channel.send(bytes(rest[:_BLOCK]))
            except TimeoutError:  # `receive` sets the time limit of both directions; `within` limits the exchange
                continue
            except OSError:
                return
            if sent == 0:
                return
            rest = rest[sent:]

    def finish_input(self) -> None:
        with contextlib.suppress(OSError, EOFError):
            self._channel.shutdown_write()

    def receive(self, timeout_s: float) -> bytes:
        self._channel.settimeout(timeout_s)
        return bytes(self._channel.recv(65536))

    def receive_error(self) -> bytes:
        found = bytearray()
        while self._channel.recv_stderr_ready() and len(found) < _MOST_ERROR:
            found += self._channel.recv_stderr(65536)
        return bytes(found)

    def message(self) -> str:
        return quoted(self.receive_error())

    def status(self) -> int:
        return int(self._channel.recv_exit_status())

    def close(self) -> None:
        self._channel.close()


class _KeyUnknown(Exception):
    def __init__(self, key: paramiko.PKey) -> None:
        self.key = key


class _Refuse(paramiko.MissingHostKeyPolicy):
    """Like paramiko.RejectPolicy, but also keeps the rejected key for the error message."""

    def missing_host_key(self, client: paramiko.SSHClient, hostname: str, key: paramiko.PKey) -> None:
        raise _KeyUnknown(key)


def _transport(sock: Any, **options: Any) -> paramiko.Transport:
    """Return a transport that prefers AES-GCM.

    With other ciphers, paramiko compares message authentication codes byte by byte, which takes a third of its CPU
    time.
    """
    transport = paramiko.Transport(sock, **options)
    wishes = transport.get_security_options()
    wishes.ciphers = sorted(wishes.ciphers, key=lambda name: "gcm" not in name)
    return transport


_State = tuple[str, int, int]
"""The name, modification time and size of a file. If any of these changes, the file is read again."""


def _states(*files: str) -> tuple[_State, ...]:
    """Return the states of the files that exist."""
    found = []
    for file in map(os.path.expanduser, files):
        with contextlib.suppress(OSError):
            status = Path(file).stat()
            found.append((file, status.st_mtime_ns, status.st_size))
    return tuple(found)


def _private_key(file: str) -> paramiko.PKey | None:
    """Return the key in an identity file together with its certificate, or None if the file cannot be read. In that
    case, paramiko tries to read the file and reports the reason."""
    with _READ_LOCK, contextlib.suppress(Exception):
        return _read_key(file, _states(file, f"{file}-cert.pub"))
    return None


@lru_cache(maxsize=16)
def _read_key(file: str, _files: tuple[_State, ...]) -> paramiko.PKey:
    return paramiko.PKey.from_path(file)


@lru_cache(maxsize=4)
def _ssh_config(_files: tuple[_State, ...]) -> paramiko.SSHConfig:
    """Return the content of the ssh_config files, which is read once for all hosts in a fleet.

    Only this part of Fabric's configuration is shared, because a connection changes the rest of it.
    """
    config = fabric.Config(lazy=True)
    config.load_ssh_config()
    found: paramiko.SSHConfig = config.base_ssh_config
    return found


class PromptSocket(socket.socket):
    """A TCP socket that acknowledges data immediately, and reads whatever has arrived at once.

    paramiko asks for the length and the content of each packet separately. Reading them one by one would double the
    system calls and the switches between threads.

    sshd leaves Nagle's algorithm on for sessions without a terminal (OpenSSH, `ssh_packet_set_interactive`). With
    delayed acknowledgments, sshd would therefore hold back its next small packet for up to 40 ms. Linux resets
    TCP_QUICKACK on its own (tcp(7)), so the option must be set again after each read.

    Closing the socket wakes a thread that is reading from it, so that the read can have a long timeout.
    """

    _rest = b""
    """What has been read from the socket but not yet been asked for."""

    def recv(self, bufsize: int, flags: int = 0, /) -> bytes:
        """See `socket.recv`."""
        data = self._rest or self.read_at_once(flags)
        self._rest = data[bufsize:]
        return data[:bufsize]

    def read_at_once(self, flags: int) -> bytes:
        """Wait for data, and return all of it up to a limit."""
        data = super().recv(_READ, flags)
        self.setsockopt(socket.IPPROTO_TCP, socket.TCP_QUICKACK, 1)
        return data

    def close(self) -> None:
        """See `socket.close`."""
        with contextlib.suppress(OSError):  # already closed, or the peer has reset the connection
            self.shutdown(socket.SHUT_RDWR)
        super().close()


class Hop:
    """An ssh server on the route: the host itself or a jump host. Each host key is checked."""

    def __init__(self, spec: HostSpec, folder: Path, text: str, connect_s: float, is_jump: bool = False) -> None:
        self._spec = spec
        self._connect_s = connect_s
        self._known_hosts = known_hosts.resolve(spec.known_hosts or known_hosts.DEFAULT_FILE, folder)
        self._known = KnownKeys()
        self._identity = str(known_hosts.resolve(spec.identity_file, folder)) if spec.identity_file else None
        self._is_jump = is_jump
        own = None if is_jump else spec.user
        port = None if is_jump or spec.port == 22 else spec.port
        try:
            files = _states("/etc/ssh/ssh_config", "~/.ssh/config")
            config = fabric.Config(lazy=True, ssh_config=_ssh_config(files))
            self._connection = fabric.Connection(
                text, user=own, port=port, config=config, gateway=False, forward_agent=False, connect_kwargs={}
            )
        except (paramiko.SSHException, ValueError, OSError) as error:
            raise ConnectError(spec.name, errors.problem("bad_ssh_config", spec.name, detail=str(error))) from error
        link = self._connection
        via = "jump host " if is_jump else ""
        self.label = f"{spec.name} ({via}{link.user}@{link.host}:{link.port})"

    def jumps(self) -> list[str]:
        """The jump hosts in route order: those in the plan if there are any, otherwise those listed under ProxyJump in
        ~/.ssh/config."""
        known: dict[str, Any] = self._connection.ssh_config
        planned = None if self._is_jump else self._spec.jump
        if not planned and "proxycommand" in known:
            detail = "the ProxyCommand in ~/.ssh/config is not supported"
            raise ConnectError(self._spec.name, errors.problem("bad_ssh_config", self.label, detail=detail))
        text = planned or known.get("proxyjump", "none")
        return [] if text == "none" else [one.strip() for one in text.split(",")]

    def open(self, through: fabric.Connection | None) -> fabric.Connection:
        """Connect. Raises ConnectError."""
        connection = self._connection
        connection.client.set_missing_host_key_policy(_Refuse())
        self._load_known_hosts()
        connection.connect_kwargs = self._login_arguments()
        try:
            connection.connect_kwargs["sock"] = self._socket(through)
            connection.open()
        except Exception as error:  # paramiko raises many types of exceptions, each of which has its own diagnostic
            connection.client.close()
            raise ConnectError(self._spec.name, self._diagnostic(error)) from error
        connection.transport.set_keepalive(KEEPALIVE_S)
        if through is None:
            connection.transport.sock.settimeout(IDLE_S)
        return connection

    def _load_known_hosts(self) -> None:
        name = known_hosts.known_as(self._connection.host, self._connection.port)
        parsed: dict[Key, paramiko.PKey] = {}
        for file in (self._known_hosts, Path("/etc/ssh/ssh_known_hosts")):
            try:
                found = known_keys(file, name)
                for kind, blob in found.keys:
                    with contextlib.suppress(UnknownKeyType):
                        parsed[kind, blob] = paramiko.PKey.from_type_string(kind, blob)
                self._known = self._known.with_more(found)
            except FileNotFoundError:
                continue
            except (OSError, ValueError, paramiko.SSHException) as error:
                raise ConnectError(
                    self._spec.name, errors.problem("bad_known_hosts", str(file), detail=str(error))
                ) from error
        trusted = self._connection.client.get_host_keys()
        for key in self._known.keys:
            if key in parsed:
                trusted.add(name, key[0], parsed[key])

    def _login_arguments(self) -> dict[str, Any]:
        found: list[str] = self._connection.connect_kwargs.get("key_filename", [])
        files = (
            []
            if self._identity and not self._is_jump
            else [file for file in found if Path(file).expanduser().is_file()]
        )
        files += [self._identity] if self._identity else []
        key = _private_key(files[0]) if len(files) == 1 else None
        return {
            "pkey": key,
            "key_filename": [] if key else files,
            "look_for_keys": not files,
            "transport_factory": _transport,
            "allow_agent": True,
            "timeout": 2 * self._connect_s,
            "banner_timeout": self._connect_s,
            "auth_timeout": self._connect_s,
            "channel_timeout": self._connect_s,
        }

    def _socket(self, through: fabric.Connection | None) -> Any:
        address = (self._connection.host, self._connection.port)
        if through is not None:
            return through.transport.open_channel("direct-tcpip", address, ("", 0), timeout=self._connect_s)
        sock = PromptSocket(fileno=socket.create_connection(address, self._connect_s).detach())
        sock.settimeout(self._connect_s)
        sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_USER_TIMEOUT, 60_000)
        return sock

    def _diagnostic(self, error: Exception) -> Diagnostic:
        user, host, port = self._connection.user, self._connection.host, self._connection.port
        file = str(self._known_hosts)
        match error:
            case _KeyUnknown(key=key) | paramiko.BadHostKeyException(key=key) if self._is_revoked(key):
                return errors.revoked_key(self.label, known_hosts.fingerprint(key.get_name(), key.asbytes()))
            case _KeyUnknown(key=key):
                kind, blob = key.get_name(), key.asbytes()
                line = known_hosts.line_to_add(host, port, kind, blob)
                return errors.unknown_key(self.label, line, known_hosts.fingerprint(kind, blob), file)
            case paramiko.BadHostKeyException(key=key, expected_key=expected):
                presented = known_hosts.fingerprint(key.get_name(), key.asbytes())
                known = known_hosts.fingerprint(expected.get_name(), expected.asbytes())
                return errors.changed_key(self.label, presented, known, file)
            case paramiko.PasswordRequiredException() | FileNotFoundError() | PermissionError():
                return errors.problem("bad_identity", self.label, file=self._identity or "~/.ssh", detail=str(error))
            case paramiko.AuthenticationException():
                return errors.problem("login_refused", self.label, user=user, detail=str(error).rstrip("."))
        return self._network_diagnostic(error)

    def _is_revoked(self, key: paramiko.PKey) -> bool:
        return (key.get_name(), key.asbytes()) in self._known.revoked

    def _network_diagnostic(self, error: Exception) -> Diagnostic:
        match error:
            case socket.gaierror():
                return errors.problem("unresolved", self.label, detail=error.strerror or str(error))
            case ConnectionRefusedError():
                return errors.problem("port_refused", self.label)
            case paramiko.ChannelException():
                return errors.problem("unreachable", self.label, detail=f"the jump host reports: {error.text}")
            case ConnectionResetError() | EOFError():
                return errors.problem("no_agreement", self.label, detail="the server closed the connection")
            case OSError():
                return errors.problem("unreachable", self.label, detail=error.strerror or str(error) or "timed out")
        text = str(error)
        if "banner" in text or "No existing session" in text:
            return errors.problem("silent_server", self.label, seconds=self._connect_s)
        if "authentication methods" in text:
            return errors.problem("login_refused", self.label, user=self._connection.user, detail="no key available")
        return errors.problem("no_agreement", self.label, detail=text or type(error).__name__)
