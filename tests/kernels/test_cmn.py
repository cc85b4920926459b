"""cmn reads the registers of synthetic meshes, in images and through /dev/mem. Whatever they contain, its work is
bounded."""

from __future__ import annotations

import json
import os
import random
import shutil
import struct
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from asct.facts.cmn.kernel_output import register_list
from asct.facts.cmn.mesh import mesh_of_dump
from tests.facts.cmn import generator as hw
from tests.facts.cmn.generator import Hardware, Model, Plug, build
from tests.facts.cmn.shapes import SHAPES, neoverse, slices
from tests.kernels.building import CMN_IMAGE, SANITIZED, SMALL, Builds, Ran, compile_sources, run, sources_of

pytestmark = pytest.mark.kernels

as_root = pytest.mark.skipif(os.geteuid() != 0, reason="becomes another account, or has a /dev of its own: needs root")

TINY = Model(0x434, 0x1000, (0x08, 0x10), (0x900, 0x908), first=0x1000)


def arguments(hardware: Hardware, image: Path, registers: str | None = None) -> list[str]:
    root = ("--root", str(hardware.root.offset)) if hardware.root.offset else ()
    return ["--from", str(image), "--registers", register_list() if registers is None else registers, *root]


def told(ran: Ran) -> list[dict[str, object]]:
    """Return all lines except those that every kernel prints."""
    return [line for line in ran.lines if line["t"] not in ("meta", "ready")]


def expected(hardware: Hardware, registers: str) -> list[dict[str, object]]:
    return [json.loads(line) for line in hardware.printed(registers).splitlines()][2:]


@pytest.mark.parametrize("name", SHAPES)
def test_prints_every_node_and_what_is_wanted_of_it(cmn: Path, name: str, tmp_path: Path) -> None:
    hardware = SHAPES[name]()
    image = hardware.write(tmp_path / "image")
    ran = run(cmn, *arguments(hardware, image))
    assert (ran.status, ran.stderr) == (0, "")
    assert told(ran) == expected(hardware, register_list())
    mesh = mesh_of_dump("".join(json.dumps(line) + "\n" for line in ran.lines))
    every = register_list(mesh)
    assert told(run(cmn, *arguments(hardware, image, every))) == expected(hardware, every)


@pytest.mark.arm
def test_prints_the_same_on_aarch64(built_arm: Builds, tmp_path: Path) -> None:
    hardware = SHAPES["CMN-700 3x7"]()
    image = hardware.write(tmp_path / "image")
    ran = run(["qemu-aarch64", str(built_arm["cmn"])], *arguments(hardware, image))
    assert (ran.status, ran.meta["arch"]) == (0, "aarch64")
    assert told(ran) == expected(hardware, register_list())


def test_the_image_of_the_quick_run_is_that_of_the_generator(tmp_path: Path) -> None:
    made = build(TINY, 1, 1, lambda x, y: [Plug(0, hw.P_HNF, (hw.HN_F,))], chi=2)
    assert made.write(tmp_path / "image").read_bytes() == CMN_IMAGE.read_bytes()
    assert SMALL["cmn"][1] == str(CMN_IMAGE)


def test_a_register_of_32_bits_is_read_as_one(cmn: Path, tmp_path: Path) -> None:
    hardware = build(TINY, 1, 1, lambda x, y: [Plug(0, hw.P_HNF, (hw.HN_F,))], chi=2)
    (home,) = hardware.devices[hardware.crosspoints[0].offset]
    home.registers |= {0x900: 0xFEDC_BA98_7654_3210, 0x908: 0xFFFF_FFFF_FFFF_FFFF}
    image = hardware.write(tmp_path / "image")
    ran = run(cmn, *arguments(hardware, image, "434/5:900w,904w,900,908"))
    assert ran.of("sample")[-1]["regs"] == [
        [0x900, 0x7654_3210], [0x904, 0xFEDC_BA98], [0x900, 0xFEDC_BA98_7654_3210], [0x908, 2**64 - 1],
    ]  # fmt: skip


