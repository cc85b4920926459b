"""Programs get the default dispositions of SIGHUP, SIGINT and SIGQUIT even if asct or the daemon on the host ignores
these."""

from __future__ import annotations

import signal
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from asct.hosts.base import Process, SessionSpec
from asct.hosts.factory import make_host
from asct.plan.model import HostSpec
from tests.hosts.conftest import KINDS, Bench, spec_of
from tests.slurm import NODES, Slurm
from tests.sshd import Sshd

NUMBERS = (signal.SIGHUP, signal.SIGINT, signal.SIGQUIT)
TELL = "grep SigIgn: /proc/self/status"


@contextmanager
def ignored() -> Iterator[None]:
    """Ignore the signals, as under nohup and in the background of a script."""
    before = {number: signal.signal(number, signal.SIG_IGN) for number in NUMBERS}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def restart(cluster: Slurm, node: str) -> None:
    """Restart a node of the cluster, with the dispositions of this process."""
    cluster.stop(node)
    cluster.start_node(node)
    cluster.await_idle()


def restarted(request: pytest.FixtureRequest, folder: Path) -> HostSpec:
    """Return a host whose daemon, which starts the programs of sessions, was restarted with the dispositions of this
    process."""
    if request.param == "ssh":
        server: Sshd = request.getfixturevalue("own_sshd")
        server.stop()
        server.start(["sh", "-c", 'exec "$@"', "sh"])
        return server.spec()
    if request.param == "slurm":
        cluster, node = request.getfixturevalue("slurm"), NODES[0]
        request.addfinalizer(lambda: restart(cluster, node))  # other tests use this node
        restart(cluster, node)
        return HostSpec("node", "slurm", options={"nodelist": node})
    return spec_of("local", request, folder)


@pytest.fixture(params=KINDS)
def started_so(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Bench]:
    """Provide an open host. asct and the daemon of the host were started with the signals ignored."""
    with ignored():
        host = make_host(restarted(request, tmp_path))
        host.open(SessionSpec("tests", "the tests"))
        try:
            yield Bench(host, tmp_path / "into")
        finally:
            host.close()


def names(text: str) -> set[str]:
    """Return the signals of `NUMBERS` that a line of /proc/PID/status contains."""
    mask = int(text.split()[-1], 16)
    return {number.name for number in NUMBERS if mask >> (number - 1) & 1}


def test_what_a_task_starts(started_so: Bench) -> None:
    folder = started_so.folder()
    companion = Process(("sh", "-c", TELL), folder, stdout_file="beside")
    wait = f"{TELL}; until [ -s beside ]; do sleep 0.02; done"
    assert started_so.run("sh", "-c", wait, cwd=folder, companions=(companion,)).status == 0
    assert (names(started_so.text()), names(started_so.text("beside"))) == (set(), set())


def test_what_a_short_command_starts(started_so: Bench) -> None:
    assert names(started_so.host.execute(["sh", "-c", TELL]).stdout) == set()
