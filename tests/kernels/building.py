"""Building and running kernels in these tests, with the one command that every builder uses."""

from __future__ import annotations

import fcntl
import json
import os
import subprocess
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NoReturn

KERNELS = Path(__file__).resolve().parents[2] / "kernels"
CHECKED = ("-O2", "-std=c11", "-pthread", "-Wall", "-Wextra", "-Werror", "-D_GNU_SOURCE")
COMPILERS = {"x86_64": "gcc", "aarch64": "aarch64-linux-gnu-gcc"}
CLANG = {"x86_64": ("clang",), "aarch64": ("clang", "--target=aarch64-linux-gnu")}
SANITIZED = ("-g", "-fsanitize=address,undefined", "-fno-sanitize-recover=all")
NAMES = tuple(sorted(path.stem for path in KERNELS.glob("*/*.c") if path.stem == path.parent.name))
CMN_IMAGE = Path(__file__).parent / "data" / "cmn-600-1x1.image"
"""Registers of a mesh with one crosspoint, created by tests/facts/cmn/generator.py."""
_CPUS = sorted(os.sched_getaffinity(0))[:2]
_BOTH = ",".join(map(str, _CPUS))
SMALL: Mapping[str, tuple[str, ...]] = {
    "chase": ("--max-size", "65536", "--time-cap-ms", "5", "--refine-max", "4", "--patience-ms", "0"),
    "load": (
        *("--latency-cpu", str(_CPUS[0]), "--cpus", str(_CPUS[-1]), "--size", "1048576", "--load-size", "1048576"),
        *("--delays", "100,0", "--level-ms", "5", "--traffic", "all-reads", "--pages", "4k"),
    ),
    "cmn": ("--from", str(CMN_IMAGE), "--registers", "434/2:8,10;434/6:8,10;434/5:900,1008w"),
    "cmnwatch": ("--look", "1"),
    "guard": ("--targets", "/dev/null", "--stdout", "/dev/null", "--", "/bin/true"),
    "noop": (),
    "pingpong": (
        "--cpus",
        _BOTH,
        "--turns",
        "20",
        "--batches",
        "12",
        "--addresses",
        "2",
        "--time-cap-ms",
        "50",
        "--patience-ms",
        "60000",
    ),
    "stream": (
        "--cpus",
        _BOTH,
        "--sizes",
        "16384,262144",
        "--traffic",
        "all-reads,copy,nt-write",
        "--time-cap-ms",
        "5",
    ),
}
"""Arguments with which each kernel takes well below a second, even in an emulator."""


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


class Builds:
    """Static kernels for one architecture by name. Each is built when it is first requested; concurrent processes wait
    for the one that builds it."""

    def __init__(self, folder: Path, arch: str) -> None:
        self._folder = folder
        self._arch = arch

    def __getitem__(self, name: str) -> Path:
        made = self._folder / name
        with made.with_name(f"{name}.lock").open("w") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            return made if made.exists() else compile_sources(sources_of(name), made, self._arch)


def compile_sources(
    sources: list[Path],
    target: Path,
    arch: str = "x86_64",
    flags: Sequence[str] = ("-static",),
    compiler: Sequence[str] = (),
) -> Path:
    """Compile with all warnings as errors, from within kernels/. By default, the gcc of the architecture is used."""
    command = [
        *(compiler or (COMPILERS[arch],)),
        *CHECKED,
        *flags,
        "-I.",
        f"-Iarch/{arch}",
        *map(str, sources),
        "-o",
        str(target),
    ]
    done = subprocess.run(command, cwd=KERNELS, capture_output=True, text=True, check=False)
    assert done.returncode == 0 and not done.stderr, done.stderr
    return target


def check_program(sources: list[Path], folder: Path, flags: Sequence[str] = SANITIZED) -> None:
    """Build and run a test program, which prints `ok` and nothing else if everything that it checks is right."""
    done = subprocess.run(
        [str(compile_sources(sources, folder / "checks", flags=flags))], capture_output=True, text=True, check=False
    )
    assert (done.returncode, done.stdout, done.stderr) == (0, "ok\n", "")


def documented(kernel: str) -> dict[str, set[str]]:
    """Return the keys of each line in the example in the kernel's README, so that the README stays up to date."""
    text = (KERNELS / kernel / "README.md").read_text()
    block = text.split("```json\n", 1)[1].split("```", 1)[0]
    decoder, keys = json.JSONDecoder(), {}
    while block := block.lstrip():
        line, end = decoder.raw_decode(block)
        keys[line["t"]] = set(line)
        block = block[end:]
    return keys


def sources_of(name: str) -> list[Path]:
    return sorted((KERNELS / name).glob("*.c"))


def run(program: Path | list[str], *arguments: str, timeout: float = 120, **options: Any) -> Ran:
    """Run a kernel. Every line of its standard output must be JSON, and every number in it must be an integer."""
    prefix = [str(program)] if isinstance(program, Path) else program
    done = subprocess.run(
        [*prefix, *arguments], capture_output=True, text=True, timeout=timeout, check=False, **options
    )
    lines = [json.loads(line, parse_float=_no_integer) for line in done.stdout.splitlines()]
    return Ran(done.returncode, lines, done.stderr)


def _no_integer(number: str) -> NoReturn:
    raise AssertionError(f"a kernel printed {number}, which is not an integer")
