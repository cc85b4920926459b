"""A test that needs the machine alone waits for the other tests, and they wait for it."""

from __future__ import annotations

import os
import signal
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from pathlib import Path
from threading import Event

import pytest

from tests.alone import TURNS, machine, turn


@pytest.mark.parametrize(("first", "second"), [(True, True), (True, False), (False, True)])
def test_one_waits_for_the_other(first: bool, second: bool, tmp_path: Path) -> None:
    entered = Event()

    def enter() -> None:
        with machine(tmp_path, alone=second):
            entered.set()

    with ThreadPoolExecutor() as pool:
        with machine(tmp_path, alone=first):
            waiting = pool.submit(enter)
            assert not entered.wait(0.1)
        waiting.result(60)


def test_those_that_share_do_not_wait(tmp_path: Path) -> None:
    with machine(tmp_path, alone=False), machine(tmp_path, alone=False):
        pass


def test_as_many_compute_as_there_are_turns_and_one_more_waits(tmp_path: Path) -> None:
    entered = Event()

    def enter() -> None:
        with turn(tmp_path):
            entered.set()

    with ThreadPoolExecutor() as pool:
        with turn(tmp_path), ExitStack() as others:
            for _ in range(TURNS - 1):
                others.enter_context(turn(tmp_path))
            waiting = pool.submit(enter)
            assert not entered.wait(0.1)
        waiting.result(60)


def test_a_turn_ends_with_its_test_whatever_the_test_left_running(tmp_path: Path) -> None:
    """A forked process holds the locks of its parent."""
    with turn(tmp_path):
        child = os.fork()
        if child == 0:
            signal.pause()
            os._exit(0)
    try:
        with ThreadPoolExecutor() as pool:
            assert pool.submit(_all_turns, tmp_path).result(60)
    finally:
        os.kill(child, signal.SIGKILL)
        os.waitpid(child, 0)


def _all_turns(folder: Path) -> bool:
    with ExitStack() as all_of_them:
        for _ in range(TURNS):
            all_of_them.enter_context(turn(folder))
        return True
