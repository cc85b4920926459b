"""Shared fixtures, and the order and parallelism of tests."""

from __future__ import annotations

import gc
import os
import signal
from collections.abc import Generator, Iterator
from contextlib import AbstractContextManager, ExitStack, contextmanager, nullcontext
from pathlib import Path, PurePath
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING

import pytest

from tests.alone import machine, turn
from tests.own_machine import separate

if TYPE_CHECKING:
    from xdist.remote import Producer
    from xdist.scheduler import LoadScopeScheduling
    from xdist.workermanage import WorkerController

pytest_plugins = ["tests.disks.memory", "tests.selection", "tests.sshd", "tests.slurm"]
_MEASURING = ("kernels", "arm", "e2e", "ssh", "slurm", "disks")
"""Markers of tests that may run kernels, which allocate huge pages from the pools of the machine."""


@pytest.hookimpl(wrapper=True)
def pytest_collection() -> Generator[None, object, object]:
    """Collect without garbage collection, which finds nothing here and takes a fifth of the time."""
    gc.disable()
    try:
        return (yield)
    finally:
        gc.freeze()
        gc.enable()


def pytest_sessionstart(session: pytest.Session) -> None:
    """Give each process that runs tests its own /var/tmp; the controller of xdist runs none."""
    if not hasattr(session.config, "dsession") and not session.config.getoption("numprocesses", None):
        separate()


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_auto_num_workers(config: pytest.Config) -> int:
    """Use more workers for slow tests, which mostly wait for guests, hosts and devices; fast tests compute."""
    cores = len(os.sched_getaffinity(0))
    return cores + 1 if config.getoption("tier") == "fast" else 2 * cores + 1


_KEPT: list[ExitStack] = []
"""The lock of the machine, kept between consecutive tests that need the machine alone."""


@pytest.hookimpl(wrapper=True)
def pytest_runtest_protocol(item: pytest.Item, nextitem: pytest.Item | None) -> Generator[None, object, object]:
    """Hold the locks during fixtures as well, because fixtures of modules measure too."""
    alone = _marked(item, "alone")
    with ExitStack() as within:
        if alone or _marked(item, *_MEASURING):
            within.enter_context(_KEPT.pop() if _KEPT else machine(alone=alone))
        with _turn(item), _dispositions(item):
            result = yield
        if alone and nextitem is not None and _marked(nextitem, "alone"):
            _KEPT.append(within.pop_all())
        return result


def _marked(item: pytest.Item, *names: str) -> bool:
    return any(item.get_closest_marker(name) for name in names)


_IGNORED = [n for n in (signal.SIGHUP, signal.SIGINT, signal.SIGQUIT) if signal.getsignal(n) is signal.SIG_IGN]
"""Signals that are ignored because the tests were started by nohup or in the background of a script."""
_AS_STARTED = frozenset({"cli", "e2e", "engine", "hosts"})
"""Folders whose tests run asct with these signals ignored."""


@contextmanager
def _dispositions(item: pytest.Item) -> Iterator[None]:
    """Let programs that a test starts by itself have the default dispositions, which asct would give them.

    A signal with a handler has its default disposition in a program that is started; an ignored one does not.
    """
    numbers = () if item.path.parent.name in _AS_STARTED else _IGNORED
    for number in numbers:
        signal.signal(number, lambda *_: None)
    try:
        yield
    finally:
        for number in numbers:
            signal.signal(number, signal.SIG_IGN)


_TURNS = pytest.StashKey[TemporaryDirectory[str]]()
"""The folder with the locks that limit the tests that judge rates; it belongs to the controller."""


@pytest.hookimpl(optionalhook=True)
def pytest_configure_node(node: WorkerController) -> None:
    """Pass the folder with the locks to a worker."""
    if _TURNS not in node.config.stash:
        node.config.stash[_TURNS] = TemporaryDirectory(prefix="asct-turns-")
    node.workerinput["turns"] = node.config.stash[_TURNS].name


def pytest_unconfigure(config: pytest.Config) -> None:
    """Remove the folder with the locks."""
    if _TURNS in config.stash:
        config.stash[_TURNS].cleanup()


def _turn(item: pytest.Item) -> AbstractContextManager[None]:
    """A context in which a test that judges rates may run; other tests do not wait."""
    given = getattr(item.config, "workerinput", None)
    return nullcontext() if given is None or not _marked(item, "rates") else turn(Path(given["turns"]))


_LAB = frozenset({"test_drives.py", "test_guard.py", "test_purges.py"})
"""Files of tests/machines that use the guest with drives; the others use the guests with several nodes."""
_ALONE = frozenset({"test_hugepool.py", "test_asroot.py"})
"""Files in which all or most tests need the machine alone."""
_ONCE = frozenset(
    {
        "e2e/test_fleet.py", "e2e/test_local.py", "hosts/test_routes.py", "kernels/test_guard_settle.py",
        "kernels/test_pingpong_builds.py", "kernels/test_vector.py", "seeds/test_seeds.py",
    }
)  # fmt: skip
"""Files whose tests share an expensive fixture."""
_FIRST = ("machines", "lab", "slurm", "links", "alone", "browser")
"""The longest groups, which start first; other tests use the processor time that they leave."""


def _group(nodeid: str) -> str:
    """Return the group of a test. One worker runs the tests of a group one after another; a test without a group is
    distributed alone."""
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


_AGAIN = pytest.mark.flaky(reruns=2, only_rerun="AssertionError")
"""A limit enforced by the Linux kernel bounds a rate only from above; on a busy machine, the rate is lower."""


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Start the longest groups first, then tests that need the machine alone, then tests that measure.

    `--tier called` has its own order.
    """
    for item in items:
        if _marked(item, "rates"):
            item.add_marker(_AGAIN)
    if hasattr(config, "workerinput") and config.getoption("tier") != "called":
        items.sort(key=_start_order)


def _start_order(item: pytest.Item) -> int:
    """Return the rank of a test; the lowest starts first."""
    group = _group(item.nodeid)
    if group in _FIRST:
        return _FIRST.index(group)
    return len(_FIRST) + (0 if _marked(item, "alone") else 1 if _marked(item, *_MEASURING) else 2)


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: Producer) -> LoadScopeScheduling:
    """Distribute tests one by one in their order, regardless of `--dist`, but give each group of `_group` to one
    worker, so that guests and the cluster of Slurm start only once.

    The marker xdist_group of pytest-xdist 3.8 renames tests, which pytest 9.2 does not allow.
    """
    from xdist.scheduler import LoadScopeScheduling

    class Together(LoadScopeScheduling):
        def _split_scope(self, nodeid: str) -> str:
            return _group(nodeid)

    config.option.loadscopereorder = False
    return Together(config, log)
