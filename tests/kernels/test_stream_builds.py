"""stream for every vector length, the code that the assembler generates for its loops, and broken loops."""

from __future__ import annotations

import re
import shutil
import subprocess
from pathlib import Path

import pytest

from tests.kernels.building import KERNELS, Builds, compile_sources, run, sources_of
from tests.kernels.disassembly import instructions
from tests.kernels.test_stream import BOTH, QUICK, WORDS

pytestmark = pytest.mark.kernels

EVERYTHING = ("--traffic", ",".join(WORDS), "--sizes", "12288,300000", "--variants", "all", *QUICK)
LENGTHS = [
    ("sve=off", "neon", 16),
    ("sve-max-vq=1", "sve", 16),
    ("sve-max-vq=2", "sve", 32),
    ("sve-max-vq=3", "sve", 48),
    ("sve-max-vq=4", "sve", 64),
    ("sve-max-vq=8,sve-default-vector-length=128", "sve", 128),
    ("sve-max-vq=16,sve-default-vector-length=256", "sve", 256),
]
BODIES = {
    "READ": (1, 0), "FOLD": (1, 0), "READ_2_SET_1": (2, 1), "READ_1_SET_1": (1, 1), "READ_2_STREAM_1": (2, 1),
    "SET": (0, 1), "COPY": (1, 1), "SCALE": (1, 1), "ADD": (2, 1), "TRIAD": (2, 1), "NT_SET": (0, 1), "NT_COPY": (1, 1),
    "NT_TRIAD": (2, 1),
}  # fmt: skip
"""Lines loaded and stored for each line of an array, keyed by loop name."""
STREAMING = {"READ_2_STREAM_1", "NT_SET", "NT_COPY", "NT_TRIAD"}
SETS = {
    "SSE2": ("x86_64", 4, "xmm", r"movdqa|movapd|addpd|pxor", r"movdqa", r"movntdq"),
    "AVX2": ("x86_64", 2, "ymm", r"vmovdqa|vaddpd|vfmadd231pd|vpxor", r"vmovdqa", r"vmovntdq"),
    "AVX512": ("x86_64", 1, "zmm", r"vmovdqa64|vaddpd|vfmadd231pd|vpxorq", r"vmovdqa64", r"vmovntdq"),
    "NEON": ("aarch64", 2, "q", r"ldp", r"stp", r"stnp"),
    "SVE": ("aarch64", 1, "z", r"ld1d", r"st1d", r"stnt1d"),
}
"""The architecture, the accesses per unit, the kind of register, and the instructions for loads, stores and
non-temporal stores."""


def sources(folder: Path, old: str, new: str) -> Path:
    """Return a copy of the kernels with one change in the file that contains `old`."""
    copy = folder / "kernels"
    shutil.copytree(KERNELS, copy)
    changed = [path for path in [*copy.glob("stream/*.c"), *copy.glob("arch/*/*.h")] if old in path.read_text()]
    assert len(changed) == 1, changed
    changed[0].write_text(changed[0].read_text().replace(old, new))
    return copy


def build(kernels: Path, target: Path) -> Path:
    flags = ["-O2", "-std=c11", "-static", "-pthread", "-D_GNU_SOURCE", "-I.", "-Iarch/x86_64"]
    files = [str(path) for path in sorted((kernels / "stream").glob("*.c"))]
    subprocess.run(["gcc", *flags, *files, "-o", str(target)], cwd=kernels, check=True)
    return target


LAST = 'F(X, argument, "6") F(X, argument, "7")\n'
LINE = 'VECTOR_4(F, p, k) F(p, k, "0", "xmm0") F(p, k, "16", "xmm1")'
TURNS = "uint64_t n = s->bytes / step;"
FILL = "    pattern_fill(walker->start, walker->seed, (uint64_t)(start - walker->start), bytes);\n"
BROKEN = {
    "a line of eight is left out": (LAST, 'F(X, argument, "6")\n'),
    "half of a line is left out": (LINE, 'VECTOR_4(F, p, k) F(p, k, "0", "xmm0")'),
    "the last turn is left out": (TURNS, "uint64_t n = s->bytes / step - (s->bytes > step);"),
    "the pages were never written": (FILL, "    (void)walker, (void)start, (void)bytes;\n"),
    "more is written than asked": (TURNS, "uint64_t n = s->bytes / step + 1;"),
}
LOADING = ("all-reads", "nt-copy", "triad")
SEEN_BY = dict.fromkeys(BROKEN, ("write", *LOADING)) | {
    "the pages were never written": LOADING,
    "more is written than asked": ("write", "nt-copy", "triad"),
}
"""The access patterns whose results each fault changes."""


