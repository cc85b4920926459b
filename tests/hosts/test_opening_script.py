"""The script of a session, which runs in the exchange that opens the session."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from asct.errors import HostError, HostLocked, HostLost, HostTimeout
from asct.facts.reading import collect, session_script
from asct.hosts.base import Host, Process, SessionSpec, Task
from asct.hosts.factory import make_host
from tests.awaiting import PATIENCE_S, until
from tests.hosts.conftest import KINDS, spec_of
from tests.sshd import Sshd

SESSION = SessionSpec("r1", "run r1 of the tests")


@pytest.fixture(params=KINDS[:2])
def host(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Host]:
    made = make_host(spec_of(request.param, request, tmp_path))
    yield made
    made.close()


def with_script(text: str) -> SessionSpec:
    return replace(SESSION, script=text)


def test_it_prints_what_it_likes(host: Host) -> None:
    """Lines that look like events are part of the answer. Only standard output is returned."""
    host.open(
        with_script(
            'echo "$root" "$cache"\necho asct:left\necho asct:answered\necho gone >&2\nset -- 1\necho "end $#"\n'
        )
    )
    found = host.answer()
    assert found is not None
    assert found.stdout == f"{host.work} {host.cache}\nasct:left\nasct:answered\nend 1\n"


def test_tasks_run_after_it(host: Host, tmp_path: Path) -> None:
    host.open(with_script("exit_of() { return 3; }\nmode=other key=x live=\necho there\n"))
    found = host.answer()
    assert found is not None and found.stdout == "there\n"
    done = host.run(Task(Process(("sh", "-c", "echo task"), f"{host.work}/t"), tmp_path / "into"))
    assert (done.status, (tmp_path / "into/stdout").read_text()) == (0, "task\n")


@pytest.mark.parametrize("text", ["exit 3\n", "(\n", ":\n"])
def test_it_ends_early(host: Host, text: str) -> None:
    host.open(with_script(text))
    found = host.answer(timeout_s=PATIENCE_S)
    assert found is not None and "there" not in found.stdout


def test_a_session_without_one(host: Host) -> None:
    host.open(SESSION)
    assert host.answer() is None


def test_much(host: Host) -> None:
    host.open(
        with_script(
            'i=0\nwhile [ $i -lt 9000 ]; do echo "$i ...................................."; i=$((i + 1)); done\n'
        )
    )
    found = host.answer()
    assert found is not None and len(found.stdout.splitlines()) == 9000 and found.stdout.endswith("....\n")


def test_too_much(host: Host) -> None:
    host.open(with_script("exec yes\n"))
    with pytest.raises(HostError, match="more than"):
        host.answer()


def running(host: Host, word: str) -> bool:
    listing = "cat /proc/[0-9]*/cmdline 2>/dev/null | tr '\\0' ' '"
    return f"sleep {word}" in host.probe(listing, []).stdout


@pytest.mark.parametrize("how", ["late", "interrupted"])
def test_it_ends_with_the_session(host: Host, how: str) -> None:
    nap = f"60.{len(how)}{len(host.transport)}77"
    host.open(with_script(f"timeout 600 sleep {nap} & sleep {nap}\n"))
    if how == "late":
        with pytest.raises(HostTimeout):
            host.answer(timeout_s=0.2)
    else:
        thread = threading.Timer(0.5, host.interrupt)
        thread.start()
        with pytest.raises(HostLost, match="was interrupted"):
            host.answer(timeout_s=PATIENCE_S)
        thread.join()
    work = Path(host.work)
    host.close()
    assert not work.exists()
    again = make_host(host._link._spec) if hasattr(host._link, "_spec") else host  # type: ignore[attr-defined]
    until(lambda: not running(again, nap), "what the script started still runs")


def test_a_locked_host_does_not_run_it(host: Host, request: pytest.FixtureRequest, tmp_path: Path) -> None:
    host.open(SESSION)
    mark = tmp_path / "mark"
    tmp_path.chmod(0o777)
    other = make_host(spec_of(host.transport, request, tmp_path))
    with pytest.raises(HostLocked):
        other.open(SessionSpec("r2", "another run", script=f": >{mark}\n"))
    assert not mark.exists()


def test_a_resumed_session_does_not_run_it(own_sshd: Sshd, tmp_path: Path) -> None:
    session = replace(with_script("echo once\n"), token="7a" * 16)
    first, second = make_host(own_sshd.spec()), make_host(own_sshd.spec())
    first.open(session)
    assert first.answer() is not None
    first._link.close()  # type: ignore[attr-defined]
    second.open(session)
    assert second.resumed and second.answer() is None
    second.close()


@pytest.mark.ssh
def test_the_facts_of_a_session_take_no_exchange_of_their_own(sshd: Sshd, tmp_path: Path, opened: list[str]) -> None:
    host = make_host(sshd.spec())
    host.open(with_script(session_script()))
    try:
        facts = collect(host, tmp_path / "raw")
    finally:
        host.close()
    assert facts.cpu.cpus and facts.system.kernel and "sh" not in facts.unknown
    assert opened == ["session"]
