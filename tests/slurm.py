"""A real Slurm cluster on loopback: munged, slurmctld and two slurmd processes, which are children of the tests and are
ended by pid.

The nodes n1 and n2 are both this machine. Each has its own /var/tmp, so that asct treats them as two hosts whose work
folders are not visible from here; `Slurm.left` lists their files.
"""

from __future__ import annotations

import getpass
import os
import shutil
import socket
import subprocess
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from tests.awaiting import PATIENCE_S, until
from tests.fleet import private_var_tmp
from tests.sshd import free_port

NODES = ("n1", "n2")
CONFIG = """\
ClusterName=asct
SlurmctldHost={machine}(127.0.0.1)
SlurmUser={user}
SlurmdUser={user}
SlurmctldPort={port}
AuthType=auth/munge
AuthInfo=socket={folder}/munge/socket
CredType=cred/munge
SlurmctldPidFile={folder}/slurmctld.pid
SlurmdPidFile={folder}/slurmd.%n.pid
SlurmdSpoolDir={folder}/spool.%n
StateSaveLocation={folder}/state
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
JobAcctGatherType=jobacct_gather/none
AccountingStorageType=accounting_storage/none
SelectType=select/cons_tres
SelectTypeParameters=CR_Core
SchedulerType=sched/backfill
SchedulerParameters=batch_sched_delay=0,sched_interval=2,bf_interval=2
SlurmctldParameters=config_overrides
MpiDefault=none
SwitchType=switch/none
ReturnToService=2
KillWait=5
MinJobAge=300
OverTimeLimit=0
{nodes}
PartitionName=main Nodes=n1,n2 Default=YES MaxTime=8:00:00 State=UP
PartitionName=short Nodes=n1,n2 MaxTime=1 State=UP
"""
NODE = "NodeName={name} NodeHostname={machine} NodeAddr=127.0.0.1 Port={port} CPUs=2 RealMemory=2000 Feature={name}x"


@dataclass
class Slurm:
    """A running cluster. `environment` contains the variables that the Slurm commands need to find it."""

    folder: Path
    processes: dict[str, subprocess.Popen[bytes]] = field(default_factory=dict)

    @property
    def config(self) -> Path:
        return self.folder / "slurm.conf"

    @property
    def environment(self) -> Mapping[str, str]:
        return {"SLURM_CONF": str(self.config)}

    def command(self, *argv: str) -> str:
        """Return the output of a Slurm command. Raises CalledProcessError if it fails."""
        done = subprocess.run(
            argv, check=True, env={**os.environ, **self.environment}, capture_output=True, text=True, timeout=PATIENCE_S
        )
        return done.stdout

    def jobs(self, *states: str) -> list[list[str]]:
        """Return rows of `id, name, state, node, dependency` for the jobs in the queue, in the given states or in any
        state."""
        wanted = f"--states={','.join(states) or 'all'}"
        rows = self.command("squeue", "--noheader", wanted, "--format=%A|%j|%T|%N|%E").splitlines()
        return sorted((row.split("|") for row in rows), key=lambda row: int(row[0]))

    def waiting(self) -> list[list[str]]:
        """Return the jobs that have not ended."""
        return self.jobs("PENDING", "RUNNING", "COMPLETING", "SUSPENDED", "CONFIGURING")

    def left(self) -> list[str]:
        """Return the files in the work folders of the nodes."""
        return sorted(str(path) for path in self.folder.glob("tmp.*/asct/**/*") if path.is_file())

    def start(self, name: str, argv: Sequence[str]) -> None:
        """Start a daemon in the foreground, with its messages in `<name>.log`."""
        with (self.folder / f"{name}.log").open("ab") as log:
            self.processes[name] = subprocess.Popen(
                argv,
                env={**os.environ, **self.environment, "PATH": f"{os.environ['PATH']}:/usr/sbin:/sbin"},
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
            )

    def start_controller(self) -> None:
        """Start slurmctld. After a restart, it resumes the jobs that it knew."""
        self.start("slurmctld", ["slurmctld", "-D", "-f", str(self.config)])

    def start_node(self, name: str) -> None:
        argv = ["slurmd", "-D", "-f", str(self.config), "-N", name]
        self.start(name, [*private_var_tmp(self.folder / f"tmp.{name}"), *argv])

    def stop(self, name: str) -> None:
        """End one daemon. The processes of its jobs continue."""
        process = self.processes.pop(name, None)
        if process is not None:
            process.terminate()
            try:
                process.wait(20)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait(20)

    def await_idle(self) -> None:
        """Wait until both nodes accept jobs."""
        sinfo = ("sinfo", "--noheader", "--Node", "--partition=main", "--format=%T")
        try:
            until(lambda: self._asked(*sinfo) == ["idle"] * len(NODES))
        except AssertionError:
            logs = {path.name: path.read_text(errors="replace")[-1000:] for path in self.folder.glob("*.log")}
            raise RuntimeError(f"Slurm did not come up: {logs}") from None

    def await_answer(self) -> None:
        """Wait until the controller answers."""
        until(lambda: "is UP" in " ".join(self._asked("scontrol", "ping")), "slurmctld does not answer")

    def _asked(self, *argv: str) -> list[str]:
        try:
            return self.command(*argv).split()
        except subprocess.CalledProcessError:
            return []

    def await_empty(self) -> None:
        """Wait until no jobs are left."""
        until(lambda: not self.waiting(), "jobs are left")

    def clear(self) -> None:
        """End the jobs that a test left, and remove the files that they left on the nodes."""
        self.command("scancel", "--quiet", f"--user={getpass.getuser()}")
        self.await_empty()
        for folder in self.folder.glob("tmp.*/asct/run-*"):
            shutil.rmtree(folder, ignore_errors=True)


