"""Programs get the default dispositions of SIGHUP, SIGINT and SIGQUIT even if asct or the server ignores these."""

from __future__ import annotations

import signal
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from asct.hosts.base import Process, SessionSpec
from asct.hosts.factory import make_host
from tests.hosts.conftest import Bench, spec_of
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


@pytest.fixture(params=["local", pytest.param("ssh", marks=pytest.mark.ssh)])
def started_so(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Bench]:
    """Provide an open host. asct and the ssh server were started with the signals ignored."""
    with ignored():
        if request.param == "ssh":
            server: Sshd = request.getfixturevalue("own_sshd")
            server.stop()
            server.start(["sh", "-c", 'exec "$@"', "sh"])
            spec = server.spec()
        else:
            spec = spec_of("local", request, tmp_path)
        host = make_host(spec)
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
