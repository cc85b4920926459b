"""Fixtures: kernels that are built once for all tests in this folder, whichever process runs the tests."""

from __future__ import annotations

import os
from pathlib import Path

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


@pytest.fixture(scope="session")
def chase(built: Builds) -> Path:
    return built["chase"]


@pytest.fixture(scope="session")
def cmn(built: Builds) -> Path:
    return built["cmn"]


@pytest.fixture(scope="session")
def load(built: Builds) -> Path:
    return built["load"]


@pytest.fixture(scope="session")
def pingpong(built: Builds) -> Path:
    return built["pingpong"]


@pytest.fixture(scope="session")
def stream(built: Builds) -> Path:
    return built["stream"]


@pytest.fixture(scope="session")
def watch(built: Builds) -> Path:
    return built["cmnwatch"]


@pytest.fixture
def guard(built: Builds, tmp_path: Path) -> Guard:
    (tmp_path / "work").mkdir()
    return Guard(built["guard"], tmp_path / "work")
