"""What load refuses, with which exit status and which message."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.kernels.building import run
from tests.kernels.load import BIND, ONE, OTHER, QUICK, TINY

pytestmark = pytest.mark.kernels


WRONG_USE = {
    "unknown": (["--delay", "1"], "unknown option --delay, did you mean --delays?"),
    "traffic": (["--traffic", "4:1"], "--traffic: 4:1 is not one of: all-reads 3:1"),
    "delay": (["--delays", "0,100001"], "--delays: 100001 is not between 0 and 100000"),
    "no level": (["--delays", ""], "specify at least one level with --delays, or use --targets"),
    "touch": (["--touch", "96"], "--touch: 96 is not one of: 64 128 256"),
    "one line": (["--size", "64"], "--size: 64 bytes are fewer than two lines of 64"),
    "less than a page": (
        ["--load-size", "8192", "--traffic", "triad"],
        "--load-size: 8192 bytes are fewer than a page of 4096 for each of 3 arrays",
    ),
    "a cpu twice": (["--cpus", f"{ONE},{ONE}"], f"--cpus: CPU {ONE} is specified twice"),
    "both at once": (
        ["--cpus", ONE, "--latency-cpu", ONE],
        f"--cpus: CPU {ONE} is the latency CPU and cannot run a load thread as well",
    ),
    "nodes": (
        ["--cpus", ONE, "--nodes", "0,0"],
        "--nodes: 2 nodes for 1 load CPUs; give one node for all CPUs, or one per CPU",
    ),
    "no command": (["--probe", "workload"], "--probe workload needs a command after --"),
    "an empty command": (["--probe", "workload", "--"], "--probe workload needs a command after --"),
    "a command for nothing": (["--", "true"], "a command after -- needs --probe workload"),
    "a target of nothing": (["--targets", "0"], "--targets: 0 is not between 1 and"),
}


@pytest.mark.parametrize("case", WRONG_USE)
def test_wrong_use_ends_with_2_and_says_what_is_wrong(case: str, load: Path) -> None:
    arguments, message = WRONG_USE[case]
    ran = run(load, *arguments)
    assert (ran.status, ran.lines) == (2, [])
    assert ran.stderr.startswith(f"load: {message}")
    assert ran.stderr.count("\n") == 1


CANNOT = {
    "no such cpu": (["--cpus", "8000"], "CPU 8000"),
    "no such latency cpu": (["--latency-cpu", "8000"], "CPU 8000"),
    "no such node": ([*BIND, "--nodes", "1023"], "memory cannot be bound to node 1023"),
    "no such latency node": ([*BIND, "--latency-node", "1023"], "memory cannot be bound to node 1023"),
    "no memory for the chain": ([*BIND, "--size", str(1 << 45), "--pages", "4k"], "not enough memory: "),
    "no memory for the load": (
        [*BIND, "--size", "4096", "--load-size", str(1 << 45), "--pages", "4k"],
        "not enough memory: ",
    ),
    "no such program": (
        [*QUICK, "--probe", "workload", "--", "/nowhere/at/all"],
        "the workload /nowhere/at/all cannot be started: No such file or directory",
    ),
    "a failing program": (
        [*QUICK, "--probe", "workload", "--", "sh", "-c", "exit 7"],
        "the workload sh ended with status 7",
    ),
    "a killed program": (
        [*QUICK, "--probe", "workload", "--", "sh", "-c", "kill -11 $$"],
        "the workload sh was terminated by signal 11",
    ),
}


@pytest.mark.parametrize("case", CANNOT)
def test_what_the_machine_cannot_do_ends_with_3(case: str, load: Path) -> None:
    arguments, message = CANNOT[case]
    ran = run(load, *arguments)
    assert ran.status == 3
    assert message in ran.stderr.splitlines()[-1]
    assert not ran.of("end")


@pytest.mark.parametrize("probe", [("--probe", "chain"), ("--probe", "workload", "--", "true")])
def test_a_mask_of_one_cpu_is_refused(probe: tuple[str, ...], load: Path) -> None:
    ran = run(["taskset", "-c", ONE, str(load)], *TINY, *probe)
    assert (ran.status, ran.lines) == (3, [])
    assert "loaded latency needs two CPUs" in ran.stderr and "--probe none" in ran.stderr


def test_a_cpu_outside_of_the_mask_is_refused(load: Path) -> None:
    assert ONE != OTHER, "needs two CPUs"
    for arguments in (["--cpus", OTHER], ["--latency-cpu", OTHER]):
        ran = run(["taskset", "-c", ONE, str(load)], *arguments, *TINY)
        assert (ran.status, ran.lines) == (3, [])
        assert f"CPU {OTHER} " in ran.stderr
