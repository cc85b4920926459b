"""The page of a study, which shows the study's tables and figures next to those of a run on this machine."""

from __future__ import annotations

import io
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from asct.analysis.grid import TextTable, slug
from asct.analysis.markup import escape, prose, table
from asct.analysis.pictures import pictures
from asct.analysis.report import build
from asct.analysis.view import RunView
from asct.export import pictures_of
from tests.seeds.original import Drive, Original, OriginalTable
from tests.seeds.pairing import figure_of, job_of, paired, table_of

ROOT: Final = Path(__file__).parents[2]
FOLDER: Final = ROOT / "docs" / "seeds"
_MEASURING: Final = ("asct", "kernels", "plans")
"""The folders whose contents determine what is measured and how."""
_LIMITS: Final = {"riops": "reads", "wiops": "writes", "rbps": "bytes read", "wbps": "bytes written"}
_MOST_ROWS: Final = 1000
_COLORS: Final = 96
"""Number of colors in the palette of a picture: few enough for small files, but enough for smooth text."""


def write_page(name: str, seed: Original, view: RunView) -> Path:
    """Write docs/seeds/NAME.md and its pictures, and return the path of the page."""
    drawn, plan = _pictures(name, seed, view), f"plans/{seed.plan}.yaml"
    lines = [
        f"# {escape(seed.title)}",
        "",
        f"This page was written by `python -m tests.seeds {name}`; do not edit it. Plan: [{plan}](../../{plan}).",
        "",
        *_circumstances(seed, view),
        *_contents(seed),
        *(line for item in seed.tables for line in _table(item, view)),
        *_figures(seed, view, drawn),
        *_references(view),
        *_flags(view),
    ]
    path = FOLDER / f"{name}.md"
    path.write_text("\n".join(lines).rstrip() + "\n", encoding="utf-8")
    return path


def _circumstances(seed: Original, view: RunView) -> Iterator[str]:
    run = view.run
    target = "; ".join(map(_limited, seed.drives))
    if not seed.drives and any(entry.benchmark.startswith("storage-") for entry in seed.entries.values()):
        target = "a temporary file"
    changed = ", with uncommitted changes" if _git("status", "--porcelain", *_MEASURING) else ""
    facts = [
        ("Original", seed.source),
        ("Original machine", seed.machine),
        ("This machine", "; ".join(host.description for host in run.hosts)),
        ("Target", target),
        ("Profile", seed.profile),
        ("Started", run.started_at),
        ("asct", f"{run.tool_version}, commit {_git('rev-parse', '--short=12', 'HEAD')}{changed}"),
        ("Outcome", f"exit code {run.exit_code}; " + ", ".join(f"{n} {state}" for state, n in run.counts.items() if n)),
    ]
    yield "| | |"
    yield "| --- | --- |"
    yield from (f"| {label} | {escape(text)} |" for label, text in facts if text)
    yield ""
    yield from (f"- {text}" for text in seed.differs)
    yield ""
    report = build(view)
    known = {**dict(report.facts), **dict(report.hosts[0].rows)}
    yield from ("| fact | original | here |", "| --- | --- | --- |") if seed.facts else ()
    for fact in seed.facts:
        ours = known.get(fact.ours, f"unknown (reported only by {fact.only})")
        yield f"| {escape(fact.name)} | {escape(fact.value)} | {escape(fact.ours)}: {escape(ours)} |"
    yield ""


def _git(*words: str) -> str:
    return subprocess.run(("git", *words), check=True, cwd=ROOT, capture_output=True, text=True).stdout.strip()


def _limited(drive: Drive) -> str:
    limits = [f"{value:,} {_LIMITS[key]}" for key, value in drive.limits.items()]
    text = " and ".join(filter(None, (", ".join(limits[:-1]), *limits[-1:])))
    return f"a loop device of {drive.mib} MiB" + (f", limited to {text} per second" if limits else "")


