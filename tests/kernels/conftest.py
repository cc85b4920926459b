"""Kernels built once for all tests of this folder."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.kernels.building import Builds


@pytest.fixture(scope="session")
def built(tmp_path_factory: pytest.TempPathFactory) -> Builds:
    """x86-64 kernels."""
    return Builds(tmp_path_factory.mktemp("x86_64"), "x86_64")


@pytest.fixture(scope="session")
def built_arm(tmp_path_factory: pytest.TempPathFactory) -> Builds:
    """aarch64 kernels."""
    return Builds(tmp_path_factory.mktemp("aarch64"), "aarch64")


@pytest.fixture(scope="session")
def chase(built: Builds) -> Path:
    return built["chase"]
