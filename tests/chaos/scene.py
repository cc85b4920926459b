"""Where a trial takes place: a host with a network and a small disk of its own, results on another small disk."""

from __future__ import annotations

import json
import random
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from tests.e2e.running import environment
from tests.netns import Net, NetHost, network

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
    config: {duration: 200ms, filesize: 1M, numjobs: 1, direct: false, file_names: /var/tmp/data}
    sweep: {iodepth: [1, 2]}
"""
"""Jobs of which the host has all tasks beforehand, one whose tasks come one by one, one with a target to look at."""
DISK = "32m"
COLD = 0.3
"""How many runs find no kernels on the host."""
PATIENCE_S = 12
HANG_S = 180.0
"""No part of a run takes so long, whatever is done to it."""
EVENTS = 86
"""Lines of the journal of a run that nothing happens to."""


class Missed(Exception):
    """A fault found nothing to hurt: the run was not that far yet, or over."""


@dataclass(frozen=True)
class Disk:
    """A file system of a few megabytes."""

    folder: Path

    def mount(self) -> None:
        """At an empty folder, for every account."""
        self.folder.mkdir(parents=True, exist_ok=True)
        subprocess.run(["mount", "-t", "tmpfs", "-o", f"size={DISK},mode=1777", "tmpfs", self.folder], check=True)

    def unmount(self) -> None:
        """Also while something still runs on it; it goes with the campaign's own mounts at the latest."""
        subprocess.run(["umount", "--lazy", self.folder], check=False)

    @property
    def filler(self) -> Path:
        return self.folder / ".filler"

    def fill(self) -> None:
        """To the last byte."""
        with self.filler.open("wb", buffering=0) as out:
            size = 1 << 20
            while size:
                try:
                    out.write(b"\0" * size)
                except OSError:
                    size //= 2

    def free(self) -> None:
        """Give the room back."""
        self.filler.unlink(missing_ok=True)


@dataclass
class Part:
    """A process of asct that applies or resumes, and how it ended."""

    process: subprocess.Popen[str]
    err: Path
    hung: bool = False

    def end(self) -> int:
        """Its exit code; one that hangs is ended by SIGABRT."""
        try:
            return self.process.wait(HANG_S)
        except subprocess.TimeoutExpired:
            self.hung = True
            self.process.send_signal(signal.SIGABRT)
            return self.process.wait()

    @property
    def running(self) -> bool:
        return self.process.poll() is None

    @property
    def said(self) -> str:
        return self.err.read_text(errors="replace")


@dataclass
class Scene:
    """One worker's host and folder. `rng` is the trial's own."""

    net: Net
    host: NetHost
    folder: Path
    rng: random.Random = field(default_factory=random.Random)
    parts: list[Part] = field(default_factory=list)

    @property
    def there(self) -> Disk:
        """The host's disk for work, its /var/tmp."""
        return Disk(self.host.var_tmp)

    @property
    def here(self) -> Disk:
        """The disk of the results."""
        return Disk(self.folder / "disk")

    @property
    def run(self) -> Path | None:
        """The folder of the run once it can be resumed."""
        found = list(self.here.folder.glob("results/chaos/2*/run.json"))
        return found[0].parent if found else None

    @property
    def part(self) -> Part:
        """The latest process of asct."""
        return self.parts[-1]

    def clear(self, rng: random.Random) -> None:
        """Everything as at the begin."""
        self.rng = rng
        self.parts = []
        shutil.rmtree(self.here.folder / "results", ignore_errors=True)
        if rng.random() < COLD:
            shutil.rmtree(self.host.server.folder / "home" / ".cache", ignore_errors=True)
        (self.there.folder / "data").write_bytes(b"asct" * (1 << 18))
        entries = self.net.entries()
        entries["defaults"]["reconnect_timeout"] = f"{PATIENCE_S}s"
        (self.folder / "plan.yaml").write_text(f"{PLAN}hosts: {json.dumps(entries)}\n")

    def start(self, command: str) -> Part:
        """`apply` or `resume`; returns once there is a run that can be resumed."""
        err = self.folder / f"err-{len(self.parts)}"
        arguments = [str(self.folder / "plan.yaml")] if command == "apply" else []
        with err.open("w") as out:
            process = subprocess.Popen(
                ["setpriv", "--pdeathsig", "KILL", *self.net.prefix, sys.executable, "-m", "asct", command, *arguments],
                cwd=self.here.folder, env=environment({"PYTHONFAULTHANDLER": "1"}), text=True,
                stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=out,
            )  # fmt: skip
        part = Part(process, err)
        self.parts.append(part)
        if command == "apply":
            until(lambda: self.run is not None or not part.running, HANG_S)
        return part

    def events(self) -> int:
        """How many lines the journal of the run has."""
        return (self.run / "journal.jsonl").read_bytes().count(b"\n") if self.run else 0

    def advance(self, part: Part) -> None:
        """Let it come to some random place of its way: by events, so that a slow machine changes nothing."""
        begun = self.events()
        target = begun + self.rng.randrange(max(4, EVENTS - begun))
        until(lambda: self.events() >= target or not part.running, HANG_S)
        self.pause(0, 0.4)

    def pause(self, least: float, most: float) -> None:
        """Some time between two bounds, in seconds."""
        time.sleep(self.rng.uniform(least, most))

    def session(self, script: str) -> None:
        """Run a script in the folder of the session on the host. Raises Missed when there is none, or it fails."""
        text = f"cd /var/tmp/asct/run-* 2>/dev/null && {{ {script}; }} && echo hit || :"
        if "hit" not in self.host.space.sh(text):
            raise Missed

    def renew(self) -> None:
        """Nothing on the host is left to the next trial."""
        self.host.power_off()
        for path in (self.there.folder / "asct", *self.there.folder.glob("asct.lock*")):
            shutil.rmtree(path) if path.is_dir() else path.unlink(missing_ok=True)
        self.host.boot()

    def close(self) -> None:
        """Whatever asct still runs ends."""
        for part in self.parts:
            if part.running:
                part.process.kill()
                part.process.wait()


def until(true: Callable[[], bool], seconds: float) -> bool:
    """Wait for something; False when it did not come in time."""
    deadline = time.monotonic() + seconds
    while not true():
        if time.monotonic() > deadline:
            return False
        time.sleep(0.02)
    return True


@contextmanager
def scene(folder: Path) -> Iterator[Scene]:
    """A host that is up; nothing of it is left afterwards."""
    folder.mkdir()
    with network(1) as net:
        (host,) = net.hosts.values()
        made = Scene(net, host, folder)
        made.here.mount()
        host.power_off()
        made.there.mount()
        try:
            host.boot()
            yield made
        finally:
            made.close()
            host.power_off()
            made.there.unmount()
            made.here.unmount()
