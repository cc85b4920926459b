"""A single HTML file that works offline, can be printed, and shows its tables even without JavaScript.

The file embeds plotly.js (from the installed plotly), the figures, and the run with all records as compressed data
(gzip, base64) that the page decompresses. Therefore, the file alone is enough to read, plot and process the results.
The Content-Security-Policy allows only the scripts in this file, identified by their SHA-256 hashes. Text from plans,
hosts and programs is also escaped.
"""

from __future__ import annotations

import base64
import gzip
import hashlib
import json
import re
import sys
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import cache, partial
from importlib.util import cache_from_source
from itertools import takewhile, zip_longest
from pathlib import Path
from typing import Any, Final
from urllib.parse import quote

from jinja2 import BytecodeCache, Environment, FileSystemLoader, StrictUndefined, compiler
from jinja2.bccache import Bucket
from markupsafe import Markup, escape

from asct.analysis.combined import figure_grids
from asct.analysis.compared import comparison_of
from asct.analysis.consistency import consistency_grid, sentence
from asct.analysis.dataframe import document, visible
from asct.analysis.earlier import with_earlier_run
from asct.analysis.fleet import without_visits
from asct.analysis.grid import ColumnHead, TableCell, TextTable, plain, with_micro_sign
from asct.analysis.hostnames import section_with_short_hosts, short_forms, shortening, with_short_hosts
from asct.analysis.keyresults import key_results
from asct.analysis.outcomes import name_ranges, outcome_grid, refused_again, resumable
from asct.analysis.provenance import checksums, versions_grid
from asct.analysis.report import ReportSection, RunReport, build
from asct.analysis.view import RunView
from asct.errors import StoreError
from asct.figures.axes import Neighbors, axis_text
from asct.figures.heat import square
from asct.figures.layout import caption
from asct.figures.render import plotly_javascript, render_sections
from asct.figures.theme import substitutions, templates
from asct.resources import folder as resource
from asct.sdk.figure import Figure
from asct.store.files import write_atomic
from asct.store.model import Run
from asct.values.grouping import shortened
from asct.values.text import counted, unbroken

NAME = "html"
FILE = "report.html"
SUMMARY = "a single page that contains figures and tables and works offline"

_MOST_FIGURES = 24
"""Maximum number of figures per section that are shown expanded, with a table of their values."""
_MOST_SENTENCES = 3
"""Maximum number of sentences below the first cause. If there are more, other causes and remarks are collapsed."""
_MOST_DOUBTS = 3
"""Maximum number of doubts that a key result shows before it is expanded."""
_MOST_WARNINGS = 10
"""Maximum number of warnings that are shown expanded."""
_MOST_HOSTS = 4
"""Maximum number of hosts whose facts, commands and failures are shown expanded. If there are more hosts, only unusable
ones are shown expanded, up to this number."""
_MOST_NAMES = 6
"""Maximum number of hosts, or ranges of hosts, that are named below the title."""
_MOST_EXACT = 20_000
"""Maximum number of records that the page stores with all digits."""
_MOST_VISITS = 20_000
"""Maximum number of visits and repeats, per section, that single-host figures show as points."""
_DIGITS = 6
"""Number of significant digits stored if there are more than `_MOST_EXACT` records. Storing all digits would double the
page size."""
_NUMBER = re.compile(r"-?\d+(\.\d+)?")


