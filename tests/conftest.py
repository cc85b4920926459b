"""Fixtures that several folders of tests share, and which tests run beside others."""

from __future__ import annotations

from collections.abc import Generator
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


@pytest.hookimpl(wrapper=True)
def pytest_runtest_protocol(item: pytest.Item) -> Generator[None, object, object]:
    """Around the fixtures too: those of a module measure as well."""
    alone = item.get_closest_marker("alone") is not None
    if not alone and not any(item.get_closest_marker(name) for name in _MEASURING):
        return (yield)
    with machine(alone=alone):
        return (yield)


_LAB = frozenset({"test_drives.py", "test_guard.py", "test_purges.py"})
"""The files of tests/machines that use the machine with drives; the others use those with several nodes."""


class _Together(LoadScopeScheduling):
    """Tests go to whoever is free, but those on guests stay together: guests are booted once a process.

    The marks that pytest-xdist 3.8 has for this have no effect with pytest 9.2, whose tests cannot be renamed.
    """

    def _split_scope(self, nodeid: str) -> str:
        file = PurePath(nodeid.partition("::")[0])
        if file.parent.name != "machines":
            return nodeid
        return "lab" if file.name in _LAB else "machines"


def pytest_xdist_make_scheduler(config: pytest.Config, log: Producer) -> _Together:
    """Tests side by side are spread by `_Together`, whatever `--dist` says."""
    return _Together(config, log)
