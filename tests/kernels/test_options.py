"""Options, their description, and the exit status for everything that cannot be done."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest

from tests.kernels.building import NAMES, Builds, run

pytestmark = pytest.mark.kernels

CGROUP_MEMORY = Path("/sys/fs/cgroup/memory")
WRONG_USE = {
    "unknown": (["--strid", "64"], "unknown option --strid, did you mean --stride?"),
    "unknown, nothing like it": (["--zzzzzz", "64"], "unknown option --zzzzzz; valid options: --min-size"),
    "no option at all": (["foo"], "unknown option foo"),
    "no value": (["--seed"], "--seed needs a value"),
    "twice": (["--seed", "1", "--seed", "2"], "--seed is specified twice"),
    "not a number": (["--seed", "1x"], "--seed: `1x` is not an integer"),
    "empty number": (["--seed", ""], "--seed: `` is not an integer"),
    "beyond 64 bits": (["--seed", "99999999999999999999"], "--seed: `99999999999999999999` is not an integer"),
    "out of range": (["--points-per-octave", "0"], "--points-per-octave: 0 is not between 1 and 64"),
    "bad list": (["--sizes", "128,abc"], "--sizes: `abc` is not an integer"),
    "list with a gap": (["--sizes", "128,,256"], "--sizes: `` is not an integer"),
    "bad choice": (["--pages", "3m"], "--pages: 3m is not one of: auto 4k thp 2m 1g"),
    "one line": (["--sizes", "64"], "--sizes: 64 bytes are fewer than two lines of 64"),
    "one line of the grid": (
        ["--min-size", "128", "--stride", "256"],
        "--min-size: 128 bytes are fewer than two lines of 256",
    ),
    "crooked stride": (["--stride", "24"], "--stride: 24 is not a multiple of 16"),
    "empty range": (["--min-size", "4096", "--max-size", "2048"], "--min-size: 4096 is above --max-size 2048"),
}


WITHOUT_CHANCE = {"cmn", "cmnwatch"}
"""Kernels that use no random numbers, because they read registers and count events."""


@pytest.mark.parametrize("case", WRONG_USE)
def test_wrong_use_ends_with_2_and_says_what_is_wrong(case: str, chase: Path) -> None:
    arguments, message = WRONG_USE[case]
    if case == "one line":
        arguments = [*arguments, "--stride", "64"]
    ran = run(chase, *arguments)
    assert ran.status == 2
    assert ran.lines == []
    assert ran.stderr.startswith(f"chase: {message}")
    assert ran.stderr.count("\n") == 1


@pytest.mark.parametrize(("pages", "page_bytes"), [("2m", 1 << 21), ("1g", 1 << 30)])
def test_more_pages_than_a_pool_can_have_end_with_3_and_name_both_counts(
    pages: str, page_bytes: int, chase: Path
) -> None:
    needed = (1 << 45) // page_bytes
    ran = run(chase, "--pages", pages, "--sizes", str(1 << 45))
    assert ran.status == 3
    assert f"chase: pages are not available: {pages}: " in ran.stderr
    assert f" free, {needed} needed, and " in ran.stderr or "has no pages of" in ran.stderr


def test_more_memory_than_there_is_ends_with_3_and_names_need_and_rest(chase: Path) -> None:
    ran = run(chase, "--max-size", str(1 << 45), "--pages", "4k")
    assert ran.status == 3
    assert "not enough memory: " in ran.stderr and " bytes needed, " in ran.stderr and ran.stderr.endswith(" free\n")


def test_a_cpu_that_does_not_exist_ends_with_3(chase: Path) -> None:
    ran = run(chase, "--cpu", "8191")
    assert (ran.status, ran.lines) == (3, [])
    assert ran.stderr.startswith("chase: CPU 8191 does not exist (present: 0")


def test_a_cpu_outside_of_the_mask_ends_with_3(chase: Path) -> None:
    mask = sorted(os.sched_getaffinity(0))
    assert len(mask) > 1, "needs two CPUs"
    ran = run(["taskset", "-c", str(mask[0]), str(chase)], "--cpu", str(mask[1]))
    assert ran.status == 3
    assert f"CPU {mask[1]} is not in the affinity mask of this process (1 CPUs)" in ran.stderr


@pytest.mark.skipif(
    not CGROUP_MEMORY.exists() or os.geteuid() != 0, reason="needs control groups of version 1, as root"
)
def test_the_memory_limit_of_the_control_group_holds(chase: Path) -> None:
    group = CGROUP_MEMORY / f"asct-test-{os.getpid()}"
    group.mkdir()
    try:
        (group / "memory.limit_in_bytes").write_text(f"{64 << 20}\n")
        enter = ["sh", "-c", f'echo $$ > {group}/cgroup.procs && exec "$0" "$@"', str(chase)]
        for pages in ("4k", "auto", "2m"):
            ran = run(enter, "--sizes", str(128 << 20), "--pages", pages)
            assert ran.status == 3, pages
            assert "not enough memory: " in ran.stderr or "less than an eighth of the " in ran.stderr
        assert run(enter, "--sizes", "8388608", "--pages", "4k", "--time-cap-ms", "5").status == 0
    finally:
        group.rmdir()


def test_a_node_that_is_not_there_ends_with_3(chase: Path) -> None:
    ran = run(chase, "--node", "1023", "--sizes", "4096")
    assert ran.status == 3
    assert "memory cannot be bound to node 1023" in ran.stderr


@pytest.mark.parametrize("name", NAMES)
def test_describe_is_one_json_line_that_names_type_unit_and_default(name: str, built: Builds) -> None:
    ran = run(built[name], "--describe")
    assert ran.status == 0
    (described,) = ran.lines
    assert described["t"] == "describe" and described["kernel"] == name and described["abi"] == 1
    names = [option["name"] for option in described["options"]]
    assert len(set(names)) == len(names) and ("seed" in names) != (name in WITHOUT_CHANCE)
    for option in described["options"]:
        assert {"name", "type", "unit", "default", "help"} <= set(option)
        assert option["type"] in ("integer", "integers", "choice", "choices", "text")
        if option["type"] == "integer":
            assert option["min"] <= option["default"] <= option["max"]
        if option["type"] == "choice":
            assert option["default"] in option["choices"].split()


def test_what_describe_calls_a_default_is_taken_and_echoed(chase: Path) -> None:
    (described,) = run(chase, "--describe").lines
    usual = {option["name"]: option["default"] for option in described["options"]}
    arguments = [part for name, value in usual.items() if value != "" for part in (f"--{name}", str(value))]
    arguments[arguments.index("--max-size") + 1] = "4096"
    options = run(chase, *arguments).meta["options"]
    settled = {"min-size": 2 * options["stride"], "max-size": 4096, "sizes": [], "stride": options["stride"]}
    assert options == {**usual, **settled}


def test_help_lists_every_option(chase: Path) -> None:
    (described,) = run(chase, "--describe").lines
    text = subprocess.run([str(chase), "--help"], capture_output=True, text=True, check=True).stdout
    assert all(f"--{option['name']} " in text for option in described["options"])
