"""Save pictures of the report on a synthetic run for visual inspection: `python -m tests.browser.look NAME FOLDER
[WORD]`.

The program writes the tree, its report.html, and pictures of the report below FOLDER: `1280-light-00.png` shows the
first screen, `-01` and higher numbers show the page from top to bottom. There are also pictures of the dark theme and
of pages 390 pixels wide. `paper-1.png` and higher numbers show the pages of the PDF. WORD selects one kind of picture
(`paper`, `390`). If NAME is the folder of a run, that run is shown.
"""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

from asct.analysis.view import open_view
from asct.export import write
from asct.registry import installed
from tests.browser.trees import TREES, write_tree

CHROMIUM: Final = "/usr/bin/chromium"
FLAGS: Final = [
    "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking",
    "--disable-component-update", "--disable-sync",
]  # fmt: skip
WAIT_MS: Final = 120_000
"""Time limit for anything that a page does, in milliseconds. Only an event that never happens takes this long."""
SIZES: Final = {1280: 800, 390: 844}
_PIECE, _MOST_PIECES = 1600, 30


@dataclass
class Seen:
    """What a page did in addition to showing itself."""

    console: list[str] = field(default_factory=list)
    errors: list[str] = field(default_factory=list)
    requests: list[str] = field(default_factory=list)


def watched(context: Any) -> tuple[Any, Seen]:
    """Return a new page, and the record of what it does."""
    context.set_default_timeout(WAIT_MS)
    page, seen = context.new_page(), Seen()
    page.on("console", lambda message: seen.console.append(message.text))
    page.on("pageerror", lambda error: seen.errors.append(str(error)))
    page.on("request", lambda request: seen.requests.append(request.url))
    return page, seen


@contextmanager
def chromium() -> Iterator[Any]:
    """Provide a headless Chromium."""
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=FLAGS, timeout=WAIT_MS)
        yield browser
        browser.close()


def report_of(root: Path) -> Path:
    """Return the HTML report of a run, rendered with the installed benchmarks and written next to the files of the
    run."""
    [path] = write(open_view(root, installed()), "html", root)
    return path


_UNTIL = """([condition, most]) => new Promise((done, failed) => {
  setTimeout(() => failed(new Error(`not within ${most} ms: ${condition}`)), most);
  const look = () => (CONDITION ? done(performance.now()) : requestAnimationFrame(look));
  look();
})"""


def until(page: Any, condition: str) -> float:
    """Wait until a JavaScript expression is true, and return the time since the page was opened, in milliseconds.

    Playwright's own functions are unsuitable here: the policy of the page forbids `wait_for_function`, and selectors
    visit every element, which takes as long as drawing if the page has many thousand cells.
    """
    return float(page.evaluate(_UNTIL.replace("CONDITION", condition), [condition, WAIT_MS]))


def drawn(page: Any) -> float:
    """Wait until the figures outside of collapsed parts are drawn, if the page has any, and return the time as `until`
    does."""
    none = "document.readyState === 'complete' && !document.querySelector('.plot')"
    return until(page, f"document.documentElement.dataset.figures === 'drawn' || ({none})")


def screens(page: Any, folder: Path, name: str) -> None:
    """Save the first screen, and then the whole page from top to bottom in tall sections."""
    page.screenshot(path=folder / f"{name}-00.png")
    page.set_viewport_size({"width": page.viewport_size["width"], "height": _PIECE})
    top = number = 0
    while number < _MOST_PIECES and top < page.evaluate("document.documentElement.scrollHeight"):
        number += 1
        page.evaluate(f"window.scrollTo(0, {top})")
        page.wait_for_timeout(600)
        drawn(page)
        page.screenshot(path=folder / f"{name}-{number:02}.png")
        top += _PIECE - 60


def paper(page: Any, folder: Path) -> None:
    """Print the page and save each sheet."""
    pdf = folder / "report.pdf"
    page.pdf(path=pdf, format="A4", print_background=True)
    subprocess.run(["pdftoppm", "-r", "70", "-png", str(pdf), str(folder / "paper")], check=True)


def main(arguments: Sequence[str]) -> int:
    """Save the pictures and print their folder."""
    if len(arguments) not in (2, 3) or not (arguments[0] in TREES or Path(arguments[0], "run.json").exists()):
        print(f"usage: python -m tests.browser.look NAME|RUN FOLDER [WORD]; NAME is one of {', '.join(TREES)}")
        return 2
    name, folder, word = arguments[0], Path(arguments[1]), "".join(arguments[2:])
    folder.mkdir(parents=True, exist_ok=True)
    path = report_of(write_tree(name, folder) if name in TREES else Path(name))
    with chromium() as browser:
        for width, height in SIZES.items():
            for theme in ("light", "dark"):
                if word in f"{width}-{theme}":
                    context = browser.new_context(viewport={"width": width, "height": height}, color_scheme=theme)
                    page = context.new_page()
                    page.goto(path.as_uri())
                    drawn(page)
                    screens(page, folder, f"{width}-{theme}")
                    context.close()
        if word in "paper":
            page = browser.new_page()
            page.goto(path.as_uri())
            drawn(page)
            paper(page, folder)
    print(folder)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
