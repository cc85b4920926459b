"""Fixtures: guests that are started once for all tests in this folder. Those with several nodes run at the same time,
and the lab runs separately."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import pytest

from tests.machines.drives import Drive
from tests.machines.guest import Guest, Machine, Node
from tests.machines.lab import LAB_MACHINE
from tests.machines.recipes import AARCH64, X86_64

MACHINES = (
    Machine("pair", X86_64, 2, (Node("0", 384), Node("1", 384)), ((0, 1, 21),), drives=(Drive("PAIR01", node=1),)),
    Machine(
        "three",
        X86_64,
        4,
        (Node("0-1", 256), Node("2-3", 256), Node("", 256)),
        ((0, 1, 32), (0, 2, 14), (1, 2, 24)),
    ),
    Machine("arm", AARCH64, 2, (Node("0", 384), Node("1", 384)), ((0, 1, 21),), drives=(Drive("ARM01"),)),
    Machine(
        "narrow",
        X86_64,
        6,
        (Node("0-2", 192), Node("3-5", 192)),
        kernel="transparent_hugepage=never",
        setup="echo 0 >/sys/devices/system/cpu/cpu1/online",
        mask="0x2d",  # CPUs 0, 2, 3 and 5, of which all are online
        user="bench",
    ),
)


@contextmanager
def running(machines: Sequence[Machine]) -> Iterator[dict[str, Guest]]:
    """Provide these machines by name, booted at the same time and ready for logins."""
    folder = Path(tempfile.mkdtemp(prefix="asct-guests-"))
    started = {}
    try:
        for machine in machines:
            (folder / machine.name).mkdir()
            started[machine.name] = Guest(machine, folder / machine.name)
            started[machine.name].start()
        for guest in started.values():
            guest.wait()
        yield started
    finally:
        for guest in started.values():
            guest.stop()
        shutil.rmtree(folder, ignore_errors=True)


@pytest.fixture(scope="package")
def guests() -> Iterator[dict[str, Guest]]:
    """Provide all machines with several nodes by name."""
    with running(MACHINES) as started:
        yield started


@pytest.fixture(scope="module")
def lab() -> Iterator[Guest]:
    """Provide the machine with drives in all states. Each module has its own, because tests leave data on the
    drives."""
    with running([LAB_MACHINE]) as started:
        yield started["lab"]


@pytest.fixture(scope="package")
def pair(guests: dict[str, Guest]) -> Guest:
    """x86-64, two nodes with one CPU each."""
    return guests["pair"]


@pytest.fixture(scope="package")
def three(guests: dict[str, Guest]) -> Guest:
    """x86-64, two nodes with two CPUs each, and one that has only memory."""
    return guests["three"]


@pytest.fixture(scope="package")
def arm(guests: dict[str, Guest]) -> Guest:
    """aarch64 with SVE, two nodes with one CPU each."""
    return guests["arm"]


@pytest.fixture(scope="package")
def narrow(guests: dict[str, Guest]) -> Guest:
    """x86-64 with an ordinary account, little memory, no huge pages, CPU 1 offline, and CPU 4 outside the affinity
    mask."""
    return guests["narrow"]
