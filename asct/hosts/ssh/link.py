"""A Link that uses paramiko: strict host keys, jump hosts, agent and keys."""

from __future__ import annotations

import contextlib
import logging
import socket
import struct
import threading
import time
from functools import lru_cache
from pathlib import Path
from typing import Any

from asct.diagnostics.model import Diagnostic
from asct.errors import ConnectError, HostLost
from asct.hosts import errors
from asct.hosts.link import Channel, TimedLink, quoted
from asct.hosts.shell_files import COMMAND, ShellFiles
from asct.hosts.ssh import known_hosts
from asct.hosts.ssh.destination import FileState, destination, states
from asct.hosts.ssh.known_hosts import Key, KnownKeys, known_keys
from asct.hosts.ssh.library import paramiko
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
    """A Link over a paramiko transport."""

    broken = (paramiko.SSHException, EOFError, OSError)

    def __init__(self, spec: HostSpec, folder: Path, connect_s: float = CONNECT_S) -> None:
        super().__init__(spec.name)
        self._spec = spec
        self._folder = folder
        self._connect_s = float(spec.options.get("connect_timeout", connect_s))
        self._hops: list[Hop] = []
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
        for jump in self._route(target):
            self._open(jump)
        self.label = target.label
        self._open(target)

    def _open(self, hop: Hop) -> None:
        hop.open(self._hops[-1] if self._hops else None)
        self._hops.append(hop)

    def _route(self, target: Hop, depth: int = 0) -> list[Hop]:
        """Return the jump hosts before `target`. The first jump host may have its own ProxyJump in ~/.ssh/config."""
        if depth > MAX_JUMPS:
            detail = f"there are more than {MAX_JUMPS} jump hosts in a row; check ProxyJump for a loop"
            raise ConnectError(self._spec.name, errors.problem("bad_ssh_config", target.label, detail=detail))
        jumps = [Hop(self._spec, self._folder, one, self._connect_s, is_jump=True) for one in target.jumps()]
        return [*self._route(jumps[0], depth + 1), *jumps] if jumps else []

    def close(self) -> None:
        self.unwatch()
        for hop in reversed(self._hops):
            with contextlib.suppress(Exception):
                hop.client.close()
        self._hops, self._files = [], None

    def alive(self) -> bool:
        return bool(self._hops) and self._hops[-1].transport.is_active()

    def cut(self) -> None:
        for sock in self._sockets():
            sock.discard()
        for hop in self._hops:
            hop.transport.stop_thread()

    def heard(self) -> float:
        return max((sock.heard for sock in self._sockets()), default=0.0)

    def _sockets(self) -> list[PromptSocket]:
        """Return the socket of the connection: that to the first hop, through which the others are reached."""
        return [hop.transport.sock for hop in self._hops if isinstance(hop.transport.sock, PromptSocket)]

    def ask(self) -> None:
        if hops := self._hops:
            thread = threading.Thread(
                target=self._await_answer, args=(hops[-1].transport,), name="asct-ask", daemon=True
            )
            with contextlib.suppress(RuntimeError):  # no more threads can be started; the watchdog will try again
                thread.start()

    def _await_answer(self, transport: paramiko.Transport) -> None:
        """Send a request that every server answers, even if it does not know the request (RFC 4254, section 4), and
        wait for the answer or the end of the connection."""
        self.asked = time.monotonic()
        with contextlib.suppress(*self.broken):
            transport.global_request("keepalive@openssh.com")
            if transport.is_active():
                self.asked = None

    def _transport(self) -> paramiko.Transport:
        if not self.alive():
            raise HostLost(self._spec.name, errors.connection_lost(self.label, "idle"))
        return self._hops[-1].transport

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


def _private_key(file: str) -> paramiko.PKey | None:
    """Return the key in an identity file together with its certificate, or None if the file cannot be read. In that
    case, paramiko tries to read the file and reports the reason."""
    with _READ_LOCK, contextlib.suppress(Exception):
        return _read_key(file, states(file, f"{file}-cert.pub"))
    return None


@lru_cache(maxsize=16)
def _read_key(file: str, _files: tuple[FileState, ...]) -> paramiko.PKey:
    return paramiko.PKey.from_path(file)