def render(view: RunView, linked: bool = False) -> str:
    """Return the HTML page. `linked` is true if the page is in the run folder, where it can link to raw files."""
    report, comparison = build(view), comparison_of(view)
    forms = short_forms([host.name for host in report.hosts])
    report = _with_short_hosts(
        replace(report, sections=tuple(with_earlier_run(view, report.sections))), view.run, forms
    )
    digits = _DIGITS if len(view.records) > _MOST_EXACT else None
    hosts = [forms.get(host.name, host.name) for host in view.run.hosts]
    alone = [_of_hosts(section) for section in report.sections]
    neighbors = [
        Neighbors((*section.figures, *own), section.headings)
        for section, own in zip(report.sections, alone, strict=True)
    ]
    figures = render_sections(neighbors, hosts)
    listed = [section.figures[:_MOST_FIGURES] for section in report.sections]
    later = {figure.slug: figures.pop(figure.slug) for own in alone for figure in own}
    if comparison is not None:
        figures |= render_sections([Neighbors(comparison.figures)], ["base", "new"])
    return page(
        "report.html.j2",
        figures,
        report=report,
        run=view.run,
        comparison=comparison,
        consistency=consistency_grid(view),
        consistency_sentence=sentence,
        slugs={section.id: section.slug for section in report.sections},
        versions=versions_grid(view),
        checksums=checksums(view),
        resumable=resumable(view.run),
        refused_again=refused_again(view.run),
        host_names=shortened(name_ranges([host.name for host in report.hosts]), _MOST_NAMES),
        linked=linked,
        figure_grids=figure_grids(zip(listed, map(axis_text, neighbors), strict=True)),
        most_figures=_MOST_FIGURES,
        most_sentences=_MOST_SENTENCES,
        most_doubts=_MOST_DOUBTS,
        most_warnings=_MOST_WARNINGS,
        most_hosts=_MOST_HOSTS,
        digits=digits,
        host_data=_packed(script_json({"figures": later, "hosts": _by_host(report.sections)}), 9) if later else "",
        run_data=_packed(document(view, digits)),
        plan_data=_packed(view.plan_text),
        plan_text=view.plan_text,
    )


def _with_short_hosts(report: RunReport, run: Run, forms: Mapping[str, str]) -> RunReport:
    """Return the report with short forms of the host names in key results, tables and figures. The full names remain in
    the notes on table cells and in the section about the hosts.
    """
    names = shortening([*forms])
    if not names:
        return report
    outcomes = outcome_grid(run, forms)
    shorten = partial(with_short_hosts, forms=forms)
    return replace(
        report,
        key_results=key_results([replace(item, host=forms.get(item.host, item.host)) for item in report.headlines]),
        headline_grids=tuple(map(shorten, report.headline_grids)),
        expectations=None if report.expectations is None else shorten(report.expectations),
        outcomes=outcomes and replace(outcomes, notes=(f"Host names are shown {names}.",)),
        sections=tuple(section_with_short_hosts(one, forms) for one in report.sections),
    )


def _of_hosts(section: ReportSection) -> list[Figure]:
    """Return the single-host figures, ordered by figure and then by host. This order compresses better than the
    reverse."""
    figures = [figure for same in zip_longest(*(part.figures for part in section.parts)) for figure in same if figure]
    return without_visits(figures, _MOST_VISITS)


def _by_host(sections: Sequence[ReportSection]) -> dict[str, dict[str, list[dict[str, Any]]]]:
    """Return the headings of the single-host figures, keyed by section and host. The page draws these figures on
    demand."""

    def heading(figure: Figure) -> dict[str, Any]:
        title, below = (unbroken(plain(text)) for text in (figure.title, caption(figure)))
        return {"slug": figure.slug, "title": title, "caption": below, "square": square(figure)}

    return {
        section.slug: {part.host: [heading(figure) for figure in part.figures] for part in section.parts}
        for section in sections
        if any(part.figures for part in section.parts)
    }


def page(template: str, figures: Mapping[str, Any], **content: Any) -> str:
    """Return a self-contained page with `content` and the rendered figures, which are keyed by slug."""
    scripts = {name: _asset(name) for name in ("theme.js", "downloads.js", "report.js", "figures.js")}
    library = _library() if figures else None
    sources = [*scripts.values(), *([plotly_javascript()] if library else [])]
    return _environment().get_template(template).render(
        css=_asset("report.css"),
        scripts=scripts,
        policy=" ".join(f"'{_digest(text)}'" for text in sources),
        library=library,
        page_data=_packed(script_json({"figures": figures, "templates": templates(), "dark": substitutions()})),
        square=square,
        numeric=numeric,
        key_columns=key_columns,
        body_rows=body_rows,
        **content,
    )  # fmt: skip


def documents(view: RunView, folder: Path) -> dict[str, str]:
    """Return the page, keyed by file name. It links to raw files only if `folder` is the run folder."""
    return {FILE: render(view, folder.resolve() == view.root.resolve())}


