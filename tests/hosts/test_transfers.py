"""Copying files to and from a host over ssh when the connection breaks or the run is interrupted."""

from __future__ import annotations

from pathlib import Path

import pytest

from asct.errors import HostError
from asct.hosts import runner_session
from asct.hosts.base import Host, Process, Task
from tests.hosts.forced import force, with_programs
from tests.hosts.test_session import meanwhile, opened
from tests.sshd import Sshd

pytestmark = pytest.mark.ssh
SIZE = 12_345


def with_scripts(server: Sshd, fetching: str = ":", sending: str = ":") -> None:
    """Run `fetching` (sh) when a file named `large` is copied from the host, and `sending` when a file of SIZE bytes is
    copied to it. In the scripts, $shell is the process of the shell that copies files."""
    pid = server.folder / "account" / "shell"
    programs = {
        "cat": f'case "$*" in */large*) read -r shell <{pid}; {fetching} ;; esac; exec /bin/cat "$@"',
        "head": f'case "$*" in "-c {SIZE}") read -r shell <{pid}; {sending} ;; esac; exec /usr/bin/head "$@"',
    }
    force(server, f"echo $$ >{pid}\n{with_programs(server.folder / 'programs', programs)}")


def writing(host: Host, into: Path, name: str) -> Task:
    return Task(Process(("sh", "-c", f"echo x >{name}"), f"{host.work}/{name}"), into, collect=(name,))


def test_a_file_that_breaks_every_connection_is_given_up(
    own_sshd: Sshd, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(runner_session, "BACKOFF_S", (0.0,))
    tries = own_sshd.folder / "account" / "tries"
    with_scripts(own_sshd, f'echo x >>{tries}; [ "$(wc -l <{tries})" -gt 9 ] || kill -s KILL "$shell"')
    host = opened(own_sshd)
    work = Path(host.work)
    with pytest.raises(HostError) as error:
        host.run(writing(host, tmp_path, "large"))
    assert tries.read_text().count("x") == runner_session.ATTEMPTS
    (told,) = error.value.diagnostics
    assert told.code == "E320" and "3 attempts failed" in told.message and "asct resume" in told.hint
    assert host.run(writing(host, tmp_path, "small")).fetched == ("stdout", "stderr", "small")
    host.close()
    assert not work.exists()


def test_an_interrupt_ends_a_transfer_and_leaves_nothing(own_sshd: Sshd, tmp_path: Path) -> None:
    begun, gate = own_sshd.folder / "account" / "begun", own_sshd.folder / "account" / "gate"
    gate.touch()
    with_scripts(own_sshd, f": >{begun}; while [ -e {gate} ]; do sleep 0.05; done")
    host = opened(own_sshd)
    work = Path(host.work)
    thread = meanwhile(begun.exists, host.interrupt)
    with pytest.raises(HostError, match="fetching results was stopped because the run was interrupted"):
        host.run(writing(host, tmp_path, "large"))
    thread.join()
    host.close()
    gate.unlink()
    assert not work.exists() and not (tmp_path / "large").exists()


def test_sending_a_file_that_breaks_every_connection_is_given_up(
    own_sshd: Sshd, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(runner_session, "BACKOFF_S", (0.0,))
    gate, tries = own_sshd.folder / "account" / "gate", own_sshd.folder / "account" / "tries"
    with_scripts(own_sshd, sending=f'[ ! -e {gate} ] || {{ echo x >>{tries}; kill -s KILL "$shell"; }}')
    (tmp_path / "file").write_bytes(bytes(SIZE))
    host = opened(own_sshd)
    work = Path(host.work)
    gate.touch()
    with pytest.raises(HostError) as error:
        host.put(tmp_path / "file", f"{work}/file")
    assert tries.read_text().count("x") == runner_session.ATTEMPTS
    gate.unlink()
    (told,) = error.value.diagnostics
    assert told.code == "E320" and "3 attempts failed" in told.message
    host.put(tmp_path / "file", f"{work}/file")
    assert (work / "file").read_bytes() == bytes(SIZE)
    host.close()
    assert not work.exists()


def test_an_interrupt_ends_sending_a_file_and_leaves_nothing(own_sshd: Sshd, tmp_path: Path) -> None:
    begun, gate = own_sshd.folder / "account" / "begun", own_sshd.folder / "account" / "gate"
    with_scripts(own_sshd, sending=f"while [ -e {gate} ]; do : >{begun}; sleep 0.05; done")
    (tmp_path / "file").write_bytes(bytes(SIZE))
    host = opened(own_sshd)
    work = Path(host.work)
    gate.touch()
    thread = meanwhile(begun.exists, host.interrupt)
    with pytest.raises(HostError, match=r"sending .*/file was stopped because the run was interrupted"):
        host.put(tmp_path / "file", f"{work}/file")
    thread.join()
    host.close()
    gate.unlink()
    assert not work.exists()
