"""The chain is a single cycle for every length, stride and seed, and all cycles are equally likely."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from tests.kernels.building import compile_sources

pytestmark = pytest.mark.kernels

HERE = Path(__file__).parent
SANITIZED = ("-g", "-fsanitize=address,undefined", "-fno-sanitize-recover=all")


@pytest.mark.parametrize("source", ["chain_property.c", "chain_uniform.c", "numbers.c"])
def test_property_program(source: str, tmp_path: Path) -> None:
    program = compile_sources([HERE / source], tmp_path / "property", flags=SANITIZED)
    done = subprocess.run([str(program)], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout, done.stderr) == (0, "ok\n", "")
