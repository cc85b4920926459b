"""load: the exact number of NOPs, the intended accesses in its loops, and self-checks that detect a loop that does
less."""

from __future__ import annotations

import re
import shutil
import subprocess
from itertools import pairwise
from pathlib import Path

import pytest

from tests.kernels.building import CHECKED, KERNELS, Builds, check_program, compile_sources, run, sources_of
from tests.kernels.disassembly import instructions
from tests.kernels.load import QUICK, TRAFFIC

pytestmark = pytest.mark.kernels

HERE = Path(__file__).parent
X86, ARM = "x86_64", pytest.param("aarch64", marks=pytest.mark.arm)
STORES = {
    "AVX512": ("vmovdqa64", "vmovntdq"), "AVX2": ("vmovdqa", "vmovntdq"), "SSE2": ("movdqa", "movntdq"),
    "NEON": ("stp", "stnp"), "SVE": ("st1d", "stnt1d"),
}  # fmt: skip
ISAS = {"x86_64": ("SSE2", "AVX2", "AVX512"), "aarch64": ("NEON", "SVE")}
PER_LINE = {"SSE2": 4, "AVX2": 2, "AVX512": 1, "NEON": 2, "SVE": 1}


@pytest.fixture(params=[X86, ARM])
def program(request: pytest.FixtureRequest) -> tuple[str, Path]:
    return request.param, request.getfixturevalue("built" if request.param == "x86_64" else "built_arm")["load"]


def sled(listing: list[tuple[int, str]]) -> list[int]:
    """Return the addresses of the last 64 NOPs in the longest sequence of adjacent NOPs."""
    runs: list[list[int]] = [[]]
    size = 1 if listing and any(text.startswith("jmp *") for _, text in listing) else 4
    for address, text in listing:
        if text == "nop":
            if runs[-1] and address - runs[-1][-1] != size:
                runs.append([])
            runs[-1].append(address)
    return max(runs, key=len)[-64:]


def test_the_nops_executed_are_those_asked_for(tmp_path: Path) -> None:
    """The NOPs are counted by single-stepping. Apart from two instructions per round of 64, no other instruction
    depends on the number."""
    check_program([HERE / "nops_count.c"], tmp_path, flags=("-static",))


def test_behind_each_step_lies_a_sled_of_64_nops(program: tuple[str, Path]) -> None:
    arch, _ = program
    for isa in ISAS[arch]:
        listing = instructions(program, f"steps_{isa}_TRIAD")
        nops = sled(listing)
        assert len(nops) == 64
        assert next(text for address, text in listing if address == nops[-1] + nops[1] - nops[0]).startswith("sub")


