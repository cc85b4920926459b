"""Fixtures: kernels that are built once for all tests in this folder, whichever process runs the tests."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest

from tests.kernels.building import Builds
from tests.kernels.guarding import Guard


@pytest.fixture(scope="session")
def built(tmp_path_factory: pytest.TempPathFactory) -> Builds:
    """x86-64 kernels."""
    return Builds(_shared(tmp_path_factory, "x86_64"), "x86_64")


@pytest.fixture(scope="session")
def built_arm(tmp_path_factory: pytest.TempPathFactory) -> Builds:
    """aarch64 kernels."""
    return Builds(_shared(tmp_path_factory, "aarch64"), "aarch64")


def _shared(factory: pytest.TempPathFactory, name: str) -> Path:
    """Return a folder of this test run that all of its processes share."""
    base = factory.getbasetemp()
    folder = (base.parent if "PYTEST_XDIST_WORKER" in os.environ else base) / name
    folder.mkdir(exist_ok=True)
    return folder


def _kernel(name: str) -> Any:
    """Return a fixture: the kernel with this name, for x86-64."""

    @pytest.fixture(scope="session")
    def kernel(built: Builds) -> Path:
        return built[name]

    return kernel


chase, cmn, load, pingpong, stream = map(_kernel, ("chase", "cmn", "load", "pingpong", "stream"))
watch = _kernel("cmnwatch")


@pytest.fixture
def guard(built: Builds, tmp_path: Path) -> Guard:
    (tmp_path / "work").mkdir()
    return Guard(built["guard"], tmp_path / "work")
