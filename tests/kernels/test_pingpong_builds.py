"""pingpong built by every compiler for both architectures, and the code that they generate for its timed loops."""

from __future__ import annotations

import re
from itertools import pairwise
from pathlib import Path

import pytest

from tests.kernels.building import CLANG, compile_sources, run, sources_of
from tests.kernels.disassembly import instructions
from tests.kernels.pingpong import BOTH

pytestmark = pytest.mark.kernels

SMALL = ("--cpus", BOTH, "--turns", "5", "--batches", "8", "--addresses", "2", "--time-cap-ms", "400")
ARM = pytest.param("aarch64", marks=pytest.mark.arm)


def build(arch: str, compiler: str, folder: Path) -> Path:
    return compile_sources(
        sources_of("pingpong"), folder / "pingpong", arch, compiler=CLANG[arch] if compiler == "clang" else ()
    )


@pytest.fixture(scope="module", params=["gcc", "clang"])
def compiler(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture(scope="module", params=["x86_64", ARM])
def program(
    request: pytest.FixtureRequest, compiler: str, tmp_path_factory: pytest.TempPathFactory
) -> tuple[str, Path]:
    return request.param, build(request.param, compiler, tmp_path_factory.mktemp(compiler))


def texts_of(program: tuple[str, Path], function: str) -> list[str]:
    return [text for _, text in instructions(program, function)]


def test_it_runs(program: tuple[str, Path]) -> None:
    arch, path = program
    ran = run([*(["qemu-aarch64"] if arch == "aarch64" else []), str(path)], *SMALL)
    assert ran.status == 0, ran.stderr
    assert ran.meta["arch"] == arch and len(ran.of("sample")) == 4
    assert ran.meta["swap"] == ("cmpxchg" if arch == "x86_64" else "lse")


@pytest.mark.arm
def test_cores_without_the_instruction_swap_by_exclusive_pairs(compiler: str, tmp_path: Path) -> None:
    path = build("aarch64", compiler, tmp_path)
    ran = run(["qemu-aarch64", "-cpu", "cortex-a57", str(path)], "--methods", "cas", *SMALL)
    assert ran.status == 0, ran.stderr
    assert ran.meta["swap"] == "exclusive"


@pytest.mark.parametrize("side", ["lead", "follow"])
@pytest.mark.parametrize("method", ["token", "cas"])
def test_no_poll_pauses(method: str, side: str, program: tuple[str, Path]) -> None:
    texts = texts_of(program, f"exchange_{method}_{side}")
    assert not [text for text in texts if re.match(r"(pause|yield|wfe|isb|[lm]fence|mfence|rdtsc|mrs)\b", text)]


def test_messages_are_ordered_by_acquire_and_release_on_arm(program: tuple[str, Path]) -> None:
    if program[0] == "x86_64":  # where every load and store is
        texts = texts_of(program, "exchange_token_lead")
        assert not [text for text in texts if re.match(r"(xchg %|lock)", text) and "(" in text]
        return
    for side in ("lead", "follow"):
        texts = texts_of(program, f"exchange_token_{side}")
        assert [text for text in texts if text.startswith(("ldar ", "ldapr "))]
        assert [text for text in texts if text.startswith("stlr ")]


def test_a_poll_is_a_load_a_comparison_and_a_branch_eight_times(program: tuple[str, Path]) -> None:
    loads = {"x86_64": r"mov (0x0)?\(%\w+\),%\w+", "aarch64": r"(ldar|ldapr) x\d+, \[x\d+\]"}[program[0]]
    for side in ("lead", "follow"):
        texts = texts_of(program, f"exchange_token_{side}")
        at = [i for i, text in enumerate(texts) if re.fullmatch(loads, text)]
        assert len(at) >= 8
        close = [b - a for a, b in pairwise(at)]
        assert sum(gap == 3 for gap in close) >= 6, texts


def test_a_step_is_one_dependent_load_and_one_beside_it(program: tuple[str, Path]) -> None:
    texts = texts_of(program, "ring_walk")
    assert not [text for text in texts if re.match(r"(call|bl)\b", text)]
    pattern = {"x86_64": r"mov (0x0)?\(%(r\w+)\),%(r\w+)", "aarch64": r"ldr (x\d+), \[(x\d+)\]"}[program[0]]
    chained = [found for text in texts if (found := re.fullmatch(pattern, text))]
    both = {"x86_64": (2, 3), "aarch64": (1, 2)}[program[0]]
    dependent = [found for found in chained if found.group(both[0]) == found.group(both[1])]
    pairs = [text for text in texts if re.match(r"ldp x\d+, x\d+, \[x\d+\]", text)]
    assert len(dependent) + len(pairs) >= 1, texts
