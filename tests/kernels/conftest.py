"""Kernels built once for all tests of this folder."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.kernels.building import NAMES, compile_sources, sources_of


@pytest.fixture(scope="session")
def built(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """Static x86-64 kernels by name."""
    folder = tmp_path_factory.mktemp("x86_64")
    return {name: compile_sources(sources_of(name), folder / name) for name in NAMES}


@pytest.fixture(scope="session")
def built_arm(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """Static aarch64 kernels by name."""
    folder = tmp_path_factory.mktemp("aarch64")
    return {name: compile_sources(sources_of(name), folder / name, "aarch64") for name in NAMES}


@pytest.fixture(scope="session")
def chase(built: dict[str, Path]) -> Path:
    return built["chase"]