def _contents(seed: Original) -> Iterator[str]:
    yield "| table or figure | location in the original | counterpart in this run |"
    yield "| --- | --- | --- |"
    shown = [("table", item.title, item.place, item.entry, item.table) for item in seed.tables]
    shown += [("figure", item.title, item.place, item.entry, item.figure) for item in seed.figures]
    for kind, title, place, entry, ours in shown:
        yield f"| {kind}: [{escape(title)}](#{slug(title)}) | {escape(place)} | `{entry}`, {kind} `{ours}` |"
    yield ""


def _table(item: OriginalTable, view: RunView) -> Iterator[str]:
    yield f'<a id="{slug(item.title)}"></a>'
    yield ""
    yield f"## {escape(item.title)}"
    yield ""
    found = table_of(view, item)
    yield table(paired(item, found), most=_MOST_ROWS)
    yield from ("This run has no such table, because the machine has only one NUMA node.", "") if found is None else ()
    yield from (item.why, "") if item.why else ()


def _figures(seed: Original, view: RunView, drawn: dict[tuple[str, str], str]) -> Iterator[str]:
    yield from ("## Figures", "") if seed.figures else ()
    shown: set[str] = set()
    for item in seed.figures:
        yield f'<a id="{slug(item.title)}"></a>'
        yield ""
        yield f"### {escape(item.title)}"
        yield ""
        yield from (f"Original: {item.says}", "") if item.says else ()
        yield from (item.why, "") if item.why else ()
        found, picture = figure_of(view, item), drawn.get((item.entry, item.figure), "")
        if found is None:
            yield f"This run has no such figure, because the machine has fewer than {item.cpus} CPUs."
        elif picture in shown:
            yield f"In this run, the figure “{found.title}” above shows these values."
        elif picture:
            shown.add(picture)
            yield f"![{escape(found.title)}: {escape(found.caption)}](pictures/{picture})"
        else:
            yield f"This run's report shows these values in the figure “{found.title}” of `{item.entry}`."
        yield ""


def _references(view: RunView) -> Iterator[str]:
    report = build(view)
    grids: list[tuple[str, TextTable | None]] = [
        ("Features", report.features), ("Rated values", report.references), ("Expectations", report.expectations)
    ]  # fmt: skip
    for title, grid in grids:
        yield from (f"## {title}", "", table(grid)) if grid else ()


def _flags(view: RunView) -> Iterator[str]:
    flags = dict(pair for section in build(view).sections for pair in section.flags)
    yield from ("## Flags", "") if flags else ()
    yield from (f"- `{name}`: {prose(meaning)}" for name, meaning in sorted(flags.items()))


def _pictures(name: str, seed: Original, view: RunView) -> dict[tuple[str, str], str]:
    """Write the pictures that the page shows. Return their file names by entry and figure."""
    wanted = {(item.entry, item.figure) for item in seed.figures if item.drawn and figure_of(view, item)}
    sections = {section.id: section.slug for section in build(view).sections}
    slugs = {f"{sections[job_of(view, entry).entry.id]}-{figure}": (entry, figure) for entry, figure in wanted}
    folder = FOLDER / "pictures"
    folder.mkdir(parents=True, exist_ok=True)
    for old in folder.glob(f"{name}.*.png"):
        old.unlink()
    files = {}
    found = pictures_of(view, "png") if wanted else {}
    for path, figure in pictures(view).items() if wanted else ():
        if figure.slug in slugs:
            files[slugs[figure.slug]] = f"{name}.{figure.slug}.png"
            _save(found[f"{path}.png"], folder / f"{name}.{figure.slug}.png")
    return files


def _save(picture: bytes, path: Path) -> None:
    """Write a picture with a limited palette."""
    from PIL import Image

    image = Image.open(io.BytesIO(picture)).convert("RGB")
    image.quantize(_COLORS, dither=Image.Dither.NONE).save(path, optimize=True)
