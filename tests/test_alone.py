"""A test that wants the machine for itself waits for the others, and they for it."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from threading import Event

import pytest

from tests.alone import machine


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
