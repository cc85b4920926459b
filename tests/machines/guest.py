"""Guests under qemu without hardware virtualization: described as data, started, awaited, and ended by their pids.

Emulated nodes have the right numbers, CPUs, distances and policies, but no latency of their own. A measurement on a
guest therefore shows that something works, but never how fast it is.
"""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import time
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path

from tests.machines.drives import Drive, attached
from tests.machines.image import Image, image, pack
from tests.machines.recipes import Recipe
from tests.sshd import free_port, keygen

INIT = Path(__file__).with_name("init.sh")
READY_S = 240.0
BOOTS = 3
WORK = "/var/tmp/asct"

_LOGINS = 4
_NO_LOGIN = 255
"""The exit status of ssh if it could not run the command, for example because the server gives up on a login that takes
too long."""


@dataclass(frozen=True)
class Node:
    """A NUMA node: its CPUs in qemu's notation (empty if it has only memory), and its memory in MiB."""

    cpus: str
    mib: int


@dataclass(frozen=True)
class Machine:
    """The description of a guest."""

    name: str
    recipe: Recipe
    cpus: int
    nodes: tuple[Node, ...]
    distances: tuple[tuple[int, int, int], ...] = ()
    kernel: str = ""
    setup: str = ""
    mask: str = "0xffffffff"
    user: str = "root"
    drives: tuple[Drive, ...] = ()

    @property
    def arch(self) -> str:
        return self.recipe.arch

    def command(self) -> list[str]:
        """Return the qemu command with its CPUs, nodes and distances, but without drives and network."""
        accelerated = {
            "x86_64": ["qemu-system-x86_64", "-machine", "q35", "-cpu", "max"],
            "aarch64": [
                "qemu-system-aarch64",
                "-machine",
                "virt,gic-version=3",
                "-cpu",
                "max,pauth-impdef=on,sve-max-vq=2",
            ],
        }[self.arch]
        memory = f"{sum(node.mib for node in self.nodes)}M"
        command = [*accelerated, "-accel", "tcg,thread=multi", "-smp", str(self.cpus), "-m", memory]
        for number, node in enumerate(self.nodes):
            command += ["-object", f"memory-backend-ram,id=m{number},size={node.mib}M"]
            command += ["-numa", f"node,nodeid={number},memdev=m{number}" + (f",cpus={node.cpus}" if node.cpus else "")]
        for source, target, value in self.distances:
            for one, other in ((source, target), (target, source)):
                command += ["-numa", f"dist,src={one},dst={other},val={value}"]
        return command