@pytest.mark.parametrize("fault", BROKEN)
def test_a_loop_that_does_not_do_what_it_should_ends_with_4(fault: str, tmp_path: Path) -> None:
    program = build(sources(tmp_path, *BROKEN[fault]), tmp_path / "stream")
    for traffic in SEEN_BY[fault]:
        arguments = ("--traffic", traffic, "--sizes", "300000", "--width", "16", "--variants", "all", *QUICK)
        ran = run(program, *arguments)
        assert ran.status == 4, (traffic, ran.stderr)
        assert f"traffic {traffic}, loop " in ran.stderr and "has the wrong value" in ran.stderr
        assert not ran.of("end")


@pytest.mark.parametrize(
    "flags",
    [("-g", "-fsanitize=thread"), ("-g", "-fsanitize=address,undefined", "-fno-sanitize-recover=all")],
    ids=["threads", "memory"],
)
def test_all_loops_are_clean_under_sanitizers(flags: tuple[str, ...], tmp_path: Path) -> None:
    program = compile_sources(sources_of("stream"), tmp_path / "stream", flags=flags)
    ran = run(program, "--cpus", BOTH, *EVERYTHING)
    assert (ran.status, ran.stderr) == (0, "")


@pytest.mark.arm
@pytest.mark.parametrize(("cpu", "isa", "vector"), LENGTHS, ids=[cpu for cpu, _, _ in LENGTHS])
def test_every_loop_holds_at_every_vector_length(cpu: str, isa: str, vector: int, built_arm: Builds) -> None:
    ran = run(["qemu-aarch64", "-cpu", f"max,{cpu}", str(built_arm["stream"])], *EVERYTHING)
    assert (ran.status, ran.stderr) == (0, "")
    one = ran.of("sample")[0]
    assert (one["isa"], one["vector_bytes"]) == (isa, vector)
    assert {sample["traffic"] for sample in ran.of("sample")} == set(WORDS)
    assert one["grain_bytes"] == 8 * (vector if isa == "sve" else 64)


def hot_loop(program: Path, arch: str, function: str) -> list[str]:
    """Return the instructions from the target of the first backward branch to the branch."""
    found = instructions((arch, program), function)
    for address, line in found:
        branch = re.match(r"(?:jne|b\.ne|b\.any) ([0-9a-f]+)", line)
        if branch and int(branch.group(1), 16) < address:
            return [one for at, one in found if int(branch.group(1), 16) <= at <= address]
    raise AssertionError(f"{function} has no loop")


def count(lines: list[str], mnemonics: str, register: str, *, store: bool, arch: str) -> int:
    """Count the instructions with these names that access memory in one direction."""
    memory = r"\(%r\w+\)" if arch == "x86_64" else r"\["
    found = [line for line in lines if re.match(rf"(?:{mnemonics})\b", line) and re.search(memory, line)]
    assert all(re.search(rf"[%{{ ]{register}\d+", line) for line in found), found
    if arch == "x86_64":
        found = [line for line in found if line.endswith(")") == store]
    return len(found)


@pytest.mark.parametrize(
    "isa", [name if SETS[name][0] == "x86_64" else pytest.param(name, marks=pytest.mark.arm) for name in SETS]
)
@pytest.mark.parametrize("body", BODIES)
def test_hot_loops_are_the_loads_and_stores_that_are_meant(
    body: str, isa: str, built: Builds, built_arm: Builds
) -> None:
    arch, accesses, register, load, store, streaming = SETS[isa]
    program = (built if arch == "x86_64" else built_arm)["stream"]
    loads, stores = BODIES[body]
    for suffix in ["", *([] if body == "FOLD" else ["_prefetch"])]:
        lines = hot_loop(program, arch, f"stream_{isa}_{body}{suffix}")
        normal, nontemporal = (0, stores) if body in STREAMING else (stores, 0)
        assert count(lines, load, register, store=False, arch=arch) == 8 * accesses * loads
        assert count(lines, store, register, store=True, arch=arch) == 8 * accesses * normal
        assert count(lines, streaming, register, store=True, arch=arch) == 8 * accesses * nontemporal
        fetched = [line for line in lines if line.startswith(("prefetch", "prfm", "prfd"))]
        assert len(fetched) == (8 * loads if suffix else 0)
        assert not [line for line in lines if re.match(r"(call|bl|push|pop|ret)\b", line)]