def test_external_and_isolated_nodes_are_not_touched(cmn: Path, tmp_path: Path) -> None:
    """These nodes have no registers in the image. If the kernel read them, it would print zeros."""
    hardware = build(hw.CMN_S3, 2, 2, slices, revision=3, chi=6)
    for flag, xp in zip((hw.EXTERNAL, hw.ISOLATED), hardware.crosspoints[1:], strict=False):
        hardware.devices[xp.offset][0].flags = flag
        xp.children[0] |= flag
    ran = run(cmn, *arguments(hardware, hardware.write(tmp_path / "image")))
    assert [line["skipped"] for line in ran.of("sample") if "skipped" in line] == ["external", "isolation"]
    assert told(ran) == expected(hardware, register_list())


def test_device_isolation_keeps_it_off_all_devices(cmn: Path, tmp_path: Path) -> None:
    hardware = build(hw.CMN_S3, 2, 2, slices, revision=1, chi=6, global_info=1 << 44)
    ran = run(cmn, *arguments(hardware, hardware.write(tmp_path / "image")))
    assert ran.of("mesh")[0]["isolation"] is True
    assert (ran.end["nodes"], {line.get("skipped") for line in ran.of("sample")}) == (5, {None, "isolation"})
    assert told(ran) == expected(hardware, register_list())


def test_pointers_of_zero_are_left_out_but_in_a_cmn_600(cmn: Path, tmp_path: Path) -> None:
    """AmpereOneX reports more devices than it has. In a CMN-600, the root is elsewhere, so a node may be at offset
    0."""
    for model, most in ((hw.CMN_700, 0), (hw.CMN_600, 1)):
        hardware = build(model, 2, 2, neoverse if most == 0 else lambda x, y: [Plug(0, hw.P_HNF, (hw.HN_F,))], chi=2)
        hardware.crosspoints[0].children.append(0)
        image = hardware.write(tmp_path / "image")
        assert (
            sum(
                line["offset"] == 0 and line["parent"] is not None
                for line in run(cmn, *arguments(hardware, image)).of("sample")
            )
            == most
        )


def word(image: Path, at: int, value: int) -> None:
    with image.open("r+b") as file:
        file.seek(at)
        file.write(struct.pack("<Q", value))


def test_counts_that_cannot_be_are_bounded(cmn: Path, tmp_path: Path) -> None:
    hardware = SHAPES["CMN-600 2x2"]()
    image = hardware.write(tmp_path / "image")
    word(image, hardware.root.offset + 0x80, 0x100 << 16 | 0xFFFF)
    word(image, hardware.crosspoints[0].offset + 0x80, 0x100 << 16 | 0xFFFF)
    ran = run(cmn, *arguments(hardware, image))
    below = [line["parent"] for line in ran.of("sample")]
    assert ran.end["ok"] is True
    assert below.count(hardware.root.offset) == 256
    assert below.count(hardware.crosspoints[0].offset) == 32


def test_a_tree_that_bites_its_tail_ends(cmn: Path, tmp_path: Path) -> None:
    hardware = SHAPES["CMN-600 2x2"]()
    image = hardware.write(tmp_path / "image")
    for node in hardware.crosspoints:
        for at in range(4):
            word(image, node.offset + 0x100 + 8 * at, hardware.root.offset)
        word(image, node.offset + 0x80, 0x100 << 16 | 4)
    ran = run(cmn, *arguments(hardware, image))
    assert (ran.status, len(ran.of("sample"))) == (0, 1 + 4 * 5)


