"""Hosts with their own network, for faults that are impossible on loopback: a link that is down or slow, or a frozen
host.

Each host is an sshd in its own namespaces (network, processes, mounts, name), with an empty /var/tmp and home folder
and without a compiler. The hosts share the processors, the disk and the name of the account. They are joined by a
bridge, which is in a namespace as well: asct is started there (`Net.prefix`), nothing outside can be reached, and
concurrent tests do not affect each other. Everything ends with the first process of each namespace, and these processes
end with the process of the tests.
"""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from tests.awaiting import PATIENCE_S, until
from tests.e2e.running import COMPILERS
from tests.sshd import ACCOUNT, Sshd, configuration, keygen, known_line, make_account

PORT = 2222
SETUP = Path(__file__).with_name("netns.sh")
BRIDGE = """\
ip link add bridge type bridge && ip address add 10.99.0.1/24 dev bridge && ip link set bridge up && ip link set lo up
: >"$1" && exec sleep infinity
"""


@dataclass
class Space:
    """Namespaces, held by the first process in them. `flags` are options of unshare."""

    flags: Sequence[str]
    enter: Sequence[str]
    process: subprocess.Popen[bytes] | None = field(default=None, repr=False)
    first: int = 0

    def start(self, script: str, ready: Path, *arguments: str) -> None:
        """Run `sh -c script sh READY ARGUMENTS...` as the first process, and wait until it creates the file `ready`."""
        ready.unlink(missing_ok=True)
        said = ready.with_name(f"{ready.name}.err")
        with said.open("wb") as errors:
            self.process = subprocess.Popen(
                [
                    *("setpriv", "--pdeathsig", "KILL", "unshare", *self.flags, "--fork", "--kill-child"),
                    *("sh", "-c", script, "sh", str(ready), *arguments),
                ],
                stdin=subprocess.DEVNULL, stderr=errors,
            )  # fmt: skip
        until(lambda: ready.exists() or self.process is None or self.process.poll() is not None, "namespaces")
        if not ready.exists():
            raise RuntimeError(f"the namespaces could not be made: {said.read_text('utf-8', 'replace')}")
        self.first = int(Path(f"/proc/{self.process.pid}/task/{self.process.pid}/children").read_text())

    @property
    def prefix(self) -> list[str]:
        """A command prefix that runs a program in the namespaces."""
        return ["nsenter", "--target", str(self.first), *self.enter, "--"]

    def sh(self, script: str) -> str:
        """Return the output of a shell script that runs as root in the namespaces."""
        done = subprocess.run([*self.prefix, "sh", "-c", script], capture_output=True, text=True, check=False)
        assert done.returncode == 0, f"{script}: {done.stderr}"
        return done.stdout

    def stop(self) -> None:
        """End everything in the namespaces at once. The first process disappears only after all others."""
        if self.process is not None:
            if self.first and self.process.poll() is None:
                os.kill(self.first, signal.SIGKILL)
            else:
                self.process.kill()
            self.process.wait(PATIENCE_S)
            self.first = 0
            self.process = None


