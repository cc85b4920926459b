"""The rules that every page of a report obeys: `python -m tests.browser.checks NAME|RUN...` prints all violations.

NAME is a synthetic tree, and RUN is the folder of a run. Each page is opened once, and checked in both themes, on a
phone and on paper.
"""

from __future__ import annotations

import re
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Final

from tests.browser.look import Seen, chromium, drawn, report_of, watched
from tests.browser.tooltips import tooltip_problems
from tests.browser.trees import TREES, write_tree

RULES: Final = Path(__file__).with_name("rules.js").read_text(encoding="utf-8")
FIRST_SCREEN: Final = (1280, 800)
TABLET: Final = (768, 1024)
PHONE: Final = (390, 844)
_ON_PHONE: Final = (
    "overlaps",
    "outside",
    "fewTicks",
    "tallLegend",
    "undrawn",
    "crossedLabels",
    "strayLabels",
    "slantedTicks",
    "brokenCounts",
)
_MOST_HEADLINES: Final = 8
_LONGEST_WORD: Final = 24
"""On paper, longer words may be broken."""
SHEET: Final = 688
"""Width of the text on A4, in CSS pixels."""
Problems = dict[str, list[str]]


@dataclass
class Shown:
    """A report in the browser, with the rules loaded."""

    page: Any
    seen: Seen
    path: Path

    def rules(self, call: str) -> Any:
        return self.page.evaluate(f"window.rules.{call}")

    def reveal(self) -> None:
        """Unfold everything and scroll past every figure, so that each is drawn."""
        self.page.evaluate("for (const one of document.querySelectorAll('details')) one.open = true")
        for figure in self.page.locator(".plot:visible").all():
            figure.scroll_into_view_if_needed()
            figure.locator(".main-svg").first.wait_for(state="attached")
        drawn(self.page)

    def size(self, width: int, height: int) -> None:
        self.page.set_viewport_size({"width": width, "height": height})
        self.page.evaluate("() => new Promise((done) => setTimeout(() => requestAnimationFrame(done), 300))")
        self.reveal()


@contextmanager
def shown(browser: Any, path: Path) -> Iterator[Shown]:
    width, height = FIRST_SCREEN
    context = browser.new_context(viewport={"width": width, "height": height}, color_scheme="light")
    try:
        page, seen = watched(context)
        page.goto(path.as_uri())
        drawn(page)
        page.evaluate(RULES)
        yield Shown(page, seen, path)
    finally:
        context.close()


def first_screen(one: Shown) -> Iterator[str]:
    """The first screen shows the answer: the verdict, then the key results."""
    height = FIRST_SCREEN[1]
    for place in ("#verdict", "#headlines"):
        box = one.page.locator(place).bounding_box()
        if box is None or box["y"] + box["height"] > height:
            yield f"{place} ends at {box and round(box['y'] + box['height'])}"
    tiles = one.page.locator("#headlines .tiles li").count()
    if not 0 < tiles <= _MOST_HEADLINES:
        yield f"{tiles} key results"


def quiet(one: Shown) -> Iterator[str]:
    """The page reads nothing but its own file, and causes no error messages."""
    yield from (f"error: {text}" for text in one.seen.errors)
    yield from (f"console: {text}" for text in one.seen.console)
    own = one.path.as_uri()
    yield from (
        f"request: {url[:80]}" for url in one.seen.requests if url != own and not url.startswith(("data:", "blob:"))
    )


_TAKE_ROWS = """() => {
  window.takenRows = Array.from(document.querySelectorAll('tbody'), (body) => [body, Array.from(body.rows).slice(6)]);
  for (const [, rows] of window.takenRows) for (const row of rows) row.remove();
}"""
_GIVE_ROWS = "() => { for (const [body, rows] of window.takenRows) body.append(...rows); }"


def accessible(one: Shown, contrast: bool) -> list[str]:
    """Return the violations that axe-core finds. To save time, only six rows of each table are checked (the others are
    alike), and the drawings of figures are not. The contrast rule is slow."""
    from axe_playwright_python.sync_playwright import Axe

    options = {"resultTypes": ["violations"], "rules": {"color-contrast": {"enabled": contrast}}}
    one.page.evaluate(_TAKE_ROWS)
    found = Axe().run(one.page, {"exclude": [[".main-svg"]]}, options).response["violations"]
    one.page.evaluate(_GIVE_ROWS)
    return [f"{item['id']}: {node['html'][:160]}" for item in found for node in item["nodes"][:3]]


def links(one: Shown) -> list[str]:
    targets = "Array.from(document.querySelectorAll('a[href^=\"#\"]'), a => a.getAttribute('href').slice(1))"
    missing = f"{targets}.filter((id) => !document.getElementById(decodeURIComponent(id.split('?')[0])))"
    return list(one.page.evaluate(missing))


_LEGEND = """async (plot) => {
  const count = () => plot._fullData.filter((one) => one.visible === true).length;
  const until = async (done) => { while (!done()) await new Promise((later) => setTimeout(later, 50)); };
  const button = () => plot.previousElementSibling.querySelector('button');
  const before = count();
  button().click();
  await until(() => count() < before && button().getAttribute('aria-pressed') === 'false');
  button().click();
  await until(() => count() === before && button().getAttribute('aria-pressed') === 'true');
  return before;
}"""


def legends(one: Shown) -> Iterator[str]:
    """A click in the legend removes a series from the figure, and another click restores it. At most three series are
    tried."""
    for plot in one.page.locator(".legend:visible + .plot").all()[:3]:
        if not plot.evaluate(_LEGEND):
            yield f"{plot.get_attribute('id')} has no series"