def test_nothing_outside_is_read(cmn: Path, tmp_path: Path) -> None:
    """The test uses every size of a small image, and every position of the end of the file. What lies beyond cannot be
    read and is not read."""
    hardware = build(TINY, 1, 1, lambda x, y: [Plug(0, hw.P_HNF, (hw.HN_F,))], chi=2)
    whole = hardware.write(tmp_path / "image").read_bytes()
    for size in (0x908, 0x1000, 0x1008, 0x1088, 0x1108, 0x2000, 0x2088, 0x2900, 0x2904, 0x2908):
        limited = run(cmn, *arguments(hardware, tmp_path / "image"), "--size", str(size))
        (tmp_path / "cut").write_bytes(whole[:size])
        cut = run(cmn, *arguments(hardware, tmp_path / "cut"))
        assert told(limited) == told(cut)
        assert (limited.status, cut.status) == (0, 0)
        nodes = limited.of("sample")
        assert all("info" in line or line["skipped"] == "unreadable" for line in nodes)
        readable = [
            pair
            for line in nodes
            for pair in line.get("regs", [])
            if pair[1] is not None and line["offset"] + pair[0] + 8 > size
        ]
        assert readable == []


def test_images_at_random_are_walked_clean_under_sanitizers(tmp_path: Path) -> None:
    program = compile_sources(sources_of("cmn"), tmp_path / "cmn", flags=SANITIZED)
    hardware = build(
        hw.Model(0x434, 0x1000, (0x08, 0x10), (0x900, 0x908), first=0x1000),
        2,
        2,
        lambda x, y: [Plug(0, hw.P_HNF, (hw.HN_F,))],
        chi=2,
    )
    image = hardware.write(tmp_path / "image")
    whole, chance = image.read_bytes(), random.Random(3)
    for _ in range(30):
        image.write_bytes(whole[: chance.choice((len(whole), chance.randrange(0x910, len(whole))))])
        for _ in range(chance.randint(1, 30)):
            at = chance.choice((0x80, 0x100, 0x108, 0x1080, 0x1100, 0x2080, 0x2100, chance.randrange(0x11, 0x8FF)))
            word(image, at & ~7, chance.choice((chance.getrandbits(64), chance.getrandbits(32), 0xFFFF, 2**64 - 1)))
        ran = run(program, *arguments(hardware, image))
        assert ran.status in (0, 3), ran.stderr
        assert ran.status == 3 or ran.end["ok"] is True
        mesh_of_dump("".join(json.dumps(line) + "\n" for line in ran.lines))


def test_the_image_is_left_as_it_is(cmn: Path, tmp_path: Path) -> None:
    hardware = SHAPES["CMN-600 2x2"]()
    image = hardware.write(tmp_path / "image")
    before = image.read_bytes()
    assert run(cmn, *arguments(hardware, image)).status == 0
    assert image.read_bytes() == before


@pytest.mark.parametrize(
    ("given", "why"),
    [
        ([], "specify either"),
        (["--base", "4096", "--from", "x"], "specify either"),
        (["--base", "4096"], "--size is missing"),
        (["--base", "4097", "--size", "4096"], "not page-aligned"),
        (["--base", str(2**63 - 4096), "--size", "8192"], "cannot be mapped"),
        (["--from", "x", "--registers", "434"], "--registers"),
        (["--from", "x", "--registers", "434/5"], "--registers"),
        (["--from", "x", "--registers", "434/5:"], "(the end)"),
        (["--from", "x", "--registers", "434/5:8;"], "(the end)"),
        (["--from", "x", "--registers", "434/5:8,"], "(the end)"),
        (["--from", "x", "--registers", "434/5:9"], "offset 9 is not a multiple of 8 bytes"),
        (["--from", "x", "--registers", "434/5:902w"], "offset 902 is not a multiple of 4 bytes"),
        (["--from", "x", "--registers", "434/5:10000"], "but found: 0"),
        (["--from", "x", "--registers", "4345/5:8"], "but found: 5/5:8"),
        (["--from", "x", "--registers", "434/5:8 "], "but found:  "),
        (["--from", "x", "--registers", "434/5:8x"], "but found: x"),
        (["--from", "x", "--registers", ";".join(["434/5:8"] * 4097)], "more than 4096"),
    ],
)
def test_odd_options_are_refused(cmn: Path, given: list[str], why: str) -> None:
    ran = run(cmn, *given)
    assert (ran.status, ran.lines) == (2, [])
    assert why in ran.stderr