def script_json(value: Any) -> str:
    """Return JSON that can neither end its script element nor start a comment."""
    text = visible(json.dumps(value, ensure_ascii=False, allow_nan=False, separators=(",", ":")))
    for mark in "<>&":
        text = text.replace(mark, f"\\u{ord(mark):04x}")
    return text


@cache
def _library() -> str:
    return _packed(plotly_javascript())


def _packed(text: str, level: int = 5) -> str:
    """Return `text` as base64-encoded gzip data without a timestamp, so that equal input results in equal output.

    For plotly.js, level 9 takes twice as long as level 5 and saves only 1 % of the bytes.
    """
    return base64.b64encode(gzip.compress(text.encode(), level, mtime=0)).decode()


def _digest(script: str) -> str:
    """Return the hash of a script as a source expression of Content Security Policy Level 3 (section 2.3.1)."""
    return "sha256-" + base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()


@cache
def _asset(name: str) -> str:
    return (resource("templates") / name).read_text(encoding="utf-8").strip()


def _finalize(value: Any) -> Any:
    """Escape text that is inserted into the page, including characters that change the text direction. Leave HTML
    (`Markup`) unchanged."""
    return plain(value, keep_lines=True) if type(value) is str else value


def numeric(grid: TextTable) -> bool:
    """Return whether most columns of a table are right-aligned. If so, right alignment becomes the default for the
    table."""
    return 2 * sum(head.align == "right" for head in grid.heads) > len(grid.heads)


_MOST_KEYS: Final = 4
"""Maximum number of columns that distinguish the rows of a table."""


def key_columns(grid: TextTable, stack: bool) -> int:
    """Return how many columns at the start of a table name its rows. If a table is split by columns on paper, all parts
    contain them. With `stack`, these are all columns before the first number; otherwise, as many as distinguish all
    rows."""
    if stack:
        return max(1, sum(1 for _ in takewhile(lambda head: head.align == "left", grid.heads)))
    least = 2 if len(grid.heads) > 1 and grid.heads[1].title == "Host" else 1
    names = ({tuple(cell.text for cell in row[:count]) for row in grid.rows} for count in range(least, _MOST_KEYS + 1))
    return next((count for count, found in enumerate(names, least) if len(found) == len(grid.rows)), least)


def body_rows(grid: TextTable, rows: Sequence[Sequence[TableCell]], stack: bool) -> Markup:
    """Return a table's `rows` as HTML. If `stack` is true, each cell also contains its column heading, which narrow
    pages show.

    Because a table can have a hundred thousand cells, this function does not use a template, omits the end tags that
    HTML does not require, and gives no sort key to cells that can be sorted by their text.
    """
    if not rows:
        return Markup()
    columns = [
        _Column(head, _sorted_by_text(cells), numeric(grid) != (head.align == "right"), len(grid.heads) <= 16, stack)
        for head, cells in zip(grid.heads, zip(*rows, strict=True), strict=True)
    ]
    lines = []
    for first, *others in rows:
        name_cell = columns[0].name(first)
        lines.append(
            "".join(("<tr>", name_cell, *(column.cell(one) for column, one in zip(columns[1:], others, strict=True))))
        )
    return Markup("\n".join(lines))  # noqa: S704 - every part is escaped


def _sorted_by_text(cells: Sequence[TableCell]) -> bool:
    """Return whether these cells can be sorted by their text. This is the case if every text either equals its sort key
    or is a number that was not rounded to zero."""
    return all(
        one.sort in ("", one.text)
        or (
            isinstance(one.sort, int | float)
            and _NUMBER.fullmatch(one.text)
            and bool(float(one.text)) == bool(one.sort)
        )
        for one in cells
    )


