"""Fixtures that several folders of tests share, and which tests run beside others."""

from __future__ import annotations

import gc
import os
from collections.abc import Generator
from contextlib import AbstractContextManager, ExitStack, nullcontext
from pathlib import Path, PurePath
from tempfile import TemporaryDirectory

import pytest
from xdist.remote import Producer
from xdist.scheduler import LoadScopeScheduling
from xdist.workermanage import WorkerController

from tests.alone import machine, turn
from tests.own_machine import separate

pytest_plugins = ["tests.disks.memory", "tests.selection", "tests.sshd", "tests.slurm"]
_MEASURING = ("kernels", "arm", "e2e", "ssh", "slurm")
"""Markers of tests that may run kernels, which add huge pages to the pools of the machine."""


@pytest.hookimpl(wrapper=True)
def pytest_collection() -> Generator[None, object, object]:
    """Thousands of tests are made, and none goes before the end: looking for garbage costs a fifth of the time."""
    gc.disable()
    try:
        return (yield)
    finally:
        gc.freeze()
        gc.enable()


def pytest_sessionstart(session: pytest.Session) -> None:
    """Every process that runs tests, which the one that hands them out does not."""
    if not hasattr(session.config, "dsession") and not session.config.getoption("numprocesses", None):
        separate()


def pytest_xdist_auto_num_workers(config: pytest.Config) -> int:
    """Slow tests wait for most of their time, for guests, hosts and devices; fast ones compute."""
    cores = len(os.sched_getaffinity(0))
    return cores + 1 if config.getoption("tier") == "fast" else 2 * cores + 1


_KEPT: list[ExitStack] = []
"""The machine, between tests that want it alone and follow one another: others would have to be waited for again."""


@pytest.hookimpl(wrapper=True)
def pytest_runtest_protocol(item: pytest.Item, nextitem: pytest.Item | None) -> Generator[None, object, object]:
    """Around the fixtures too: those of a module measure as well."""
    alone = _marked(item, "alone")
    with ExitStack() as within:
        if alone or _marked(item, *_MEASURING):
            within.enter_context(_KEPT.pop() if _KEPT else machine(alone=alone))
        with _turn(item):
            result = yield
        if alone and nextitem is not None and _marked(nextitem, "alone"):
            _KEPT.append(within.pop_all())
        return result


def _marked(item: pytest.Item, *names: str) -> bool:
    return any(item.get_closest_marker(name) for name in names)


_TURNS = pytest.StashKey[TemporaryDirectory[str]]()
"""The locks of a run's turns: a folder of the process that hands out the tests."""


def pytest_configure_node(node: WorkerController) -> None:
    """Tell a process that runs tests where they take turns."""
    if _TURNS not in node.config.stash:
        node.config.stash[_TURNS] = TemporaryDirectory(prefix="asct-turns-")
    node.workerinput["turns"] = node.config.stash[_TURNS].name


def pytest_unconfigure(config: pytest.Config) -> None:
    """No process runs tests any more."""
    if _TURNS in config.stash:
        config.stash[_TURNS].cleanup()


def _turn(item: pytest.Item) -> AbstractContextManager[None]:
    """Where a test that judges rates waits for its turn, if others run beside it."""
    given = getattr(item.config, "workerinput", None)
    return nullcontext() if given is None or not _marked(item, "rates") else turn(Path(given["turns"]))


_LAB = frozenset({"test_drives.py", "test_guard.py", "test_purges.py"})
"""The files of tests/machines that use the machine with drives; the others use those with several nodes."""
_ALONE = frozenset({"test_hugepool.py", "test_asroot.py"})
"""Files with tests that want the machine alone, all or most of them."""
_ONCE = frozenset(
    {
        "e2e/test_fleet.py", "e2e/test_local.py", "hosts/test_ways.py", "kernels/test_guard_settle.py",
        "kernels/test_pingpong_builds.py", "kernels/test_vector.py",
    }
)  # fmt: skip
"""Files whose tests look at one thing that takes long to make."""
_FIRST = ("machines", "lab", "slurm", "links", "alone")
"""The longest groups, as many as there are processes: all others fill what they leave of the processor."""


def _group(nodeid: str) -> str:
    """Tests that one process runs; a test of no group has its own."""
    file = PurePath(nodeid.partition("::")[0])
    if file.parent.name == "machines":
        return "lab" if file.name in _LAB else "machines"
    if "slurm" in nodeid:
        return "slurm"
    if file.name == "test_links.py":
        return "links"
    if file.name in _ALONE:
        return "alone"
    if file.parent.name == "browser":
        return "browser"
    return str(file) if f"{file.parent.name}/{file.name}" in _ONCE else nodeid


class _Together(LoadScopeScheduling):
    """Tests go to whoever is free, but those on guests stay together: guests are booted once a process; so do those on
    Slurm, for one cluster, those that want the machine alone, for which all others wait, and those of `_ONCE`.

    The marks that pytest-xdist 3.8 has for this have no effect with pytest 9.2, whose tests cannot be renamed.
    """

    def _split_scope(self, nodeid: str) -> str:
        return _group(nodeid)


_AGAIN = pytest.mark.flaky(reruns=2, only_rerun="AssertionError")
"""A limit of the kernel bounds a rate from above only: a machine whose other users hold it up shows less than that."""


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Of tests side by side the longest groups begin, then tests that want the machine alone, which late would have to
    wait for many others, and tests that measure. `--tier called` has an order of its own."""
    for item in items:
        if _marked(item, "rates"):
            item.add_marker(_AGAIN)
    if hasattr(config, "workerinput") and config.getoption("tier") != "called":
        items.sort(key=_start_order)


def _start_order(item: pytest.Item) -> int:
    """When a test begins; the lowest first."""
    group = _group(item.nodeid)
    if group in _FIRST:
        return _FIRST.index(group)
    return len(_FIRST) + (0 if _marked(item, "alone") else 1 if _marked(item, *_MEASURING) else 2)


def pytest_xdist_make_scheduler(config: pytest.Config, log: Producer) -> _Together:
    """Tests side by side are spread by `_Together`, whatever `--dist` says, in their order."""
    config.option.loadscopereorder = False
    return _Together(config, log)
