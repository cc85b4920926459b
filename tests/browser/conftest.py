"""Fixtures: one headless Chromium for the session, and pages that record what they do."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from asct.analysis.view import open_view
from asct.export import write
from tests.browser.look import Seen, chromium, drawn, watched
from tests.export.fakes import Fakes
from tests.export.sample import Sample, write_sample


@pytest.fixture(scope="session")
def browser() -> Iterator[Any]:
    with chromium() as one:
        yield one


@pytest.fixture
def opened(browser: Any) -> Callable[..., Any]:
    """`opened(path, width=390, dark=True)` is a context that provides `(page, seen)`, with the figures of the page
    drawn."""

    @contextmanager
    def open_page(
        path: Path, width: int = 1280, dark: bool = False, script: bool = True, fragment: str = ""
    ) -> Iterator[tuple[Any, Seen]]:
        scheme = "dark" if dark else "light"
        context = browser.new_context(
            viewport={"width": width, "height": 900}, color_scheme=scheme, java_script_enabled=script
        )
        page, seen = watched(context)
        page.goto(path.as_uri() + fragment)
        if script:
            drawn(page)
        try:
            yield page, seen
        finally:
            context.close()

    return open_page


@pytest.fixture(scope="session")
def reports(tmp_path_factory: pytest.TempPathFactory) -> Callable[..., Path]:
    """`reports(hosts=(...), ...)` returns the path of the report on a sample run, which is written only once per
    sample."""
    made: dict[Sample, Path] = {}

    def make(**changes: Any) -> Path:
        sample = Sample(**changes)
        if sample not in made:
            view = open_view(write_sample(tmp_path_factory.mktemp("results"), sample), Fakes())
            [made[sample]] = write(view, "html", view.root)
        return made[sample]

    return make
