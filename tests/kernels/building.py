"""How kernels are built and run in these tests: by the one command that every builder uses."""

from __future__ import annotations

import json
import subprocess
from dataclasses import dataclass
from pathlib import Path
from typing import Any

KERNELS = Path(__file__).resolve().parents[2] / "kernels"
CHECKED = ("-O2", "-std=c11", "-pthread", "-Wall", "-Wextra", "-Werror", "-D_GNU_SOURCE")
COMPILERS = {"x86_64": "gcc", "aarch64": "aarch64-linux-gnu-gcc"}
NAMES = ("chase", "noop")


@dataclass(frozen=True)
class Ran:
    """A finished kernel."""

    status: int
    lines: list[dict[str, Any]]
    stderr: str

    def of(self, kind: str) -> list[dict[str, Any]]:
        return [line for line in self.lines if line["t"] == kind]

    @property
    def meta(self) -> dict[str, Any]:
        (meta,) = self.of("meta")
        return meta

    @property
    def end(self) -> dict[str, Any]:
        (end,) = self.of("end")
        return end


def compile_sources(
    sources: list[Path], target: Path, arch: str = "x86_64", flags: tuple[str, ...] = ("-static",)
) -> Path:
    """Compiles with all warnings as errors, from within kernels/."""
    command = [COMPILERS[arch], *CHECKED, *flags, "-I.", f"-Iarch/{arch}", *map(str, sources), "-o", str(target)]
    done = subprocess.run(command, cwd=KERNELS, capture_output=True, text=True, check=False)
    assert done.returncode == 0 and not done.stderr, done.stderr
    return target


def sources_of(name: str) -> list[Path]:
    return sorted((KERNELS / name).glob("*.c"))


def run(program: Path | list[str], *arguments: str, timeout: float = 120, **options: Any) -> Ran:
    """Runs a kernel; every line of its standard output must be JSON."""
    prefix = [str(program)] if isinstance(program, Path) else program
    done = subprocess.run(
        [*prefix, *arguments], capture_output=True, text=True, timeout=timeout, check=False, **options
    )
    return Ran(done.returncode, [json.loads(line) for line in done.stdout.splitlines()], done.stderr)
