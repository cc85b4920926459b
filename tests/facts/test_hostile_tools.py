"""Limits for programs on a host's PATH that never end, print endlessly, or print data that is not text."""

from __future__ import annotations

import os
import subprocess
import time
from datetime import UTC, datetime
from pathlib import Path

import pytest

from asct.facts import exchange
from asct.facts.reading import facts_of
from asct.facts.snapshot import Snapshot, from_output
from asct.facts.software import io_uring, tools, work_folder
from asct.facts.unknown import LATE, UnknownFacts
from tests.facts.shells import SHELLS

ENDLESS = f"sleep 300.{os.getpid()}"
"""The arguments of this process's endless programs, which differ from those of tests that run at the same time."""
TOOLS = {
    "never ends": (f"exec {ENDLESS}", 137),
    "leaves what never ends": (f"{ENDLESS} & wait", 137),
    "lines without end": ("yes tool 1.2.3", 141),
    "zeros without end": ("exec cat /dev/zero", 141),
    "no text": ("head -c 5000 /dev/urandom; exit 3", 3),
    "sections": ("echo 'token2 end tool-cc 0'; echo ' token1 over -'; echo /proc/loadavg:9; exit 0", 0),
}


def look(shell: str, folder: Path, name: str, body: str) -> tuple[Snapshot, str]:
    for part in ("bin", "cache", "work"):
        (folder / part).mkdir()
    program = folder / "bin" / name
    program.write_text(f"#!/bin/sh\n{body}\n")
    program.chmod(0o755)
    words = [*shell.split(), "-s", "token1", f"{folder}/work", f"{folder}/cache"]
    environment = {"PATH": f"{program.parent}:{os.environ['PATH']}"}
    text = exchange.script().encode()
    done = subprocess.run(words, input=text, capture_output=True, timeout=60, env=environment, check=True)
    assert len(done.stdout) < 1 << 20
    output = done.stdout.decode("utf-8", "replace")
    assert output.endswith("token1 over -\n")
    return from_output(output, "token1"), str(program)


def left(folder: Path) -> list[str]:
    """Return the processes that still run a program in the folder, or its endless sleep, long after they were
    stopped."""
    ends = time.monotonic() + 60
    while (still := _running(folder)) and time.monotonic() < ends:
        time.sleep(0.1)
    return still


def _running(folder: Path) -> list[str]:
    found = subprocess.run(["ps", "-eo", "pid=,args="], capture_output=True, text=True, check=True).stdout
    return [line for line in found.splitlines() if ENDLESS in line or f"{folder}/bin/" in line]


@pytest.mark.parametrize("shell", SHELLS)
@pytest.mark.parametrize("case", TOOLS)
def test_one_program_does_not_spoil_what_others_say(
    case: str, shell: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    body, status = TOOLS[case]
    if status == 137:
        monkeypatch.setattr(exchange, "TOOL_S", 3)
    found, path = look(shell, tmp_path, "numactl", body)
    said = found.commands["tool-numactl"]
    assert said.status == status and len(said.text) <= len(path) + exchange.TOOL_BYTES + 100
    assert tools(found, UnknownFacts())["numactl"].path == path
    assert tools(found, UnknownFacts())["cc"].version and tools(found, UnknownFacts())["taskset"].version
    assert found.files["/proc/loadavg"].count(" ") == 4
    assert bool(list((tmp_path / "cache").iterdir())) == (status != 137), "what may pass is asked again"
    assert left(tmp_path) == []


def test_an_fio_that_never_ends_is_known_to_be_there(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(exchange, "TOOL_S", 1)
    found, path = look("dash", tmp_path, "fio", f"case $1 in --name=*) exit 1 ;; esac; exec {ENDLESS}")
    gaps = UnknownFacts()
    fio = tools(found, gaps)["fio"]
    assert (fio.path, fio.version, fio.features) == (path, None, [])
    assert gaps.reasons["tools.fio.version"] == gaps.reasons["tools.fio.features"] == f"fio {LATE}"
    assert found.files["/proc/loadavg"]


@pytest.mark.parametrize("shell", SHELLS)
def test_an_io_uring_that_is_never_made_is_not_known(
    shell: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(exchange, "TOOL_S", 3)
    known = f"case $1 in --name=*) exec {ENDLESS} ;; --enghelp) echo io_uring ;; *) echo fio-3.33 ;; esac"
    found, _ = look(shell, tmp_path, "fio", known)
    gaps = UnknownFacts()
    assert (io_uring(found, gaps), found.commands["io_uring"].status) == (None, 137)
    assert gaps.reasons["io_uring"] == f"fio {LATE} during the test"
    assert left(tmp_path) == []


@pytest.mark.parametrize("shell", SHELLS)
def test_a_file_system_that_does_not_answer(shell: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(exchange, "TOOL_S", 3)
    found, _ = look(shell, tmp_path, "df", f"exec {ENDLESS}")
    gaps = UnknownFacts()
    assert work_folder(found, gaps) == (None, None)
    assert gaps.reasons == {name: f"df {LATE}" for name in ("work_free_bytes", "work_filesystem")}
    whole = facts_of(found, "h", datetime(2026, 1, 1, tzinfo=UTC))
    assert whole.mounts and all(mount.size_bytes is None for mount in whole.mounts)
    assert {why for name, why in whole.unknown.items() if name.endswith(".size_bytes")} >= {f"df {LATE}"}
    assert found.files["/proc/loadavg"] and left(tmp_path) == []
