"""What pingpong refuses, and with which message."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.kernels.building import run
from tests.kernels.pingpong import BOTH, CPUS, QUICK, pretending

pytestmark = pytest.mark.kernels

WRONG_USE = {
    "a CPU twice": (["--cpus", "1,0,1"], "--cpus: 1 is listed twice"),
    "negative CPU": (["--cpus", "-1,0"], "--cpus: -1 is not between 0 and 8191"),
    "no list": (["--cpus", "0-3"], "--cpus: `0-3` is not an integer"),
    "groups that do not fit": (["--cpus", "0,1", "--groups", "0,0,1"], "--groups: 3 numbers for 2 CPUs of --cpus"),
    "groups of unnamed CPUs": (["--groups", "0,1"], "--groups: 2 numbers for 0 CPUs of --cpus"),
    "unknown method": (["--methods", "token,swap"], "--methods: swap is not one of: token cas chain"),
    "a method twice": (["--methods", "cas,cas"], "--methods: cas is listed twice"),
    "no method": (["--methods", ""], "--methods: select at least one of: token cas chain"),
    "no turn": (["--turns", "0"], "--turns: 0 is not between 1 and 1000000"),
    "no address": (["--addresses", "0"], "--addresses: 0 is not between 1 and 64"),
    "tiny chain": (["--chain-bytes", "64"], "--chain-bytes: 64 is not between 4096 and 16777216"),
    "unknown option": (["--turn", "9"], "unknown option --turn, did you mean --turns?"),
}


@pytest.mark.parametrize("case", WRONG_USE)
def test_wrong_use_ends_with_2_and_says_what_is_wrong(case: str, pingpong: Path) -> None:
    arguments, message = WRONG_USE[case]
    ran = run(pingpong, *arguments, *([] if "--cpus" in arguments or "--groups" in arguments else ["--cpus", BOTH]))
    assert (ran.status, ran.lines, ran.stderr) == (2, [], f"pingpong: {message}{rest(ran.stderr, message)}\n")


def rest(stderr: str, message: str) -> str:
    """Return the text that the suggestion of an option adds."""
    return stderr.rstrip("\n").partition(message)[2]


def test_one_cpu_ends_with_3(pingpong: Path) -> None:
    cpu = str(CPUS[0])
    message = f"pingpong: two CPUs are needed, but only CPU {cpu} is available\n"
    for command in ([str(pingpong), "--cpus", cpu], ["taskset", "-c", cpu, str(pingpong)]):
        ran = run(command, *QUICK)
        assert (ran.status, ran.lines, ran.stderr) == (3, [], message)


def test_a_cpu_that_is_not_there_ends_with_3(pingpong: Path) -> None:
    ran = run(pingpong, "--cpus", f"{CPUS[0]},8191")
    assert ran.status == 3 and ran.lines == []
    present = Path("/sys/devices/system/cpu/present").read_text().strip()
    assert ran.stderr == f"pingpong: CPU 8191 does not exist (present: {present})\n"


def test_a_cpu_outside_of_the_mask_ends_with_3(pingpong: Path) -> None:
    first, second = CPUS[:2]
    ran = run(["taskset", "-c", str(first), str(pingpong)], "--cpus", f"{first},{second}")
    assert ran.status == 3 and ran.lines == []
    assert f"CPU {second} is not in the affinity mask of this process (1 CPUs)" in ran.stderr


def test_a_node_that_is_not_there_ends_with_3(pingpong: Path) -> None:
    ran = run(pingpong, "--cpus", BOTH, "--node", "1023", *QUICK)
    assert ran.status == 3 and "memory cannot be bound to node 1023" in ran.stderr


def test_a_page_kind_that_is_not_to_be_had_ends_with_3(pingpong: Path) -> None:
    ran = run(["setpriv", "--reuid", "65534", "--clear-groups", str(pingpong)], "--cpus", BOTH, "--pages", "1g", *QUICK)
    assert ran.status == 3 and ran.stderr.startswith("pingpong: pages are not available: 1g: ")


def test_more_cpus_than_a_list_holds_are_refused(tmp_path: Path) -> None:
    ran = run(pretending(1025, tmp_path), *QUICK)
    assert (ran.status, ran.stderr) == (3, "pingpong: more than 1024 CPUs: select some with --cpus\n")


def test_a_mask_is_respected_whatever_the_order(pingpong: Path) -> None:
    both = f"{CPUS[1]},{CPUS[0]}"
    ran = run(pingpong, "--cpus", both, "--methods", "token", *QUICK)
    assert ran.status == 0, ran.stderr
    (sample,) = ran.of("sample")
    assert (sample["cpu_a"], sample["cpu_b"]) == (CPUS[1], CPUS[0])