@dataclass(frozen=True, slots=True)
class _Column:
    """Writes the cells of a column. `marked` is true if the column's alignment differs from the table's default, and
    `breaks` if long text is broken into lines.
    """

    head: ColumnHead
    by_text: bool
    marked: bool
    breaks: bool
    stack: bool

    def name(self, cell: TableCell) -> str:
        """Return the first cell of a row, which names the row."""
        names = [name for name, fits in (("right", self.head.align == "right"), ("long", len(cell.text) > 16)) if fits]
        style = f' class="{" ".join(names)}"' if names else ""
        content = _unbroken(cell.text)
        text = f'<span class="chip {cell.tone}">{content}</span>' if cell.tone else content
        return f'<th scope="row"{style}{self._key(cell)}{_title(cell)}>{text}'

    def cell(self, cell: TableCell) -> str:
        """Return a cell that is not the first in its row."""
        flags = self.head.title == "Flags"
        names: list[str] = [self.head.align] if self.marked else []
        names += [cell.tone] if cell.tone else []
        names += ["long"] if self.breaks and len(cell.text) > (14 if flags else 24) else []
        label = f' data-label="{_unbroken(self.head.title)}"' if self.stack else ""
        text = ", ".join(f"<b>{_escaped(one)}</b>" for one in cell.text.split(", ")) if flags else _prose(cell.text)
        if self.head.title == "Metric":  # a line may end after the name of the entry, but nowhere else
            text = "<wbr>".join(f"<b>{part}</b>" for part in re.split(r"(?<=\.)(?=[^.]+$)", text))
        text = f"<span>{text}</span>" if cell.text and (self.stack or cell.tone == "refused") else text
        style = f' class="{" ".join(names)}"' if names else ""
        return f"<td{style}{self._key(cell)}{label}{_title(cell)}>{text if cell.text else ''}"

    def _key(self, cell: TableCell) -> str:
        if self.by_text:
            return ""
        key = cell.sort if isinstance(cell.sort, str) else f"{cell.sort:.9g}"
        return f' data-sort="{_escaped(key)}"'


def _title(cell: TableCell) -> str:
    return f' title="{_escaped(cell.note)}"' if cell.note else ""


def _prose(text: str) -> str:
    """Return text as HTML, with the parts between backticks as code."""
    parts = _escaped(text).split("`")
    if len(parts) % 2 == 0:
        return _unbroken(text)
    return "".join(f"<code>{part}</code>" if number % 2 else unbroken(part) for number, part in enumerate(parts))


def _unbroken(text: str) -> Markup:
    """Return text as HTML, with no line break between a number and its unit."""
    return Markup(unbroken(_escaped(text)))  # noqa: S704 - it is escaped


def _escaped(text: str) -> str:
    return str(escape(plain(text, keep_lines=True)))


class _CompiledTemplates(BytecodeCache):
    """Compiled templates, which are kept where Python keeps compiled modules, because compiling the templates takes
    longer than rendering a small page. They are compiled again if a template, this module or Jinja has changed."""

    def get_source_checksum(self, source: str) -> str:
        """Return a checksum of everything on which the compiled template depends."""
        changed = [Path(file).stat().st_mtime_ns for file in (__file__, compiler.__file__)]
        return super().get_source_checksum(f"{source}{changed}")

    def load_bytecode(self, bucket: Bucket) -> None:
        """Load the compiled template, if there is one."""
        with suppress(OSError), _compiled(bucket.key).open("rb") as file:
            bucket.load_bytecode(file)

    def dump_bytecode(self, bucket: Bucket) -> None:
        """Write the compiled template. Failures are ignored, because the folder of asct is often read-only."""
        path = _compiled(bucket.key)
        if not sys.dont_write_bytecode:
            with suppress(OSError, StoreError):
                path.parent.mkdir(parents=True, exist_ok=True)
                write_atomic(path, bucket.bytecode_to_string(), sync=False)


def _compiled(key: str) -> Path:
    return Path(cache_from_source(str(resource("templates") / f"{key}.py")))


@cache
def _environment() -> Environment:
    environment = Environment(
        loader=FileSystemLoader(resource("templates")),
        autoescape=True,
        finalize=_finalize,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        optimized=False,  # folding constants takes longer than it saves, because a command renders few pages
        bytecode_cache=_CompiledTemplates(),
    )
    environment.filters |= {"link": quote, "unbroken": _unbroken, "counted": counted, "caption": caption}
    environment.filters |= {"with_micro_sign": with_micro_sign}
    return environment
