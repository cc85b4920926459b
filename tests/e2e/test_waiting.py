"""`apply --wait` waits for a host that another run has locked."""

from __future__ import annotations

import subprocess
from pathlib import Path

from asct.errors import HostLocked
from asct.hosts.base import Host, SessionSpec
from asct.hosts.local import make
from asct.plan.model import HostSpec
from tests.awaiting import until
from tests.e2e.running import begin

PLAN = "plan: 1\nname: short\nbenchmarks: [noop]\n"


def locked(host: Host) -> bool:
    """Lock this machine, unless another test holds the lock."""
    try:
        host.open(SessionSpec("other", "run other of somebody"))
    except HostLocked:
        return False
    return True


def test_a_run_says_that_it_waits_and_measures_when_the_host_is_free(tmp_path: Path) -> None:
    (tmp_path / "plan.yaml").write_text(PLAN)
    holder = make(HostSpec("local", workdir=str(tmp_path / "work")), tmp_path)
    until(lambda: locked(holder))
    with begin(tmp_path, "--wait", "1h", stderr=subprocess.PIPE) as process:
        assert process.stderr is not None
        told = ""
        try:
            while "waiting up to 1h for that run to end" not in told:
                line = process.stderr.readline()
                assert line, told
                told += line
        finally:
            holder.close()
        rest = process.stderr.read()
    assert "the host is locked: run other of somebody" in told
    assert process.returncode == 0 and "noop: 1 measurement" in rest