class PromptSocket(socket.socket):
    """A TCP socket that acknowledges data immediately, and reads whatever has arrived at once.

    paramiko asks for the length and the content of each packet separately. Reading them one by one would double the
    system calls and the switches between threads.

    sshd leaves Nagle's algorithm on for sessions without a terminal (OpenSSH, `ssh_packet_set_interactive`). With
    delayed acknowledgments, sshd would therefore hold back its next small packet for up to 40 ms. Linux resets
    TCP_QUICKACK on its own (tcp(7)), so the option must be set again after each read.

    Closing the socket wakes a thread that is reading from it, so that the read can have a long timeout.
    """

    heard = 0.0
    """When data last arrived."""
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
        self.heard = time.monotonic()
        self.setsockopt(socket.IPPROTO_TCP, socket.TCP_QUICKACK, 1)
        return data

    def discard(self) -> None:
        """Close the socket, and discard what has not arrived. Otherwise, Linux would deliver it as soon as the host can
        be reached again: a request to stop would then end a task whose result `asct resume` expects."""
        with contextlib.suppress(OSError):  # already closed
            self.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        self.close()

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
            self._to = destination(text, own, port)
        except (paramiko.SSHException, ValueError, LookupError, OSError) as error:
            raise ConnectError(spec.name, errors.problem("bad_ssh_config", spec.name, detail=str(error))) from error
        self.client = paramiko.SSHClient()
        self.transport: paramiko.Transport
        """The transport, once the server is connected."""
        via = "jump host " if is_jump else ""
        self.label = f"{spec.name} ({via}{self._to.user}@{self._to.host}:{self._to.port})"

    def jumps(self) -> list[str]:
        """The jump hosts in route order: those in the plan if there are any, otherwise those listed under ProxyJump in
        ~/.ssh/config."""
        known = self._to.settings
        planned = None if self._is_jump else self._spec.jump
        if not planned and "proxycommand" in known:
            detail = "the ProxyCommand in ~/.ssh/config is not supported"
            raise ConnectError(self._spec.name, errors.problem("bad_ssh_config", self.label, detail=detail))
        text = planned or known.get("proxyjump", "none")
        return [] if text == "none" else [one.strip() for one in text.split(",")]

    def open(self, through: Hop | None) -> None:
        """Connect. Raises ConnectError."""
        self.client.set_missing_host_key_policy(_Refuse())
        self._load_known_hosts()
        try:
            login = self._login_arguments()
            self.client.connect(self._to.host, self._to.port, self._to.user, sock=self._socket(through), **login)
        except Exception as error:  # paramiko raises many types of exceptions, each of which has its own diagnostic
            self.client.close()
            raise ConnectError(self._spec.name, self._diagnostic(error)) from error
        transport = self.client.get_transport()
        assert transport is not None
        self.transport = transport
        transport.set_keepalive(KEEPALIVE_S)
        if through is None:
            transport.sock.settimeout(IDLE_S)

    def _load_known_hosts(self) -> None:
        name = known_hosts.known_as(self._to.host, self._to.port)
        parsed: dict[Key, paramiko.PKey] = {}
        for file in (self._known_hosts, Path("/etc/ssh/ssh_known_hosts")):
            try:
                found = known_keys(file, name)
                for kind, blob in found.keys:
                    with contextlib.suppress(paramiko.pkey.UnknownKeyType):
                        parsed[kind, blob] = paramiko.PKey.from_type_string(kind, blob)
                self._known = self._known.with_more(found)
            except FileNotFoundError:
                continue
            except (OSError, ValueError, paramiko.SSHException) as error:
                raise ConnectError(
                    self._spec.name, errors.problem("bad_known_hosts", str(file), detail=str(error))
                ) from error
        trusted = self.client.get_host_keys()
        for key in self._known.keys:
            if key in parsed:
                trusted.add(name, key[0], parsed[key])

    def _login_arguments(self) -> dict[str, Any]:
        found: list[str] = self._to.settings.get("identityfile", [])
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

    def _socket(self, through: Hop | None) -> Any:
        address = (self._to.host, self._to.port)
        if through is not None:
            return through.transport.open_channel("direct-tcpip", address, ("", 0), timeout=self._connect_s)
        sock = PromptSocket(fileno=socket.create_connection(address, self._connect_s).detach())
        sock.settimeout(self._connect_s)
        sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_USER_TIMEOUT, 60_000)
        return sock

    def _diagnostic(self, error: Exception) -> Diagnostic:
        user, host, port = self._to.user, self._to.host, self._to.port
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
            return errors.problem("login_refused", self.label, user=self._to.user, detail="no key available")
        return errors.problem("no_agreement", self.label, detail=text or type(error).__name__)
