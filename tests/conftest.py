"""Fixtures that several folders of tests share, and which tests run beside others."""

from __future__ import annotations

from collections.abc import Generator

import pytest

from tests.alone import machine

pytest_plugins = ["tests.sshd"]
_MEASURING = ("kernels", "arm", "e2e", "ssh")
"""Markers of tests that may run kernels, which add huge pages to the pools of the machine."""


@pytest.hookimpl(wrapper=True)
def pytest_runtest_protocol(item: pytest.Item) -> Generator[None, object, object]:
    """Around the fixtures too: those of a module measure as well."""
    alone = item.get_closest_marker("alone") is not None
    if not alone and not any(item.get_closest_marker(name) for name in _MEASURING):
        return (yield)
    with machine(alone=alone):
        return (yield)
