"""The environment of a trial: a host with its own small disk, and results on another small disk.

Over ssh, the host has its own network. With `local`, asct runs on the same host, in its namespaces. With Slurm, the
host is a node of a cluster on loopback.
"""

from __future__ import annotations

import json
import os
import random
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tests import slurm
from tests.e2e.running import environment
from tests.fleet import private_var_tmp
from tests.netns import Net, NetHost, network
from tests.sshd import ACCOUNT

PLAN = """\
plan: 1
name: chaos
report: {formats: [markdown]}
benchmarks:
  - {id: quick, uses: noop, repeats: 2, sweep: {index: {from: 1, to: 12, step: 1}}}
  - id: steady
    uses: idle-latency
    config: {duration: 150ms, target_interval: 0.001}
    sweep: {data_size: [4K, 8K, 16K, 32K, 64K, 128K]}
  - {id: steps, uses: latency-sweep, config: {max_size: 64K, points_per_octave: 1}, sweep: {seed: [11, 12, 13]}}
  - id: disk
    uses: storage-fio
    config: {duration: 200ms, filesize: 1M, numjobs: 1, rate_iops: 1000, direct: false, file_names: /var/tmp/data}
    sweep: {iodepth: [1, 2]}
"""
"""The plan contains jobs whose tasks are all sent to the host in advance, a job whose tasks are sent one by one, and a
job with a target to check."""
DISK = "32m"
COLD = 0.3
"""Share of the runs that start without built kernels on the host."""
PATIENCE_S = 12
HANG_S = 180.0
"""Time in seconds after which a part of a run counts as hung, regardless of the fault."""
EVENTS = 86
"""Number of journal lines of a run without a fault."""
TIED = ("setpriv", "--pdeathsig", "KILL", "env", "--default-signal=HUP")
"""A command prefix: the program ends with the campaign, and does not ignore SIGHUP even if the campaign does."""


class Missed(Exception):
    """Raised if a fault finds nothing to disturb because the run has not yet reached that stage or is already over."""


@dataclass(frozen=True)
class Disk:
    """A file system of a few megabytes."""

    folder: Path

    def mount(self) -> None:
        """Mount the disk on an empty folder that every account can use."""
        self.folder.mkdir(parents=True, exist_ok=True)
        subprocess.run(["mount", "-t", "tmpfs", "-o", f"size={DISK},mode=1777", "tmpfs", self.folder], check=True)

    def unmount(self) -> None:
        """Unmount the disk, even if a process still uses it. It disappears with the campaign's mounts at the latest."""
        subprocess.run(["umount", "--lazy", self.folder], check=False)

    @property
    def filler(self) -> Path:
        return self.folder / ".filler"

    def fill(self) -> None:
        """Fill the disk to the last byte."""
        with self.filler.open("wb", buffering=0) as out:
            size = 1 << 20
            while size:
                try:
                    out.write(b"\0" * size)
                except OSError:
                    size //= 2

    def free(self) -> None:
        """Free the space again."""
        self.filler.unlink(missing_ok=True)


@dataclass
class Part:
    """An asct process that applies or resumes, and how it ended. If `nested` is set, it is the child of nsenter in a
    process namespace."""

    process: subprocess.Popen[str]
    err: Path
    events: Callable[[], int]
    nested: bool = False
    hung: bool = False

    def end(self) -> int:
        """Wait for the process to end, and return its exit code. A process that produces no event for `HANG_S` counts
        as hung and is ended with SIGABRT."""
        seen = -1
        while not self.hung:
            try:
                return self.process.wait(HANG_S)
            except subprocess.TimeoutExpired:
                before, seen = seen, self.events()
                self.hung = seen == before
        self.send(signal.SIGABRT)
        return self.process.wait()

    def send(self, number: signal.Signals) -> None:
        """Send a signal to the process. Raises Missed if it has ended."""
        pid = self.process.pid
        try:
            if self.nested:
                pid = int(Path(f"/proc/{pid}/task/{pid}/children").read_text().split()[0])
            os.kill(pid, number)
        except (OSError, IndexError):
            raise Missed from None
        if self.nested and number == signal.SIGCONT:
            self.process.send_signal(number)  # nsenter stops whenever its child stops

    @property
    def running(self) -> bool:
        return self.process.poll() is None

    @property
    def said(self) -> str:
        return self.err.read_text(errors="replace")


