"""Kernels build by make and under sanitizers, for both architectures."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest

from tests.kernels.building import COMPILERS, KERNELS, NAMES, compile_sources, run, sources_of

pytestmark = pytest.mark.kernels

SMALL = ("--max-size", "65536", "--time-cap-ms", "5", "--refine-max", "4", "--patience-ms", "0")


def make(*arguments: str, **environment: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        ["make", "-C", str(KERNELS), *arguments],
        env={**os.environ, **environment},
        capture_output=True,
        text=True,
        check=False,
    )


@pytest.mark.parametrize("arch", [pytest.param("aarch64", marks=pytest.mark.arm), "x86_64"])
def test_make_builds_each_folder_out_of_the_tree_for_the_compilers_target(arch: str, tmp_path: Path) -> None:
    before = {path for path in KERNELS.rglob("*") if path.is_file()}
    done = make(f"O={tmp_path}", "CFLAGS=-O2 -std=c11 -static -pthread -Wall -Wextra -Werror", CC=COMPILERS[arch])
    assert done.returncode == 0, done.stderr
    assert sorted(path.name for path in tmp_path.iterdir()) == sorted(NAMES)
    assert {path for path in KERNELS.rglob("*") if path.is_file()} == before
    machine = {"x86_64": 62, "aarch64": 183}[arch]
    assert int.from_bytes((tmp_path / "chase").read_bytes()[18:20], "little") == machine


def test_make_names_the_architectures_when_the_compilers_target_has_none(tmp_path: Path) -> None:
    compiler = tmp_path / "cc"
    compiler.write_text("#!/bin/sh\necho riscv64-linux-gnu\n")
    compiler.chmod(0o755)
    done = make(f"O={tmp_path}/out", CC=str(compiler))
    assert done.returncode != 0
    assert "riscv64-linux-gnu" in done.stderr and "aarch64" in done.stderr


def test_make_list_names_the_kernels() -> None:
    assert sorted(make("-s", "list").stdout.split()) == sorted([*NAMES, *other_kernels()])


def other_kernels() -> set[str]:
    folders = {path.name for path in KERNELS.iterdir() if (path / f"{path.name}.c").is_file()}
    return folders - set(NAMES)


def test_a_small_sweep_is_clean_under_address_and_undefined_sanitizers(tmp_path: Path) -> None:
    flags = ("-g", "-fsanitize=address,undefined", "-fno-sanitize-recover=all")
    program = compile_sources(sources_of("chase"), tmp_path / "chase", flags=flags)
    for pages in ("4k", "auto"):
        ran = run(program, *SMALL, "--pages", pages)
        assert (ran.status, ran.stderr) == (0, "")
        assert ran.end["ok"] is True
    sparse = run(program, "--sizes", "201326592", "--llc-bytes", "1048576", "--time-cap-ms", "5")
    assert (sparse.status, sparse.stderr) == (0, "")
    assert run(program, "--describe").stderr == ""
    assert run(program, "--strid", "1").status == 2


@pytest.mark.arm
def test_the_aarch64_kernels_run_and_write_a_whole_stream(built_arm: dict[str, Path]) -> None:
    for name, arguments in (("chase", SMALL), ("noop", ())):
        ran = run(["qemu-aarch64", str(built_arm[name])], *arguments)
        assert ran.status == 0, ran.stderr
        assert [line["t"] for line in ran.lines][:2] == ["meta", "ready"]
        assert ran.meta["arch"] == "aarch64"
        assert ran.end["samples"] == len(ran.of("sample")) > 0
