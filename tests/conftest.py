"""Fixtures that several folders of tests share, and which tests run beside others."""

from __future__ import annotations

from collections.abc import Generator
from contextlib import ExitStack
from pathlib import PurePath

import pytest
from xdist.remote import Producer
from xdist.scheduler import LoadScopeScheduling

from tests.alone import machine
from tests.own_machine import separate

pytest_plugins = ["tests.sshd", "tests.slurm"]
_MEASURING = ("kernels", "arm", "e2e", "ssh", "slurm")
"""Markers of tests that may run kernels, which add huge pages to the pools of the machine."""


def pytest_sessionstart(session: pytest.Session) -> None:
    """Every process that runs tests, which the one that hands them out does not."""
    if not hasattr(session.config, "dsession") and not session.config.getoption("numprocesses", None):
        separate()


_KEPT: list[ExitStack] = []
"""The machine, between tests that want it alone and follow one another: others would have to be waited for again."""


@pytest.hookimpl(wrapper=True)
def pytest_runtest_protocol(item: pytest.Item, nextitem: pytest.Item | None) -> Generator[None, object, object]:
    """Around the fixtures too: those of a module measure as well."""
    alone = _alone(item)
    if not alone and not any(item.get_closest_marker(name) for name in _MEASURING):
        return (yield)
    with ExitStack() as within:
        within.enter_context(_KEPT.pop() if _KEPT else machine(alone=alone))
        result = yield
        if alone and nextitem is not None and _alone(nextitem):
            _KEPT.append(within.pop_all())
        return result


def _alone(item: pytest.Item) -> bool:
    return item.get_closest_marker("alone") is not None


_LAB = frozenset({"test_drives.py", "test_guard.py", "test_purges.py"})
"""The files of tests/machines that use the machine with drives; the others use those with several nodes."""
_ALONE = frozenset({"test_hugepool.py", "test_asroot.py"})
"""Files with tests that want the machine alone, all or most of them."""


class _Together(LoadScopeScheduling):
    """Tests go to whoever is free, but those on guests stay together: guests are booted once a process; so do those on
    Slurm, for one cluster, and those that want the machine alone, for which all others wait. These begin.

    The marks that pytest-xdist 3.8 has for this have no effect with pytest 9.2, whose tests cannot be renamed.
    """

    def _split_scope(self, nodeid: str) -> str:
        file = PurePath(nodeid.partition("::")[0])
        if file.parent.name == "machines":
            return "lab" if file.name in _LAB else "machines"
        if "slurm" in nodeid:
            return "slurm"
        return "alone" if file.name in _ALONE else nodeid


def pytest_xdist_make_scheduler(config: pytest.Config, log: Producer) -> _Together:
    """Tests side by side are spread by `_Together`, whatever `--dist` says."""
    return _Together(config, log)
