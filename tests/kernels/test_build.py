"""Kernels can be built with make and with sanitizers, for both architectures."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest

from tests.kernels.building import (
    CLANG,
    COMPILERS,
    KERNELS,
    NAMES,
    SANITIZED,
    SMALL,
    Builds,
    compile_sources,
    run,
    sources_of,
)

pytestmark = pytest.mark.kernels


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
    assert sorted(make("-s", "list").stdout.split()) == list(NAMES)


def test_every_kernel_has_arguments_for_a_quick_run() -> None:
    assert sorted(SMALL) == list(NAMES)


def whole_stream(command: list[str], name: str) -> None:
    """Check a quick run of a kernel: it begins, measures and ends successfully, and prints nothing to standard
    error."""
    ran = run(command, *SMALL[name])
    assert (ran.status, ran.stderr) == (0, "")
    assert [line["t"] for line in ran.lines][:2] == ["meta", "ready"]
    assert ran.end["ok"] is True
    assert len(ran.of("sample")) > 0


@pytest.mark.parametrize("name", NAMES)
def test_the_kernels_write_a_whole_stream(name: str, built: Builds) -> None:
    whole_stream([str(built[name])], name)


@pytest.mark.parametrize("name", NAMES)
def test_kernels_of_clang_write_a_whole_stream(name: str, tmp_path: Path) -> None:
    whole_stream([str(compile_sources(sources_of(name), tmp_path / name, compiler=CLANG["x86_64"]))], name)


@pytest.mark.arm
@pytest.mark.parametrize("name", NAMES)
def test_kernels_of_clang_for_aarch64_write_a_whole_stream(name: str, tmp_path: Path) -> None:
    program = compile_sources(sources_of(name), tmp_path / name, "aarch64", compiler=CLANG["aarch64"])
    whole_stream(["qemu-aarch64", str(program)], name)


@pytest.mark.parametrize("name", NAMES)
def test_a_quick_run_is_clean_under_address_and_undefined_sanitizers(name: str, tmp_path: Path) -> None:
    program = compile_sources(sources_of(name), tmp_path / name, flags=SANITIZED)
    whole_stream([str(program)], name)
    assert run(program, "--describe").stderr == ""
    assert run(program, "--strid", "1").status == 2


def test_every_page_kind_and_sparse_chains_are_clean_under_sanitizers(tmp_path: Path) -> None:
    program = compile_sources(sources_of("chase"), tmp_path / "chase", flags=SANITIZED)
    whole_stream([str(program), "--pages", "4k"], "chase")
    sparse = run(program, "--sizes", "201326592", "--llc-bytes", "1048576", "--time-cap-ms", "5")
    assert (sparse.status, sparse.stderr) == (0, "")


@pytest.mark.arm
@pytest.mark.parametrize("cpu", ["neoverse-n1", "max,sve-max-vq=1", "max,sve-max-vq=16,sve-default-vector-length=256"])
@pytest.mark.parametrize("name", NAMES)
def test_the_aarch64_kernels_write_a_whole_stream(name: str, cpu: str, built_arm: Builds) -> None:
    """The test runs without SVE, and with vectors of 128 and 2048 bits."""
    command = ["qemu-aarch64", "-cpu", cpu, str(built_arm[name])]
    whole_stream(command, name)
    assert run(command, *SMALL[name]).meta["arch"] == "aarch64"
