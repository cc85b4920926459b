"""The only part that prints. stdout carries what was asked for; stderr carries progress, warnings and errors.

Colour: `--color`, then NO_COLOR and FORCE_COLOR (any non-empty value), then whether the stream is a terminal that is
not TERM=dumb. Width: COLUMNS, or the terminal's, or 80.
"""

from __future__ import annotations

import json
import os
import re
import sys
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, TextIO

from rich.console import Console as RichConsole
from rich.text import Text

from asct.cli.look import Look
from asct.diagnostics.model import Diagnostic

_CONTROL = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069]")
"""What would steer a terminal: control characters but tab and line feed, and marks that turn the direction of text."""


_ORDER = re.compile(r"(?m)(^[^\S\n]*):(?=:[A-Za-z-]+[ :])|#(?=#\[)")
"""How commands for GitHub's runner begin: `::name` at the start of a line, behind spaces too, and `##[name` anywhere
(actions/runner, ActionCommand.cs). It reads both output streams, and obeys."""


def harmless(text: str | Text) -> str | Text:
    """`text` without what would steer a terminal, or the runner of a workflow: names in a results tree and words of a
    host are not asct's own."""
    if isinstance(text, str):
        return _tamed(text)
    plain = _tamed(text.plain)
    if plain != text.plain:  # as long as it was: styles keep their places
        text = text.copy()
        text.plain = plain
    return text


def _tamed(text: str) -> str:
    text = _CONTROL.sub("\N{REPLACEMENT CHARACTER}", text)
    if not os.environ.get("GITHUB_ACTIONS"):
        return text
    return _ORDER.sub(lambda found: (found[1] or "") + "\N{REPLACEMENT CHARACTER}", text)


def _json(document: Mapping[str, Any], indent: int | None = None) -> str:
    """A line or a document for stdout; no text in it is a command for GitHub's runner."""
    return json.dumps(document, indent=indent, allow_nan=False, default=str).replace("##[", "#\\u0023[") + "\n"


def wants_colour(choice: str, stream: TextIO, environ: Mapping[str, str]) -> bool:
    """Whether `stream` gets colours under `--color choice`."""
    if choice != "auto":
        return choice == "always"
    if environ.get("NO_COLOR"):
        return False
    if environ.get("FORCE_COLOR"):
        return True
    return stream.isatty() and environ.get("TERM", "") != "dumb"


def width(environ: Mapping[str, str], stream: TextIO) -> int:
    """Columns to fill: COLUMNS when it is a number of at least 20, the terminal's width, or 80."""
    columns = environ.get("COLUMNS", "")
    if columns.isdigit() and int(columns) >= 20:
        return int(columns)
    try:
        return os.get_terminal_size(stream.fileno()).columns or 80
    except (OSError, ValueError):
        return 80


class Console:
    """Prints text, tables and diagnostics as the shared options say."""

    def __init__(self, look: Look) -> None:
        self.look = look
        self.files: dict[str, str] = {}
        """Sources of diagnostics: file name to text; commands that read a plan fill it."""
        self.out = self._rich(sys.stdout)
        self.err = self._rich(sys.stderr)

    def _rich(self, stream: TextIO) -> RichConsole:
        colour = wants_colour(self.look.colour, stream, os.environ)
        return RichConsole(
            file=stream,
            width=width(os.environ, stream),
            force_terminal=colour,
            no_color=not colour,
            color_system="standard" if colour else None,
            highlight=False,
            soft_wrap=True,
            markup=False,
            emoji=False,
        )

    @property
    def interactive(self) -> bool:
        """Whether a live display makes sense: a capable terminal, and nobody asked for less."""
        plain = self.look.quiet or self.look.json or not self.look.progress
        return not plain and sys.stderr.isatty() and os.environ.get("TERM", "") != "dumb" and not os.environ.get("CI")

    def result(self, text: str | Text = "") -> None:
        """What was asked for, to stdout."""
        self.out.print(harmless(text))

    def annotations(self, lines: str) -> None:
        """Commands for GitHub's runner of asct's own, to stdout; what stands in them is escaped already."""
        self.out.print(lines)

    def document(self, document: Mapping[str, Any]) -> None:
        """One JSON document to stdout; `schema` comes first."""
        ordered = {"schema": document["schema"], **document} if "schema" in document else dict(document)
        sys.stdout.write(_json(ordered, indent=2))

    def json_line(self, document: Mapping[str, Any]) -> None:
        """One line of JSON Lines to stdout, at once."""
        sys.stdout.write(_json(document))
        sys.stdout.flush()

    def line(self, text: str | Text = "", style: str = "") -> None:
        """Progress or a remark, to stderr; silent under --quiet."""
        if not self.look.quiet:
            self.err.print(harmless(text), style=style or None)

    def over(self, text: str) -> None:
        """Progress in a line that the next call writes over, to stderr; for when the console is `interactive`. The
        last call, with an empty text, leaves nothing of it."""
        sys.stderr.write(f"\r\x1b[K{harmless(text)}")
        sys.stderr.flush()

    def more(self, text: str) -> None:
        """A remark for -v."""
        if self.look.verbosity > 0:
            self.line(text, style="dim")

    def diagnostics(self, findings: Iterable[Diagnostic]) -> None:
        """Findings by place, to stderr; with --json as JSON Lines to stdout."""
        chosen = [item for item in findings if item.severity == "error" or not self.look.quiet]
        if self.look.json:
            for item in chosen:
                self.json_line(item.to_json())
            return
        from asct.diagnostics.render import in_order, render

        for item in in_order(chosen):
            text = render(item, self.files, width=self.err.width, colour=not self.err.no_color)
            self.err.print(harmless(Text.from_ansi(text)))

    def table(self, header: Sequence[str], rows: Iterable[Sequence[str]], right: frozenset[int] = frozenset()) -> None:
        """Columns two spaces apart, left-aligned, or right-aligned where `right` says so."""
        body = [list(map(str, row)) for row in rows]
        widths = [max([len(title), *(len(row[i]) for row in body)]) for i, title in enumerate(header)]
        self.result(Text(_aligned(header, widths, right), style="bold"))
        for row in body:
            self.result(_aligned(row, widths, right))


def _aligned(cells: Sequence[str], widths: Sequence[int], right: frozenset[int]) -> str:
    parts = [cell.rjust(widths[i]) if i in right else cell.ljust(widths[i]) for i, cell in enumerate(cells)]
    return "  ".join(parts).rstrip()