@dataclass
class Guest:
    """A guest that was started. `folder` contains its console output and its keys."""

    machine: Machine
    folder: Path
    port: int = 0
    process: subprocess.Popen[bytes] | None = field(default=None, repr=False)

    @property
    def console(self) -> Path:
        return self.folder / "console"

    @property
    def identity(self) -> Path:
        return self.folder / "client"

    @property
    def known_hosts(self) -> Path:
        return self.folder / "known_hosts"

    def start(self) -> None:
        """Begin to boot. The guest ends with this process, whatever happens."""
        made = image(self.machine.recipe)
        self.port = free_port()
        self.console.unlink(missing_ok=True)
        console = {"x86_64": "ttyS0", "aarch64": "ttyAMA0"}[self.machine.arch]
        # Linux panics when the timer interrupts of a starved qemu come too late for its check of them
        options = f"console={console} no_timer_check quiet panic=-1 {self.machine.kernel}"
        network = f"user,id=net,restrict=on,hostfwd=tcp:127.0.0.1:{self.port}-:22"
        with (self.folder / "qemu.log").open("wb") as log:
            self.process = subprocess.Popen(
                [
                    *("setpriv", "--pdeathsig", "KILL", *self.machine.command(), "-nodefaults", "-display", "none"),
                    *("-serial", f"file:{self.console}", "-no-reboot", "-netdev", network),
                    *("-device", "virtio-net-pci,netdev=net,romfile="),
                    *("-kernel", str(made.kernel), "-initrd", str(self._initial_files(made))),
                    *("-append", options, *attached(self.machine.drives, self.folder)),
                ],
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
            )

    def _initial_files(self, made: Image) -> Path:
        """Return the shared files, followed by those that only this guest has."""
        own = self.folder / "own"
        shutil.rmtree(own, ignore_errors=True)
        (own / "guest").mkdir(parents=True)
        self.identity.unlink(missing_ok=True)
        keygen(self.identity)
        shutil.copy(INIT, own / "init")
        (own / "init").chmod(0o755)
        shutil.copy(self.identity.with_suffix(".pub"), own / "guest" / "authorized_keys")
        for name, text in (("name", self.machine.name), ("setup", self.machine.setup), ("mask", self.machine.mask)):
            (own / "guest" / name).write_text(text + "\n")
        pack(own, self.folder / "own.cpio")
        whole = self.folder / "initrd"
        parts = [made.base, *([made.drives] if self.machine.drives else []), self.folder / "own.cpio"]
        whole.write_bytes(b"".join(part.read_bytes() for part in parts))
        return whole

    def wait(self) -> None:
        """Wait until the guest accepts logins. Occasionally, an emulated Linux kernel hangs during its start and is
        started again. Raises RuntimeError."""
        for _ in range(BOOTS - 1):
            with suppress(RuntimeError):
                self._ready()
                return
            self.stop()
            self.start()
        self._ready()

    def _ready(self) -> None:
        """Return whether the guest is ready. Its key, which is printed on the console, is then known."""
        deadline = time.monotonic() + READY_S
        text = ""
        while "guest ready" not in text:
            text = self.console.read_text(errors="replace") if self.console.exists() else ""
            if self.process is None or self.process.poll() is not None or time.monotonic() > deadline:
                log = (self.folder / "qemu.log").read_text(errors="replace")
                raise RuntimeError(f"{self.machine.name} did not come up:\n{text[-3000:]}\n{log[-2000:]}")
            time.sleep(0.05)
        key = re.search(r"host key: (ssh-ed25519 \S+)", text)
        if key is None:
            raise RuntimeError(f"{self.machine.name} told no host key:\n{text[-3000:]}")
        self.known_hosts.write_text(f"[127.0.0.1]:{self.port} {key.group(1)}\n")

    def stop(self) -> None:
        """End the guest immediately."""
        if self.process is not None:
            self.process.kill()
            self.process.wait(30)
            self.process = None

    def host(self, **changes: object) -> dict[str, object]:
        """Return the entry of a plan for this guest."""
        return {
            "transport": "ssh",
            "address": "127.0.0.1",
            "port": self.port,
            "user": self.machine.user,
            "identity_file": str(self.identity),
            "known_hosts": str(self.known_hosts),
            "workdir": WORK,
            "vars": {"drives": [drive.disk() for drive in self.machine.drives]},
            **changes,
        }

    def sh(self, script: str, user: str = "root", given: bytes = b"") -> str:
        """Return the output of a shell script on the guest, run by OpenSSH's client with the same strict key checking.
        `given` is the standard input of the script."""
        command = [
            *("ssh", "-F", "none", "-i", str(self.identity), "-p", str(self.port)),
            *("-o", f"UserKnownHostsFile={self.known_hosts}", "-o", "StrictHostKeyChecking=yes"),
            *("-o", "IdentitiesOnly=yes", "-o", "BatchMode=yes", "-o", "ConnectTimeout=30"),
            # an emulated CPU takes seconds for a login: one connection for all of an account, gone with the guest
            *("-o", "ControlMaster=auto", "-o", f"ControlPath={self.folder}/%r", "-o", "ControlPersist=yes"),
            *(f"{user}@127.0.0.1", script),
        ]
        for _ in range(_LOGINS):
            done = subprocess.run(command, input=given, capture_output=True, timeout=400, check=False)
            if done.returncode != _NO_LOGIN:
                break
            time.sleep(2)
        assert done.returncode == 0, f"{script}: {done.stderr.decode()}"
        return done.stdout.decode()

    def blank(self, *drives: Drive) -> None:
        """Fill drives with zeros, because tests leave data on them."""
        for drive in drives:
            self.sh(f"dd if=/dev/zero of={drive.disk()} bs=1M count={drive.mib} conv=fsync 2>/dev/null")


def hosts(*guests: Guest, **changes: object) -> str:
    """Return the `hosts:` section of a plan, with the names of the machines."""
    return f"hosts: {json.dumps({guest.machine.name: guest.host(**changes) for guest in guests})}\n"