def _configure(folder: Path) -> None:
    machine, ports = socket.gethostname().partition(".")[0], [free_port() for _ in range(len(NODES) + 1)]
    nodes = [NODE.format(name=name, machine=machine, port=port) for name, port in zip(NODES, ports[1:], strict=True)]
    (folder / "slurm.conf").write_text(
        CONFIG.format(machine=machine, user=getpass.getuser(), port=ports[0], folder=folder, nodes="\n".join(nodes))
    )
    (folder / "state").mkdir()
    for name in NODES:
        (folder / f"spool.{name}").mkdir()
        (folder / f"tmp.{name}").mkdir()
        (folder / f"tmp.{name}").chmod(0o1777)


def _start_munge(cluster: Slurm) -> None:
    place = cluster.folder / "munge"
    place.mkdir()
    (place / "key").write_bytes(os.urandom(1024))
    (place / "key").chmod(0o400)
    files = [f"--{kind}-file={place / kind}" for kind in ("key", "pid", "log", "seed")]
    cluster.start("munged", ["munged", "--foreground", "--force", f"--socket={place / 'socket'}", *files])
    munged = cluster.processes["munged"]
    until(lambda: (place / "socket").exists() or munged.poll() is not None, "munged makes no socket")
    if munged.poll() is not None:
        raise RuntimeError(f"munged did not start: {(cluster.folder / 'munged.log').read_text()}")


@contextmanager
def serve() -> Iterator[Slurm]:
    """Provide a running cluster. The cluster, the processes of its jobs and its folder are removed afterward."""
    folder = Path(tempfile.mkdtemp(prefix="asct-slurm-"))
    folder.chmod(0o755)
    cluster = Slurm(folder)
    try:
        _configure(folder)
        _start_munge(cluster)
        cluster.start_controller()
        for name in NODES:
            cluster.start_node(name)
        cluster.await_idle()
        yield cluster
        cluster.clear()
    finally:
        for name in (*NODES, "slurmctld", "munged"):
            cluster.stop(name)
        shutil.rmtree(folder, ignore_errors=True)


@pytest.fixture(scope="session")
def slurm_cluster() -> Iterator[Slurm]:
    """Provide one cluster for all tests of this process."""
    with serve() as cluster:
        yield cluster


@pytest.fixture
def own_state(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Keep the state of jobs in the test's own folder."""
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    return tmp_path / "state"


@pytest.fixture
def slurm(slurm_cluster: Slurm, own_state: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Slurm]:
    """Provide the cluster in the environment of the programs that the test starts, without jobs from earlier tests."""
    for name, value in slurm_cluster.environment.items():
        monkeypatch.setenv(name, value)
    yield slurm_cluster
    slurm_cluster.clear()