@dataclass
class Scene:
    """The host and the folder of one worker. `rng` belongs to the current trial."""

    folder: Path
    there: Disk
    """The host's work disk, mounted on its /var/tmp."""
    home: Path
    """The home folder of the account on the host."""
    rng: random.Random = field(default_factory=random.Random)
    parts: list[Part] = field(default_factory=list)
    transport = ""
    nested = False

    def prefix(self) -> list[str]:
        """Return the command prefix for asct."""
        return []

    def environment(self) -> dict[str, str]:
        """Return the environment variables for asct."""
        return environment({"PYTHONFAULTHANDLER": "1"})

    def hosts(self) -> dict[str, Any]:
        raise NotImplementedError

    def sh(self, script: str) -> str:
        """Return the output of a shell script that runs as root on the host."""
        raise NotImplementedError

    def running(self) -> list[str]:
        """Return the asct processes on the host as `PID ...`."""
        raise NotImplementedError

    @property
    def here(self) -> Disk:
        """The disk that holds the results."""
        return Disk(self.folder / "disk")

    @property
    def run(self) -> Path | None:
        """The folder of the run, or None until the run can be resumed."""
        found = list(self.here.folder.glob("results/chaos/2*/run.json"))
        return found[0].parent if found else None

    @property
    def part(self) -> Part:
        """The latest asct process."""
        return self.parts[-1]

    def clear(self, rng: random.Random) -> None:
        """Restore the initial state."""
        self.rng = rng
        self.parts = []
        shutil.rmtree(self.here.folder / "results", ignore_errors=True)
        if rng.random() < COLD:
            shutil.rmtree(self.home / ".cache", ignore_errors=True)
        (self.there.folder / "data").write_bytes(b"asct" * (1 << 18))
        (self.folder / "plan.yaml").write_text(f"{PLAN}hosts: {json.dumps(self.hosts())}\n")

    def start(self, command: str) -> Part:
        """Start `apply` or `resume`, and return as soon as there is a run that can be resumed."""
        err = self.folder / f"err-{len(self.parts)}"
        arguments = [str(self.folder / "plan.yaml")] if command == "apply" else []
        with err.open("w") as out:
            process = subprocess.Popen(
                [*TIED, *self.prefix(), sys.executable, "-m", "asct", command, *arguments],
                cwd=self.here.folder, env=self.environment(), text=True,
                stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=out,
            )  # fmt: skip
        part = Part(process, err, self.events, self.nested)
        self.parts.append(part)
        if command == "apply":
            until(lambda: self.run is not None or not part.running, HANG_S)
        return part

    def events(self) -> int:
        """Return the number of lines in the run's journal."""
        return (self.run / "journal.jsonl").read_bytes().count(b"\n") if self.run else 0

    def advance(self, part: Part) -> None:
        """Let the process advance to a random point. Progress is measured in events, so that a slow machine makes no
        difference."""
        begun = self.events()
        target = begun + self.rng.randrange(max(4, EVENTS - begun))
        until(lambda: self.events() >= target or not part.running, HANG_S)
        self.pause(0, 0.4)

    def pause(self, least: float, most: float) -> None:
        """Wait for a random time between two bounds, in seconds."""
        time.sleep(self.rng.uniform(least, most))

    def session(self, script: str) -> None:
        """Run a script in the folder of the session on the host. Raises Missed if there is no session or the script
        fails."""
        text = f"cd /var/tmp/asct/run-* 2>/dev/null && {{ {script}; }} && echo hit || :"
        if "hit" not in self.sh(text):
            raise Missed

    def kill_all(self) -> None:
        """Kill all asct processes on the host. Raises Missed if there are none."""
        found = " ".join(line.split()[0] for line in self.running())
        if not found or "hit" not in self.sh(f"kill -s KILL {found} && echo hit || :"):
            raise Missed

    def renew(self) -> None:
        """Remove everything on the host that could affect the next trial."""
        for path in (self.there.folder / "asct", *self.there.folder.glob("asct.lock*")):
            shutil.rmtree(path) if path.is_dir() else path.unlink(missing_ok=True)

    def close(self) -> None:
        """End all asct processes that are still running."""
        for part in self.parts:
            if part.running:
                with suppress(Missed):
                    part.send(signal.SIGKILL)
                part.process.kill()
                part.process.wait()


@dataclass(kw_only=True)
class SshScene(Scene):
    """A host in its own namespaces that asct reaches over ssh."""

    net: Net
    host: NetHost
    transport = "ssh"

    def prefix(self) -> list[str]:
        return self.net.prefix

    def hosts(self) -> dict[str, Any]:
        entries = self.net.entries()
        entries["defaults"]["reconnect_timeout"] = f"{PATIENCE_S}s"
        return entries

    def sh(self, script: str) -> str:
        return self.host.space.sh(script)

    def running(self) -> list[str]:
        return self.host.running()

    def renew(self) -> None:
        self.host.power_off()
        super().renew()
        self.host.boot()


