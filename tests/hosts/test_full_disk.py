"""A host whose disk is full: it is reported, and truncated files are not treated as complete."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from asct.errors import ConnectError, HostError
from asct.hosts.base import Process, SessionSpec, Task
from asct.hosts.factory import make_host
from asct.hosts.remote import RemoteHost
from tests.sshd import Sshd

pytestmark = pytest.mark.ssh
SESSION = SessionSpec("r1", "run r1 of the tests")
SIZE = 256 << 10


@pytest.fixture
def small(own_sshd: Sshd) -> Iterator[RemoteHost]:
    """Provide a host whose work folder is on a disk of 256 KiB that only the ssh server can see."""
    script = 'mount -t tmpfs -o "size=$1,mode=1777" tmpfs "$2" || exit 99; shift 2; exec "$@"'
    spaces = ["--mount"] if os.geteuid() == 0 else ["--map-root-user", "--mount"]
    own_sshd.stop()
    own_sshd.start(["unshare", *spaces, "sh", "-c", script, "sh", str(SIZE), str(own_sshd.folder / "account")])
    host = make_host(own_sshd.spec())
    assert isinstance(host, RemoteHost)
    try:
        yield host
    finally:
        host.close()


def saying(host: RemoteHost, into: Path, text: str) -> Task:
    return Task(Process(("cat", "text"), f"{host.work}/t"), into, {"text": text}, key="k")


def test_a_task_that_does_not_fit_is_refused_and_the_next_is_run(small: RemoteHost, tmp_path: Path) -> None:
    small.open(SESSION)
    with pytest.raises(HostError) as error:
        small.run(saying(small, tmp_path / "1", "x" * SIZE))
    assert error.value.diagnostics[0].code == "E326" and "No space left" in error.value.diagnostics[0].message
    assert small.run(saying(small, tmp_path / "2", "short")).status == 0
    assert (tmp_path / "2" / "stdout").read_text() == "short"
    assert small.execute(["ls", f"{small.work}/.queue"]).stdout == "1\n"


def test_a_file_that_does_not_fit_is_not_there(small: RemoteHost, tmp_path: Path) -> None:
    small.open(SESSION)
    (tmp_path / "large").write_bytes(b"x" * SIZE)
    with pytest.raises(HostError) as error:
        small.put(tmp_path / "large", f"{small.work}/large")
    assert f"`{small.work}/large`: writing failed: No space left on device" in error.value.diagnostics[0].message
    assert "large" not in small.execute(["ls", small.work]).stdout


def test_a_session_that_cannot_begin_leaves_no_folder(small: RemoteHost, tmp_path: Path) -> None:
    small.open(SESSION)
    base = str(Path(small.work).parent)
    filler = small.execute(["sh", "-c", f"cat /dev/zero >{base}/filler"])
    assert filler.status != 0
    with pytest.raises(ConnectError) as error:
        make_host(small._link._spec).open(SessionSpec("r1", SESSION.owner))
    assert error.value.diagnostics[0].code == "E322"
    assert len(small.execute(["sh", "-c", f"ls -d {base}/run-*"]).stdout.split()) == 1
