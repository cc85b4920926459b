"""Which vector registers are found, and which of them a width selects."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path

import pytest

from tests.kernels.building import CLANG, compile_sources

pytestmark = pytest.mark.kernels

PROGRAM = """
#include "kit/traffic.h"
#include "kit/width.h"

int main(int argc, char **argv)
{
    for (size_t i = 0; argc == 1 && i < TRAFFIC_COUNT; i++) {
        const struct traffic *traffic = traffic_find(TRAFFIC_TABLE[i].word);
        unsigned read = (unsigned)traffic_bus_read(traffic, 1), written = (unsigned)traffic_bus_written(traffic, 1);
        int permille = (int)traffic_bus_permille(traffic);
        printf("%s %u %u %d %d\\n", traffic->word, read, written, traffic->streaming, permille);
    }
    if (argc == 2) {
        enum vector_isa isa = width_pick(argv[1]);
        printf("%s %u\\n", vector_name(isa), vector_bytes(isa));
    }
    return 0;
}
"""
ARM_CASES = [
    ("sve=off", {"auto": "neon 16", "16": "neon 16", "sve": None, "32": None, "64": None}),
    ("sve-max-vq=1", {"auto": "sve 16", "16": "neon 16", "sve": "sve 16", "32": None}),
    ("sve-max-vq=2", {"auto": "sve 32", "32": "sve 32", "64": None}),
    ("sve-max-vq=3", {"auto": "sve 48", "sve": "sve 48", "32": None, "64": None}),
    ("sve-max-vq=4", {"auto": "sve 64", "64": "sve 64", "16": "neon 16"}),
    # Above 64 bytes a process gets longer vectors only if the default of the emulated system says so.
    ("sve-max-vq=8,sve-default-vector-length=128", {"auto": "sve 128", "64": None}),
    ("sve-max-vq=16,sve-default-vector-length=256", {"auto": "sve 256", "sve": "sve 256", "64": None}),
]


@pytest.fixture(scope="module", params=["gcc", "clang"])
def programs(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    folder = tmp_path_factory.mktemp("vector")
    source = folder / "vector.c"
    source.write_text(PROGRAM)
    return {
        arch: compile_sources([source], folder / arch, arch, compiler=CLANG[arch] if request.param == "clang" else ())
        for arch in ("x86_64", "aarch64")
    }


def pick(command: list[str], word: str) -> tuple[int, str]:
    done = subprocess.run([*command, word], capture_output=True, text=True, check=False)
    return done.returncode, done.stdout.strip() or done.stderr.strip()


def test_the_widths_of_x86_are_those_of_cpuinfo(programs: dict[str, Path]) -> None:
    flags = set(re.findall(r"^flags\s*:(.*)$", Path("/proc/cpuinfo").read_text(), re.MULTILINE)[0].split())
    program, widest = [str(programs["x86_64"])], ""
    for word, name, flag in (("16", "sse2", "sse2"), ("32", "avx2", "avx2"), ("64", "avx512", "avx512f")):
        status, text = pick(program, word)
        if flag in flags:
            assert (status, text) == (0, f"{name} {word}")
            widest = text
        else:
            assert status == 3 and f"of width {word}; supported: 16" in text
    assert pick(program, "auto") == (0, widest)
    assert pick(program, "sve")[0] == 3


@pytest.mark.parametrize(
    ("cpu", "most"), [("qemu64", "sse2 16"), ("max,avx2=off", "sse2 16"), ("max,fma=off", "sse2 16")]
)
def test_a_processor_without_avx2_gets_sse2(cpu: str, most: str, programs: dict[str, Path]) -> None:
    assert pick(["qemu-x86_64", "-cpu", cpu, str(programs["x86_64"])], "auto") == (0, most)


@pytest.mark.arm
@pytest.mark.parametrize(("cpu", "found"), ARM_CASES, ids=[cpu for cpu, _ in ARM_CASES])
def test_widths_of_aarch64_follow_the_vector_length(
    cpu: str, found: dict[str, str | None], programs: dict[str, Path]
) -> None:
    command = ["qemu-aarch64", "-cpu", f"max,{cpu}", str(programs["aarch64"])]
    for word, expected in found.items():
        status, text = pick(command, word)
        if expected is None:
            assert status == 3 and f"of width {word}; supported:" in text
        else:
            assert (status, text) == (0, expected)


def test_ratios_are_those_of_the_bus(programs: dict[str, Path]) -> None:
    done = subprocess.run([str(programs["x86_64"])], capture_output=True, text=True, check=True)
    rows = {line.split()[0]: [int(part) for part in line.split()[1:]] for line in done.stdout.splitlines()}
    assert len(rows) == 13
    for word, (read, written, streaming, permille) in rows.items():
        ratio = re.match(r"(\d):(\d)", word)
        if ratio:
            assert read == int(ratio.group(1)) * written // int(ratio.group(2))
        assert bool(streaming) == word.startswith("nt-") or word == "2:1-nt"
        useful = read + written - (0 if streaming else written)
        assert permille == 1000 * (read + written) // useful
    assert rows["all-reads"][:2] == [1, 0] and rows["triad"][:2] == [3, 1] and rows["nt-triad"][:2] == [2, 1]