@dataclass(kw_only=True)
class LocalScene(SshScene):
    """The same host, but asct itself also runs on it, as root."""

    transport = "local"
    nested = True

    def prefix(self) -> list[str]:
        enter = 'cd "$0" && exec "$@"'  # nsenter changes to the root folder
        return [*self.host.space.prefix, "sh", "-c", enter, str(self.here.folder)]

    def environment(self) -> dict[str, str]:
        return super().environment() | {"HOME": f"/home/{ACCOUNT}"}

    def hosts(self) -> dict[str, Any]:
        return {"here": {"transport": "local"}}

    def running(self) -> list[str]:
        rows = [line.split(maxsplit=1) for line in self.sh("ps -e -o pid=,args=").splitlines()]
        own = ("sleep infinity", "sh -c set -e", "ps -e", "sh -c ps -e", "sshd")
        return [" ".join(row) for row in rows if row[0].isdigit() and row[0] != "1" and not _is_of(row[1:], own)]


def _is_of(text: list[str], starts: tuple[str, ...]) -> bool:
    return not text or text[0].startswith(starts) or "/sshd" in text[0]


@dataclass(kw_only=True)
class SlurmScene(Scene):
    """A node of a Slurm cluster."""

    cluster: slurm.Slurm
    transport = "slurm"

    def environment(self) -> dict[str, str]:
        more = {"HOME": str(self.home), "XDG_STATE_HOME": str(self.folder / "state")}
        return super().environment() | dict(self.cluster.environment) | more

    def hosts(self) -> dict[str, Any]:
        return {"node": {"transport": "slurm", "nodelist": slurm.NODES[0]}}

    def sh(self, script: str) -> str:
        command = [*private_var_tmp(self.there.folder), "sh", "-c", script]
        return subprocess.run(command, capture_output=True, text=True, check=True).stdout

    def running(self) -> list[str]:
        """Return the asct processes, including Slurm jobs. The processes of a job are identified by a variable that the
        batch script sets."""
        found = self.cluster.waiting()
        script = "grep -lsz '^ASCT_JOB=' /proc/[0-9]*/environ | cut -d/ -f3 || :"
        mine = [pid for pid in self.sh(script).split() if self._is_mine(pid)]
        return [f"{pid} of a job" for pid in mine] or [f"job {' '.join(row)}" for row in found]

    def _is_mine(self, pid: str) -> bool:
        """Return whether a process sees the disk of this node. Other clusters on this machine have other nodes."""
        with suppress(OSError):
            return Path(f"/proc/{pid}/root/var/tmp").stat().st_dev == self.there.folder.stat().st_dev
        return False

    def kill_all(self) -> None:
        if any(line.startswith("job ") for line in self.running()):
            raise Missed
        super().kill_all()

    def renew(self) -> None:
        self.cluster.clear()
        super().renew()


def until(true: Callable[[], bool], seconds: float) -> bool:
    """Wait for a condition. Return False if it is not met in time."""
    deadline = time.monotonic() + seconds
    while not true():
        if time.monotonic() > deadline:
            return False
        time.sleep(0.02)
    return True


@contextmanager
def scene(folder: Path, transport: str) -> Iterator[Scene]:
    """Provide a running host, and remove all traces of it afterward."""
    folder.mkdir()
    Disk(folder / "disk").mount()
    try:
        with _on_slurm(folder) if transport == "slurm" else _in_namespaces(folder, transport) as made:
            try:
                yield made
            finally:
                made.close()
    finally:
        Disk(folder / "disk").unmount()


@contextmanager
def _in_namespaces(folder: Path, transport: str) -> Iterator[Scene]:
    kind = LocalScene if transport == "local" else SshScene
    with network(1, compilers=transport == "local") as net:
        (host,) = net.hosts.values()
        host.power_off()
        there = Disk(host.var_tmp)
        there.mount()
        try:
            host.boot()
            yield kind(folder, there, host.server.folder / "home", net=net, host=host)
        finally:
            host.power_off()
            there.unmount()


@contextmanager
def _on_slurm(folder: Path) -> Iterator[Scene]:
    with slurm.serve() as cluster:
        node = slurm.NODES[0]
        there = Disk(cluster.folder / f"tmp.{node}")
        cluster.stop(node)
        there.mount()
        try:
            cluster.start_node(node)
            cluster.await_idle()
            yield SlurmScene(folder, there, folder / "home", cluster=cluster)
        finally:
            cluster.clear()
            cluster.stop(node)
            there.unmount()
