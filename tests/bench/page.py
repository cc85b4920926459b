"""The report page of a run with 5,000 points: the time to render it, its size, and how soon Chromium shows it."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

from tests.bench.harness import asct, scratch
from tests.bench.measure import command, least_and_middle, rounds, show
from tests.browser.look import chromium, drawn, until
from tests.browser.trees import write_tree

ROUNDS = 5
_PAINT = "performance.getEntriesByName('first-contentful-paint')[0].startTime"


def page() -> None:
    """Measure `asct report` for the tree `points-5000`, the size of the page, and the page in a headless Chromium."""
    run = write_tree("points-5000", scratch())
    (costs,) = rounds(ROUNDS, lambda: command(asct("report", str(run), "--format", "html")))
    path = run / "report.html"
    paints, figures, complete = zip(*(_opened(path) for _ in range(ROUNDS)), strict=True)
    size = path.stat().st_size / 1e6
    show("asct report of 5,000 points as HTML", *least_and_middle([cost.wall_s for cost in costs]), "s", 10)
    show("  size of the page", size, size, "MB", 8)
    show("  first paint", *least_and_middle(paints), "ms", 1000)
    show("  first figure", *least_and_middle(figures), "ms", None)
    show("  all figures", *least_and_middle(complete), "ms", None)


def _opened(path: Path) -> tuple[float, float, float]:
    """Open the page in a new Chromium, and return the times in ms at which it showed something, one figure, and all
    figures outside of closed sections."""
    with chromium() as browser:
        view: Any = browser.new_page(viewport={"width": 1280, "height": 800})
        view.goto(path.as_uri(), wait_until="commit")
        figure = until(view, "document.querySelector('.main-svg')")
        complete = drawn(view)
        return float(view.evaluate(_PAINT)), figure, complete


FIGURES: dict[str, Callable[[], None]] = {"page": page}