@dataclass
class NetHost:
    """A host. `cable` is the bridge's end of its link, and `card` is the address of the network card at the other
    end."""

    name: str
    cable: str
    card: str
    server: Sshd
    space: Space
    outside: Space
    compilers: bool = False
    """Whether the host has compilers."""

    @property
    def var_tmp(self) -> Path:
        """The path of the host's /var/tmp outside its namespaces."""
        return self.server.folder / "tmp"

    def boot(self) -> None:
        """Start the host. After `power_off`, it has the same disk but another boot id."""
        folder = self.server.folder
        script = SETUP.read_text()
        home = f"/home/{ACCOUNT}"
        self.space.start(
            script, folder / "ready", self.name, str(folder), home, *([] if self.compilers else _compilers())
        )
        assert self.space.process is not None
        self.outside.sh(
            f"ip link add {self.cable} type veth peer name eth0 address {self.card} netns {self.space.first} &&"
            f" ip link set {self.cable} master bridge up"
        )
        self.space.sh(f"ip link set lo up && ip address add {self.server.address}/24 dev eth0 && ip link set eth0 up")
        self.serve()

    def power_off(self) -> None:
        """End everything on the host at once, and remove its link, which Linux would remove only after a while."""
        self.space.stop()
        self.outside.sh(f"ip link delete {self.cable} 2>/dev/null || :")

    def serve(self) -> None:
        """Start its ssh server."""
        pid = self.server.folder / "sshd.pid"
        pid.unlink(missing_ok=True)
        self.space.sh(f"/usr/sbin/sshd -f {self.server.folder}/sshd_config -E {self.server.log}")
        until(pid.exists, f"sshd of {self.name}")

    def kill_servers(self) -> None:
        """Kill the ssh server and all its sessions with SIGKILL. The programs that they started receive no signal."""
        self.space.sh("pkill -KILL -x sshd")

    def signal_sessions(self, name: str) -> None:
        """Send a signal to the ssh sessions, of which asct has one, but not to the server."""
        self.space.sh(f'for one in $(pgrep -x sshd); do [ "$one" = "$(cat {self.server.folder}/sshd.pid)" ] || '
                      f"kill -s {name} $one || :; done")  # fmt: skip

    def freeze(self) -> None:
        """Stop all processes on the host. The Linux kernel still answers network packets on the host's behalf."""
        self.space.sh('for one in /proc/[0-9]*; do one=${one#/proc/}; [ "$one" = 1 ] || [ "$one" = $$ ] || '
                      "kill -STOP $one; done")  # fmt: skip

    def link(self, state: str) -> None:
        """Unplug the cable (`down`), or plug it in again (`up`)."""
        self.outside.sh(f"ip link set {self.cable} {state}")

    def slow(self, rate: str) -> None:
        """Limit the rate of the link in both directions; `rate` is in the notation of tc (`1mbit`)."""
        limit = f"root tbf rate {rate} burst 32kbit latency 400ms"
        self.space.sh(f"tc qdisc add dev eth0 {limit}")
        self.outside.sh(f"tc qdisc add dev {self.cable} {limit}")

    def started(self) -> list[str]:
        """Return the arguments of every fio that was started on the host, in order."""
        return (self.var_tmp / "fio.log").read_text().splitlines()

    def running(self) -> list[str]:
        """Return the command lines of the account's processes, except its ssh sessions."""
        return [line for line in self.space.sh(f"pgrep -a -u {ACCOUNT} || true").splitlines() if " sshd: " not in line]

    def left(self) -> list[str]:
        """Return the files in its work folder."""
        return sorted(str(path) for path in (self.var_tmp / "asct").rglob("*") if path.is_file())


@dataclass(frozen=True)
class Net:
    """Hosts by name, and the namespace in which asct is started to reach them."""

    folder: Path
    space: Space
    hosts: dict[str, NetHost]

    @property
    def prefix(self) -> list[str]:
        """The command prefix for asct."""
        return self.space.prefix

    @property
    def known_hosts(self) -> Path:
        """The known_hosts file with the keys of all hosts."""
        return self.folder / "known_hosts"

    def entries(self) -> dict[str, Any]:
        """Return the `hosts:` section of a plan."""
        common = {
            "transport": "ssh", "port": PORT, "user": ACCOUNT, "identity_file": str(self.folder / "client"),
            "known_hosts": str(self.known_hosts), "connect_timeout": "30s",
        }  # fmt: skip
        return {"defaults": common, **{name: {"address": one.server.address} for name, one in self.hosts.items()}}


@contextmanager
def network(size: int, *, compilers: bool = False) -> Iterator[Net]:
    """Provide `size` running hosts (tb01, tb02, ...). Nothing of them remains afterward."""
    make_account()
    folder = Path(tempfile.mkdtemp(prefix="asct-net-"))
    folder.chmod(0o755)
    outside = Space(["--net"], ["--net"])
    net = Net(folder, outside, {})
    try:
        keygen(folder / "client")
        outside.start(BRIDGE, folder / "ready")
        for number in range(1, size + 1):
            one = replace(_host(folder, number, outside), compilers=compilers)
            net.hosts[one.name] = one
            one.boot()
        net.known_hosts.write_text("".join(known_line(one.server) for one in net.hosts.values()))
        yield net
    finally:
        for one in net.hosts.values():
            one.space.stop()
        outside.stop()
        shutil.rmtree(folder, ignore_errors=True)


def _host(folder: Path, number: int, outside: Space) -> NetHost:
    name = f"tb{number:02}"
    server = Sshd(folder / name, PORT, ACCOUNT, f"10.99.0.{number + 10}")
    for place, mode in ((server.folder, 0o755), (server.folder / "tmp", 0o1777), (server.folder / "home", 0o755)):
        place.mkdir()
        place.chmod(mode)
    shutil.chown(server.folder / "home", ACCOUNT)
    keygen(server.folder / "host")
    shutil.copy(folder / "client.pub", server.folder / "authorized_keys")
    (server.folder / "authorized_keys").chmod(0o644)
    (server.folder / "sshd_config").write_text(configuration(server))
    space = Space(["--net", "--pid", "--mount", "--uts", "--mount-proc"], ["--net", "--pid", "--mount", "--uts"])
    return NetHost(name, f"v{number}", f"02:00:00:00:00:{number:02x}", server, space, outside)


def _compilers() -> list[str]:
    places = (Path("/usr/bin"), Path("/usr/local/bin"))
    return sorted({str(path.resolve()) for place in places for name in COMPILERS for path in place.glob(name)})