def other_theme(one: Shown) -> Problems:
    before = one.rules("styles()")
    one.page.locator("[data-theme-choice=dark]").click()
    one.page.wait_for_selector("html[data-theme=dark]", state="attached")
    one.reveal()
    after = one.rules("styles()")
    found: Problems = {f"dark {name}": problems for name, problems in one.rules("figures()").items()}
    found["dark contrast"] = one.rules("contrast()")
    found["dark series"] = sorted(set(before) ^ set(after))
    return found


def page_problems(browser: Any, path: Path) -> Problems:
    """Return the violations on the page at `path`, keyed by rule. The result is empty if there are none."""
    with shown(browser, path) as one:
        found: Problems = {"first screen": list(first_screen(one))}
        found["axe, folded"] = accessible(one, contrast=True)
        one.reveal()
        found |= one.rules("figures()")
        found["numbers"] = one.rules("badNumbers()")
        found["units"] = one.rules("looseUnits()")
        found["units of neighbors"] = one.rules("unlikeUnits()")
        found["captions"] = one.rules("cutCaptions()")
        found["sideways"] = one.rules(f"sideways({FIRST_SCREEN[0]})")
        found["contrast"] = one.rules("contrast()")
        found["axe"] = accessible(one, contrast=False)
        found["links"] = links(one)
        found["hover"] = list(tooltip_problems(one.page, path))
        found["legend"] = list(legends(one))
        found |= other_theme(one)
        one.size(*TABLET)
        found["tablet sideways"] = one.rules(f"sideways({TABLET[0]})")
        one.size(*PHONE)
        phone = one.rules("figures()")
        found |= {f"phone {rule}": phone[rule] for rule in _ON_PHONE}
        found["phone captions"] = one.rules("cutCaptions()")
        found["phone sideways"] = one.rules(f"sideways({PHONE[0]})")
        found["quiet"] = list(quiet(one))
    return {rule: problems for rule, problems in found.items() if problems}


def _words(text: str) -> Counter[str]:
    """Return the words of a text that a line break does not divide. A line break may follow a hyphen or the period in
    the name of a metric. A number and its unit are two words, because pdftotext sees no space between them if the type
    is small."""
    words = re.split(r"[\s-]+|(?<=[a-z]\.)|(?<=\d)(?=[^\W\d]|%)", text)
    return Counter(word for word in words if len(word) <= _LONGEST_WORD)


LONG_TABLES = """() => Array.from(document.querySelectorAll('table')).filter((one) => one.rows.length > 70)
  .map((one) => Array.from(one.tHead.rows[0].cells, (cell) => cell.textContent.trim()).slice(0, 3))
  .filter((heads) => heads.length === 3 && heads.every((head) => !/\\s/.test(head)))"""
"""The first three headings of tables that take several sheets, if the headings are words."""


def paper_problems(browser: Any, path: Path) -> Problems:
    """Return what is on the screen but not on paper (words in tables and titles of figures), and what makes Chromium
    shrink the printed page."""
    tables = """() => Array.from(document.querySelectorAll('table'))
      .flatMap((one) => Array.from(one.rows, (row) => row.innerText))"""
    with TemporaryDirectory() as folder, shown(browser, path) as one:
        one.reveal()
        wanted = _words(" ".join(one.page.evaluate(tables)))
        long = one.page.evaluate(LONG_TABLES)
        titles = one.page.evaluate(
            "Array.from(document.querySelectorAll('figure h3'), (one) => one.firstChild.textContent)"
        )
        pdf = Path(folder) / "report.pdf"
        one.page.pdf(path=pdf, format="A4")
        width = _printed_width(one.page)
        ran = subprocess.run(["pdftotext", "-layout", str(pdf), "-"], capture_output=True, text=True, check=True)
    missing = wanted - _words(ran.stdout)
    heads = {" ".join(head): len(re.findall(r"\s+".join(map(re.escape, head)), ran.stdout)) for head in long}
    lines = " ".join(ran.stdout.split())
    found = {
        "cells": [f"{word} ({count} times)" for word, count in missing.most_common()],
        "heads that are not repeated": [head for head, times in heads.items() if times <= long.count(head.split(" "))],
        "figures": [title for title in titles if " ".join(title.split()) not in lines],
        "width": [f"{width} px"] if width > SHEET else [],
    }
    return {rule: problems for rule, problems in found.items() if problems}


def _printed_width(page: Any) -> int:
    """Return the width of the page as printed. Chromium shrinks the whole page if a single element is wider than the
    paper."""
    page.evaluate("window.dispatchEvent(new Event('beforeprint'))")
    page.emulate_media(media="print")
    page.set_viewport_size({"width": SHEET, "height": 1000})
    return int(page.evaluate("document.documentElement.scrollWidth"))


def main(arguments: Sequence[str]) -> int:
    """Print all violations. The exit code is 1 if there are any."""
    if not arguments:
        print(f"usage: python -m tests.browser.checks NAME|RUN...; NAME is one of {', '.join(TREES)}")
        return 2
    failed = False
    with chromium() as browser, TemporaryDirectory() as folder:
        for name in arguments:
            path = report_of(write_tree(name, Path(folder)) if name in TREES else Path(name))
            found = page_problems(browser, path) | {f"paper {k}": v for k, v in paper_problems(browser, path).items()}
            failed |= bool(found)
            print(name, "keeps every rule" if not found else "")
            for rule, problems in found.items():
                print(f"  {rule}")
                print("".join(f"    {problem}\n" for problem in problems[:20]), end="", flush=True)
    return int(failed)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
