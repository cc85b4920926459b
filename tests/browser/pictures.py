"""Save the pictures for the documentation, taken from a synthetic quickstart run: `make pictures` writes
docs/pictures/*.png."""

from __future__ import annotations

import io
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Final

from tests.browser.look import chromium, drawn, report_of
from tests.browser.trees import write_tree

FOLDER: Final = Path(__file__).parents[2] / "docs" / "pictures"
_SCREEN = {"width": 1280, "height": 800}
_COLOURS = 256
"""Number of colors in the palette. Files with this palette are small, text remains smooth, and links keep their
color."""


def _saved(picture: bytes, name: str) -> None:
    """Write a picture with a palette, unless the file already shows the same picture."""
    from PIL import Image

    path, shown = FOLDER / f"{name}.png", Image.open(io.BytesIO(picture)).convert("RGB")
    small = shown.quantize(_COLOURS, dither=Image.Dither.NONE)
    if path.exists() and Image.open(path).convert("RGB").tobytes() == small.convert("RGB").tobytes():
        return
    small.save(path, optimize=True)


def _page(browser: Any, report: Path, theme: str) -> Any:
    page = browser.new_context(viewport=_SCREEN, color_scheme=theme).new_page()
    page.goto(report.as_uri())
    drawn(page)
    return page


def main() -> None:
    """Take a picture of the first screen of the report in both themes, and of the figure of memory latency."""
    FOLDER.mkdir(exist_ok=True)
    with TemporaryDirectory() as folder, chromium() as browser:
        report = report_of(write_tree("quickstart", Path(folder)))
        for theme in ("light", "dark"):
            page = _page(browser, report, theme)
            _saved(page.screenshot(), f"report-{theme}")
        page = _page(browser, report, "light")
        figure = page.locator("#latency-sweep figure").first
        figure.scroll_into_view_if_needed()
        figure.locator(".main-svg").first.wait_for(state="attached")
        drawn(page)
        figure.evaluate("(figure) => figure.querySelector('details')?.remove()")
        _saved(figure.screenshot(), "latency")


if __name__ == "__main__":
    main()
