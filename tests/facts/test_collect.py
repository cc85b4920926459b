"""Facts of this machine, read locally and over ssh, compared with the output of its own tools."""

from __future__ import annotations

import os
import platform
import re
import shutil
import subprocess
from pathlib import Path

import pytest

from asct.facts.files_snapshot import load
from asct.facts.reading import collect, facts_of
from asct.hosts.factory import open_host
from asct.plan.model import HostSpec
from tests.facts.test_parsers import WHEN
from tests.hosts.conftest import KINDS, spec_of


@pytest.mark.parametrize("kind", KINDS)
def test_this_machine(kind: str, request: pytest.FixtureRequest, tmp_path: Path) -> None:
    host = open_host(spec_of(kind, request, tmp_path))
    try:
        facts = collect(host, tmp_path / "raw")
        assert host.execute(["ls", "-A", host.work]).stdout == ".runner\n"
    finally:
        host.close()
    assert facts.system.arch == platform.machine()
    assert facts.system.kernel == platform.release()
    assert facts.cpu.online == sorted(os.sched_getaffinity(0)) or len(facts.cpu.online) >= len(os.sched_getaffinity(0))
    assert facts.cpu.allowed
    assert facts.memory.total_bytes == os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    assert facts.memory.page_bytes == os.sysconf("SC_PAGE_SIZE")
    assert facts.work_free_bytes is not None
    assert (facts.system.uid == os.getuid()) == (kind != "ssh" or os.getuid() != 0)
    if lscpu := shutil.which("lscpu"):
        text = subprocess.run([lscpu], capture_output=True, text=True, check=True, env={"LC_ALL": "C"}).stdout
        found = re.search(r"^CPU\(s\):\s+(\d+)$", text, re.MULTILINE)
        assert found is not None
        assert facts.cpu.cpus == int(found[1])
        hypervisor = re.search(r"^Hypervisor vendor:\s+(\S+)$", text, re.MULTILINE)
        assert (hypervisor is not None) == (facts.system.virtualization not in (None, "none"))
    if fio := shutil.which("fio"):
        assert facts.tools["fio"].path == fio
        assert "psync" in facts.tools["fio"].features
    again = facts_of(load(tmp_path / "raw"), facts.host, WHEN)
    assert again.model_dump(exclude={"collected_at"}) == facts.model_dump(exclude={"collected_at"})


def test_plain_host_without_tools(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """It is not an error if sysstat, fio and compilers are missing from the PATH."""
    monkeypatch.setattr("asct.facts.exchange.TOOLS", {})
    monkeypatch.setattr("asct.facts.exchange.PROBES", {"fio-engines": "false"})
    host = open_host(HostSpec("h", "local", workdir=str(tmp_path / "w")))
    try:
        facts = collect(host, tmp_path / "raw")
    finally:
        host.close()
    assert facts.tools == {}
    assert facts.cpu.cpus