@pytest.mark.arm
def test_on_arm_each_landing_pad_leaves_as_many_nops_as_its_number(built_arm: Builds) -> None:
    listing = instructions(("aarch64", built_arm["load"]), "steps_NEON_TRIAD")
    end = sled(listing)[-1] + 4
    ways = [
        int(after.split()[1], 16)
        for (_, before), (_, after) in pairwise(listing)
        if before in ("bti j", "hint #0x24") and after.startswith("b ")
    ]
    assert [(end - way) // 4 for way in ways] == list(range(64))


@pytest.mark.parametrize("kind", ["steps", "turns"])
def test_loops_store_whole_lines_in_the_way_named(kind: str, program: tuple[str, Path]) -> None:
    """For a copy, there are as many stores as a line has vectors, all of the normal or all of the non-temporal kind."""
    units = 8 if kind == "turns" else 1
    for isa in ISAS[program[0]]:
        normal, streaming = STORES[isa]
        for body, wanted, unwanted in (("COPY", normal, streaming), ("NT_COPY", streaming, normal)):
            texts = [text for _, text in instructions(program, f"{kind}_{isa}_{body}")]
            stores = [text for text in texts if stores_vector(text)]
            assert len([text for text in stores if text.split()[0] == wanted]) == units * PER_LINE[isa], (isa, body)
            assert not [text for text in stores if text.split()[0] == unwanted]


def stores_vector(text: str) -> bool:
    """Return whether an instruction stores a vector register, excluding registers that a function saves on the
    stack."""
    if re.match(r"(stp|stnp) q", text) or text.startswith(("st1d", "stnt1d")):
        return "sp" not in text
    return re.match(r"v?mov(dqa|dqa64|ntdq) %[xyz]mm\d+,.*\(", text) is not None


def test_reads_load_every_line_and_store_none(program: tuple[str, Path]) -> None:
    load = {"SSE2": "movdqa", "AVX2": "vmovdqa", "AVX512": "vmovdqa64", "NEON": "ldp q", "SVE": "ld1d"}
    for isa in ISAS[program[0]]:
        texts = [text for _, text in instructions(program, f"turns_{isa}_READ")]
        loads = [text for text in texts if text.startswith(f"{load[isa]}") and not stores_vector(text)]
        assert len(loads) == 8 * PER_LINE[isa]
        assert not [text for text in texts if stores_vector(text)]


@pytest.mark.arm
@pytest.mark.parametrize("vector", [0, 16, 32, 48, 64, 128, 256])
def test_every_traffic_is_right_with_vectors_of_every_length(vector: int, built_arm: Builds) -> None:
    """The parameter is the number of bytes in an SVE register, or 0 without SVE. By default, the emulator starts
    programs with at most 64."""
    sve = f"sve-max-vq={vector // 16},sve-default-vector-length={vector}" if vector else "sve=off"
    for traffic, touch in zip(TRAFFIC, ("64", "128", "256") * len(TRAFFIC), strict=False):
        arguments = (*QUICK, "--traffic", traffic, "--touch", touch, "--delays", "3,0")
        ran = run(["qemu-aarch64", "-cpu", f"max,{sve}", str(built_arm["load"])], *arguments)
        assert (ran.status, ran.stderr) == (0, ""), traffic
        assert (ran.meta["width"], ran.meta["vector_bytes"]) == (("sve", vector) if vector else ("16", 16))


@pytest.mark.arm
@pytest.mark.parametrize(("width", "status"), [("16", 0), ("32", 0), ("64", 3), ("sve", 0)])
def test_a_width_on_arm_is_a_vector_of_exactly_that_length(width: str, status: int, built_arm: Builds) -> None:
    command = ["qemu-aarch64", "-cpu", "max,sve-max-vq=2", str(built_arm["load"])]
    ran = run(command, *QUICK, "--width", width, "--delays", "0")
    assert ran.status == status, ran.stderr
    if status == 0:
        assert ran.meta["vector_bytes"] == (16 if width == "16" else 32)


def test_threads_share_nothing_unordered(tmp_path: Path) -> None:
    program = compile_sources(sources_of("load"), tmp_path / "load", flags=("-g", "-fsanitize=thread"))
    command = ["setarch", "-R", str(program)]
    for probe in (("--probe", "chain", "--targets", "500000000"), ("--probe", "none")):
        ran = run(command, *QUICK, *probe, "--delays", "5,0")
        assert (ran.status, ran.stderr) == (0, "")


BROKEN = {
    "a store left out": ("X##_LOAD(a, k) X##_STORE(s, k)", "X##_LOAD(a, k)", "copy"),
    "another value stored": ("X##_LOAD(a, k) X##_MULTIPLY", "X##_LOAD(a, k)", "scale"),
    "a loaded array overwritten": (
        "TRAFFIC_READ(X, a, b, s, k) X##_LOAD",
        "TRAFFIC_READ(X, a, b, s, k) X##_SET",
        "all-reads",
    ),
    "every second line left out": ("k,0,1,2,3,4,5,6,7", "k,0,2,4,6", "1:1"),
}


@pytest.mark.parametrize("fault", BROKEN)
def test_a_loop_that_does_something_else_ends_with_4(fault: str, tmp_path: Path) -> None:
    right, wrong, traffic = BROKEN[fault]
    shutil.copytree(KERNELS, tmp_path / "kernels")
    files = [tmp_path / "kernels" / name for name in ("load/loops.c", "kit/traffic.h")]
    [changed] = [path for path in files if right in path.read_text()]
    changed.write_text(changed.read_text().replace(right, wrong))
    sources = sorted(str(path) for path in files[0].parent.glob("*.c"))
    command = ["gcc", *CHECKED, "-static", "-I.", "-Iarch/x86_64", *sources, "-o", str(tmp_path / "load")]
    subprocess.run(command, cwd=tmp_path / "kernels", check=True)
    ran = run(tmp_path / "load", *QUICK, "--traffic", traffic, "--delays", "0")
    assert ran.status == 4
    assert "differ from the result of" in ran.stderr and not ran.of("end")
