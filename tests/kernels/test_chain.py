"""The chain is a single cycle for every length, stride and seed, and all cycles are equally likely."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.kernels.building import check_program

pytestmark = pytest.mark.kernels


@pytest.mark.parametrize("source", ["chain_property.c", "chain_uniform.c", "numbers.c"])
def test_property_program(source: str, tmp_path: Path) -> None:
    check_program([Path(__file__).with_name(source)], tmp_path)
