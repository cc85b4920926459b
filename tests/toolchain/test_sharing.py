"""Concurrent hosts whose accounts share a cache: a kernel is built or copied only once."""

from __future__ import annotations

import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from asct.hosts.base import SessionSpec
from asct.hosts.local import LocalFiles
from asct.plan.model import HostSpec
from asct.sdk.facts import HostFacts
from asct.toolchain import hostcache
from asct.toolchain.hostcache import build_lock
from asct.toolchain.provide import BuiltKernel, provide
from tests.apart import apart
from tests.toolchain.conftest import without_compiler

HOSTS = 6


def side_by_side(kernels: Path, facts: HostFacts, folder: Path) -> list[BuiltKernel]:
    """Provide `tiny` on this number of hosts at once, each with its own work folder and build folder."""
    everyone = threading.Barrier(HOSTS)

    def one(number: int) -> BuiltKernel:
        host = apart(HostSpec(f"h{number}", "local", workdir=str(folder / f"work{number}")), folder)
        host.open(SessionSpec("run", "a test"))
        try:
            everyone.wait(30)
            return provide(host, "tiny", facts, folder / f"build{number}", kernels)
        finally:
            host.close()

    with ThreadPoolExecutor(HOSTS) as pool:
        return list(pool.map(one, range(HOSTS)))


def counting(monkeypatch: pytest.MonkeyPatch, module: object, name: str) -> list[str]:
    """Return a list of the hosts for which a function of a module is called from now on."""
    called: list[str] = []
    real: Callable[..., object] = getattr(module, name)

    def counted(host: object, *arguments: object) -> object:
        called.append(str(getattr(host, "name", "")))
        return real(host, *arguments)

    monkeypatch.setattr(module, name, counted)
    return called


def test_built_once(kernels: Path, facts: HostFacts, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    builds = counting(monkeypatch, hostcache, "build")
    found = side_by_side(kernels, facts, tmp_path)
    assert len(builds) == 1
    assert sorted(one.cached for one in found) == [False] + [True] * (HOSTS - 1)
    assert len({one.path for one in found}) == 1


def test_pushed_once(kernels: Path, facts: HostFacts, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pushes = counting(monkeypatch, hostcache, "push")
    found = side_by_side(kernels, without_compiler(facts), tmp_path)
    assert len(pushes) == 1
    logs = [one.log.read_text() for one in found]
    assert sum("[status 0]" in text for text in logs) == 1
    assert {one.sha256 for one in found} == {found[0].sha256}


def test_a_sum_needs_no_program_there(
    kernels: Path, facts: HostFacts, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    real = LocalFiles.sums
    monkeypatch.setattr(LocalFiles, "sums", lambda files, path: real(files, path)[:1])
    monkeypatch.setattr(hostcache, "_TAKE_SUM", hostcache._TAKE_SUM.replace("sha256sum", "no-such-program"))
    host = apart(HostSpec("h", "local", workdir=str(tmp_path / "work")), tmp_path)
    host.open(SessionSpec("run", "a test"))
    try:
        first = provide(host, "tiny", facts, tmp_path / "build", kernels)
        assert provide(host, "tiny", facts, tmp_path / "build", kernels).cached
        Path(first.path).write_bytes(b"harmed")
        assert not provide(host, "tiny", facts, tmp_path / "build", kernels).cached
    finally:
        host.close()


def test_a_first_one_that_fails_lets_the_others_go_on(tmp_path: Path) -> None:
    place, begun, seen = str(tmp_path), threading.Event(), []

    def first() -> None:
        with pytest.raises(ValueError, match="no"), build_lock(place):
            begun.set()
            raise ValueError("no")

    def later() -> None:
        begun.wait(30)
        with build_lock(place) as later_one:
            seen.append(later_one)

    threads = [threading.Thread(target=one) for one in (first, later, later)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(30)
    assert seen == [True, True]
