"""Fixtures: an open host for each transport, with a folder for fetched files."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import paramiko
import pytest

from asct.hosts.base import Host, Process, ReadingSpec, SessionSpec, Task, TaskResult
from asct.hosts.factory import make_host
from asct.plan.model import HostSpec
from tests.slurm import Slurm
from tests.sshd import Sshd

FILES = "/proc/uptime /proc/nothing /proc/sys/kernel/ostype"
READING = ReadingSpec(f"printf '%s\\n' {FILES}", "^([0-9.]+ [0-9.]+|[A-Za-z]+$)")
SESSION = SessionSpec("tests", "the tests", reading=READING)
KINDS = ["local", pytest.param("ssh", marks=pytest.mark.ssh), pytest.param("slurm", marks=pytest.mark.slurm)]


class Bench:
    """An open host and a local folder; `run` makes and runs a task. `tmp` is the local path of the host's /var/tmp."""

    def __init__(self, host: Host, into: Path, tmp: str = "/var/tmp") -> None:
        self.host = host
        self.into = into
        self.tmp = tmp
        self._count = 0

    def folder(self) -> str:
        self._count += 1
        return f"{self.host.work}/t{self._count}"

    def seen(self, path: str) -> Path:
        """Return the local path of a file on the host."""
        return Path(path.replace("/var/tmp/", f"{self.tmp}/", 1))

    def run(self, *argv: str, **fields: object) -> TaskResult:
        on_line = fields.pop("on_line", None)
        process = {key: fields.pop(key) for key in ("cwd", "env", "stdout_file", "stderr_file") if key in fields}
        process.setdefault("cwd", self.folder())
        task = Task(Process(argv, **process), self.into, **fields)  # type: ignore[arg-type]
        return self.host.run(task, on_line)  # type: ignore[arg-type]

    def text(self, name: str = "stdout") -> str:
        return (self.into / name).read_bytes().decode("utf-8", "surrogateescape")


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Provide a home folder without keys, an agent or an ssh configuration."""
    folder = tmp_path / "home"
    (folder / ".ssh").mkdir(parents=True)
    monkeypatch.setenv("HOME", str(folder))
    monkeypatch.delenv("SSH_AUTH_SOCK", raising=False)
    return folder


@pytest.fixture
def opened(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Provide the kinds of all ssh channels that the test opens."""
    kinds: list[str] = []
    real = paramiko.Transport.open_channel

    def counted(self: paramiko.Transport, kind: str, *rest: Any, **more: Any) -> paramiko.Channel:
        kinds.append(kind)
        return real(self, kind, *rest, **more)

    monkeypatch.setattr(paramiko.Transport, "open_channel", counted)
    return kinds


def spec_of(kind: str, request: pytest.FixtureRequest, folder: Path) -> HostSpec:
    """Return the host as a plan describes it."""
    if kind == "ssh":
        server: Sshd = request.getfixturevalue("sshd")
        return server.spec()
    return HostSpec("here", "local", workdir=str(folder / "work"))


@pytest.fixture(params=KINDS)
def bench(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Bench]:
    """Tests with this fixture run once per transport. Slurm tests share a host, because jobs take seconds to start."""
    if request.param == "slurm":
        host, cluster = request.getfixturevalue("slurm_host"), request.getfixturevalue("slurm_cluster")
        if not host.work:  # a test has closed it
            host.open(SESSION)
        yield Bench(host, tmp_path / "into", str(cluster.folder / "tmp.n1"))
        return
    host = make_host(spec_of(request.param, request, tmp_path))
    host.open(SESSION)
    try:
        yield Bench(host, tmp_path / "into")
    finally:
        host.close()


@pytest.fixture(scope="module")
def slurm_host(slurm_cluster: Slurm) -> Iterator[Host]:
    """Provide a node that the tests of a file share."""
    with pytest.MonkeyPatch.context() as patch:
        for name, value in slurm_cluster.environment.items():
            patch.setenv(name, value)
        host = make_host(HostSpec("node", "slurm", options={"nodelist": "n1"}))
        try:
            yield host
        finally:
            host.close()
