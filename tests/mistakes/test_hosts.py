"""Typical mistakes about hosts, with a real ssh server on loopback."""

from __future__ import annotations

import os
import shlex
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path

import pytest

from tests.awaiting import PATIENCE_S, until
from tests.e2e.running import asct, begin
from tests.mistakes.cases import corpus, judge
from tests.sshd import Sshd

pytestmark = [pytest.mark.e2e, pytest.mark.ssh, pytest.mark.kernels, pytest.mark.fio]
_OWN_MOUNTS = ["unshare", "--mount"] if os.geteuid() == 0 else ["unshare", "--map-root-user", "--mount"]


@pytest.mark.parametrize("name", corpus("hosts"))
def test_the_message_leads_from_the_mistake_to_a_fix_that_works(
    own_sshd: Sshd, tmp_path: Path, tmp_path_factory: pytest.TempPathFactory, name: str
) -> None:
    server = own_sshd
    places = {"port": str(server.port), "user": server.user, "folder": str(server.folder), "here": str(tmp_path)}
    case = corpus("hosts", **places)[name]
    (server.folder / "small").mkdir()
    case.prepare(tmp_path)
    subprocess.run(case.shell, shell=True, check=True, cwd=tmp_path)
    if case.server:
        server.stop()
        server.start([*_OWN_MOUNTS, *shlex.split(case.server)])

    def mend() -> None:
        if case.server and not case.swap:
            server.stop()
            server.start()

    with _held(case.holder, tmp_path_factory.mktemp("elsewhere")):
        judge(case, partial(asct, cwd=tmp_path, env={"COLUMNS": "80"}), tmp_path, mend)


@contextmanager
def _held(plan: str, folder: Path) -> Iterator[None]:
    """Run `plan`, if there is one, from another folder. When the context is entered, the run already holds the host."""
    if not plan:
        yield
        return
    (folder / "plan.yaml").write_text(plan)
    other = begin(folder)
    try:
        until(lambda: _measuring(folder) or other.poll() is not None)
        assert other.poll() is None
        yield
        assert other.wait(PATIENCE_S) == 0
    finally:
        other.terminate()
        other.wait(PATIENCE_S)


def _measuring(folder: Path) -> bool:
    """Return whether a run below `folder` has started to measure."""
    journals = folder.glob("results/holder/*/journal.jsonl")
    return any('"t":"job-started"' in journal.read_text() for journal in journals)