def test_files_that_are_no_images_are_refused(cmn: Path, tmp_path: Path) -> None:
    (tmp_path / "empty").touch()
    (tmp_path / "zeros").write_bytes(bytes(8192))
    (tmp_path / "short").write_bytes(bytes(16))
    os.mkfifo(tmp_path / "pipe")
    for name, why in (
        ("none", "No such file"),
        ("empty", "is empty"),
        (".", "is not a register image"),
        ("pipe", "is not a register image"),
        ("zeros", "there is no mesh at this address"),
        ("short", "cannot be read"),
    ):
        ran = run(cmn, "--from", str(tmp_path / name))
        assert ran.status == 3 and why in ran.stderr, ran.stderr


@pytest.fixture
def public(cmn: Path) -> Iterator[Path]:
    """Provide the kernel in a place that every account can access."""
    with tempfile.TemporaryDirectory() as folder:
        Path(folder).chmod(0o755)
        yield Path(shutil.copy(cmn, folder))


@as_root
def test_without_root_it_says_so(public: Path) -> None:
    ran = run(public, "--base", "65536", "--size", "65536", user=65534)
    assert (ran.status, ran.lines) == (3, [])
    assert ran.stderr == "cmn: only root can read registers through /dev/mem\n"


def through_memory(cmn: Path, image: Path, *options: str) -> Ran:
    """Run the kernel with the image as /dev/mem, in a separate mount namespace."""
    script = 'mount -t tmpfs none /dev && cp --sparse=always "$0" /dev/mem && exec "$@"'
    command = ["unshare", "--mount", "--propagation", "private", "sh", "-c", script, str(image), str(cmn), *options]
    return run(command)


@as_root
def test_reads_through_dev_mem_from_the_base(cmn: Path, tmp_path: Path) -> None:
    hardware = build(TINY, 1, 1, lambda x, y: [Plug(0, hw.P_HNF, (hw.HN_F,))], chi=2)
    whole = hardware.write(tmp_path / "image").read_bytes()
    (tmp_path / "memory").write_bytes(bytes(0x10000) + whole)
    ran = through_memory(
        cmn, tmp_path / "memory", "--base", str(0x10000), "--size", str(len(whole)), "--registers", register_list()
    )
    assert (ran.status, ran.stderr) == (0, "")
    assert told(ran) == expected(hardware, register_list())
    mesh = mesh_of_dump("".join(json.dumps(line) + "\n" for line in ran.lines))
    assert (mesh.base, mesh.registers[0].address) == (0x10000, 0x10000)


@as_root
def test_reads_that_the_bus_answers_with_an_error_are_null(cmn: Path, tmp_path: Path) -> None:
    """The test uses a file that ends before its mapping does, which causes the same signal."""
    hardware = build(TINY, 1, 1, lambda x, y: [Plug(0, hw.P_HNF, (hw.HN_F,))], chi=2)
    whole = hardware.write(tmp_path / "image").read_bytes()
    (tmp_path / "memory").write_bytes(whole[:0x2000])
    ran = through_memory(
        cmn, tmp_path / "memory", "--base", "0", "--size", str(1 << 20), "--registers", f"{register_list()};434/6:2000"
    )
    assert (ran.status, ran.stderr) == (0, "")
    root, crosspoint, home = ran.of("sample")
    assert home == {"t": "sample", "offset": 0x2000, "parent": 0x1000, "skipped": "unreadable"}
    assert crosspoint["regs"][-1] == [0x2000, None] and root["info"] == hw.CFG
    assert ran.end == {"t": "end", "ok": True, "nodes": 2}


@as_root
def test_memory_that_cannot_be_opened_is_told(cmn: Path) -> None:
    script = 'mount -t tmpfs none /dev && exec "$0" --base 65536 --size 65536'
    ran = run(["unshare", "--mount", "--propagation", "private", "sh", "-c", script], str(cmn))
    assert (ran.status, ran.lines) == (3, [])
    assert ran.stderr == "cmn: /dev/mem cannot be opened: No such file or directory\n"
