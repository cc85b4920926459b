"""Every page of the synthetic runs obeys every rule, on the screen and on paper."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.browser.checks import page_problems, paper_problems
from tests.browser.look import report_of
from tests.browser.trees import TREES, write_tree

pytestmark = [pytest.mark.browser, pytest.mark.timeout(900)]
_TOO_LONG_FOR_PAPER = ("points-5000",)
_MOST_BYTES = {"quickstart": 2_500_000}
_MOST_BYTES_OF_LARGE = 8_000_000


@pytest.mark.parametrize("name", TREES)
def test_the_page_keeps_every_rule(browser: Any, tmp_path: Path, name: str) -> None:
    path = report_of(write_tree(name, tmp_path))
    assert path.stat().st_size <= _MOST_BYTES.get(name, _MOST_BYTES_OF_LARGE)
    assert page_problems(browser, path) == {}
    if name not in _TOO_LONG_FOR_PAPER:
        assert paper_problems(browser, path) == {}
