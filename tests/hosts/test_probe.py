"""`probe`: one connection, one exchange, and nothing left on the host."""

from __future__ import annotations

import os
import threading
from pathlib import Path
from typing import Any

import pytest

from asct.errors import ConnectError, HostError, HostLost, HostTimeout
from asct.facts.reading import probe
from asct.hosts.factory import make_host
from asct.plan.model import HostSpec
from tests.awaiting import PATIENCE_S, until
from tests.hosts.conftest import KINDS, spec_of
from tests.sshd import Sshd


@pytest.mark.parametrize("kind", KINDS[:2])
def test_a_script_gets_its_arguments_and_leaves_nothing(
    kind: str, request: pytest.FixtureRequest, tmp_path: Path
) -> None:
    spec = spec_of(kind, request, tmp_path)
    work = Path(spec.workdir)
    before = set(work.glob("*"))  # earlier tests may have used the same account
    host = make_host(spec)
    answer = host.probe('printf "%s|" "$#" "$@"; pwd >&2; exit 3', ["a b", "it's\ntwo lines", ""])
    assert (answer.status, answer.stdout) == (3, "3|a b|it's\ntwo lines||")
    assert set(work.glob("*")) <= before and not (tmp_path / "work").exists()
    assert host.probe("echo again", []).stdout == "again\n"


@pytest.mark.slurm
def test_on_a_node_of_slurm(slurm_host: Any) -> None:
    slurm_host.close()
    assert slurm_host.probe("echo $1", ["there"]).stdout == "there\n"
    assert not slurm_host.work


@pytest.mark.parametrize("kind", KINDS[:2])
def test_bounds(kind: str, request: pytest.FixtureRequest, tmp_path: Path) -> None:
    host = make_host(spec_of(kind, request, tmp_path))
    nap = f"60.125{len(kind)}"  # both may run at the same time
    with pytest.raises(HostTimeout):
        host.probe(f"sleep {nap} & exec sleep {nap}", [], timeout_s=0.5)
    listing = "cat /proc/[0-9]*/cmdline 2>/dev/null"
    until(lambda: nap not in host.probe(listing, []).stdout, "what it started still runs")
    with pytest.raises(HostError, match="more than"):
        host.probe("yes", [])


@pytest.mark.parametrize("kind", KINDS[:2])
def test_interrupted_from_another_thread(kind: str, request: pytest.FixtureRequest, tmp_path: Path) -> None:
    host = make_host(spec_of(kind, request, tmp_path))
    again = threading.Event()

    def interrupt() -> None:
        while not again.wait(0.2):
            host.interrupt()

    thread = threading.Thread(target=interrupt)
    thread.start()
    try:
        with pytest.raises(HostLost, match="was interrupted"):
            host.probe(f"sleep {2 * PATIENCE_S}", [], timeout_s=PATIENCE_S)
    finally:
        again.set()
        thread.join()


@pytest.mark.ssh
def test_the_facts_take_one_connection_and_one_exchange(sshd: Sshd, opened: list[str]) -> None:
    before = sshd.log.read_text().count("Accepted publickey")
    spec = sshd.spec()
    there = set(Path(spec.workdir).iterdir()) if Path(spec.workdir).exists() else set()
    found = probe(make_host(spec), spec.workdir)
    assert found.command_output("id") and found.text("/proc/cpuinfo")
    assert opened == ["session"]
    assert sshd.log.read_text().count("Accepted publickey") == before + 1
    assert (set(Path(spec.workdir).iterdir()) if Path(spec.workdir).exists() else set()) == there


@pytest.mark.ssh
def test_a_shell_that_says_something_else(sshd: Sshd) -> None:
    """The account's key permits only one program."""
    keys = sshd.folder / "authorized_keys"
    before = keys.read_text()
    keys.write_text(f'command="echo only backups" {before}')
    try:
        with pytest.raises(HostError, match="only backups") as error:
            probe(make_host(sshd.spec()), "/var/tmp/asct")
    finally:
        keys.write_text(before)
    assert error.value.diagnostics[0].code == "E327"


@pytest.mark.ssh
def test_nobody_there(sshd: Sshd) -> None:
    with pytest.raises(ConnectError):
        probe(make_host(sshd.spec(port=1)), "/var/tmp/asct")


def test_a_work_folder_that_is_not_there_yet(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The free space is that of the parent folder. Tool versions are stored in the account's cache if it can be
    created."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "c"))
    host = make_host(HostSpec("here", "local"))
    found = probe(host, str(tmp_path / "not" / "there"))
    assert found.command_output("df")
    assert [path.name.startswith("facts-") for path in (tmp_path / "c" / "asct").iterdir()] == [True]
    assert (tmp_path / "c" / "asct").stat().st_mode & 0o777 == 0o700
    assert not (tmp_path / "not").exists()
    for name in set(os.environ) - {"PATH"}:
        monkeypatch.delenv(name)
    monkeypatch.setenv("XDG_CACHE_HOME", "/proc/none")
    assert probe(host, "relative").command_output("df")
