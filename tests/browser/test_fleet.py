"""The page of many hosts: one figure for all of them, and the figures of each host on demand."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.browser.look import drawn

pytestmark = pytest.mark.browser
HOSTS = tuple(f"n{number}" for number in range(1, 11))
SECTION = "storage-io-depth-sweep"
SHOWN = f"Array.from(document.querySelectorAll('#{SECTION}-of-host .plot'), (one) => one.dataset.figure)"


def wait_for(page: Any, host: str) -> list[str]:
    """Return the figures of the chosen host once they are drawn."""
    page.wait_for_selector(f"#{SECTION}-of-host[data-host={host}] .plot .main-svg", state="attached")
    drawn(page)
    return list(page.evaluate(SHOWN))


def test_the_figures_of_a_host_are_drawn_when_they_are_asked_for(reports: Callable[..., Path], opened: Any) -> None:
    with opened(reports(hosts=HOSTS)) as (page, seen):
        block = page.locator(f"#{SECTION}-of-host")
        assert page.evaluate(SHOWN) == []
        block.locator("summary").click()
        first = block.locator("select").input_value()
        assert all(f"-on-{first}-" in name for name in wait_for(page, first))
        other = next(host for host in reversed(HOSTS) if host != first)
        block.locator("select").select_option(other)
        names = wait_for(page, other)
        assert names and all(f"-on-{other}-" in name for name in names)
        assert page.evaluate("location.hash") == f"#{SECTION}-of-host?host={other}"
        pale = "Array.from(document.querySelectorAll('.of-host .plot'), (one) => one.data.some((d) => d.opacity < 1))"
        assert any(page.evaluate(pale))
        assert (seen.console, seen.errors) == ([], [])


def test_a_link_leads_to_the_figures_of_a_host(reports: Callable[..., Path], opened: Any) -> None:
    fragment = f"#{SECTION}-of-host?host=n7"
    with opened(reports(hosts=HOSTS), fragment=fragment) as (page, _):
        assert all("-on-n7-" in name for name in wait_for(page, "n7"))
        assert page.locator(f"#{SECTION}-of-host select").input_value() == "n7"


def test_without_javascript_nothing_can_be_chosen(reports: Callable[..., Path], opened: Any) -> None:
    with opened(reports(hosts=HOSTS), script=False) as (page, _):
        assert page.locator(".of-host").first.is_hidden()
