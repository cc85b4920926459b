"""The only module that prints. stdout carries results; stderr carries progress, warnings and errors.

Whether output is colored depends first on `--color`, then on NO_COLOR and FORCE_COLOR (any non-empty value), and
finally on whether the stream is a terminal (unless TERM=dumb). The width is the value of COLUMNS if set, otherwise the
terminal width, or 80 if there is no terminal. rich is loaded only for styled text and live progress.
"""

from __future__ import annotations

import json
import os
import re
import sys
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, Literal, TextIO

from asct.diagnostics.model import Diagnostic
from asct.values.text import aligned

if TYPE_CHECKING:
    from rich.console import Console as RichConsole
    from rich.text import Text

_LEVELS = {"debug": 10, "note": 20, "info": 20, "warning": 30, "error": 40, "critical": 50}
"""Log levels and severities, with the same numeric values as in the module `logging`, which is not imported at
start-up."""
_REPLACEMENT = "\ufffd"
_CONTROL = dict.fromkeys(
    (
        *range(9),
        *range(0xB, 0x20),
        *range(0x7F, 0xA0),
        0x61C,
        0x200E,
        0x200F,
        *range(0x2028, 0x202F),
        *range(0x2066, 0x206A),
    ),
    _REPLACEMENT,
)
"""Characters that control a terminal (all control characters except tab and line feed), and marks that change the text
direction."""

_RUNNER_COMMAND = re.compile(r"(?m)(^[^\S\n]*):(?=:[A-Za-z-]+[ :])|#(?=#\[)")
"""Matches the start of a command for GitHub's runner: `::name` at the start of a line, even after spaces, and `##[name`
anywhere (actions/runner, ActionCommand.cs). The runner executes such commands from both output streams."""


def harmless(text: str | Text) -> str | Text:
    """Replace all characters in `text` that would control a terminal or GitHub's runner.

    Names in a results tree and the output of hosts are untrusted.
    """
    if isinstance(text, str):
        return _replaced(text)
    plain = _replaced(text.plain)
    if plain != text.plain:  # the length stays the same, so styles keep their positions
        text = text.copy()
        text.plain = plain
    return text


def _replaced(text: str) -> str:
    text = text.translate(_CONTROL)
    if not os.environ.get("GITHUB_ACTIONS"):
        return text
    return _RUNNER_COMMAND.sub(lambda found: (found[1] or "") + _REPLACEMENT, text)


def _json(document: Mapping[str, Any], indent: int | None = None) -> str:
    """Return JSON for stdout, encoded so that GitHub's runner finds no commands in it."""
    return json.dumps(document, indent=indent, allow_nan=False, default=str).replace("##[", "#\\u0023[") + "\n"


def wants_colour(choice: str, stream: TextIO, environ: Mapping[str, str]) -> bool:
    """Return whether to color the output to `stream`, given `--color choice`."""
    if choice != "auto":
        return choice == "always"
    if environ.get("NO_COLOR"):
        return False
    if environ.get("FORCE_COLOR"):
        return True
    return stream.isatty() and environ.get("TERM", "") != "dumb"


def width(environ: Mapping[str, str], stream: TextIO) -> int:
    """Return the number of columns: COLUMNS if it is an integer of at least 20, else the terminal width, else 80."""
    columns = environ.get("COLUMNS", "")
    if columns.isdigit() and int(columns) >= 20:
        return int(columns)
    try:
        return os.get_terminal_size(stream.fileno()).columns or 80
    except (OSError, ValueError):
        return 80


@dataclass
class OutputStyle:
    """The verbosity, format and colors of the output."""

    verbosity: int = 0
    quiet: bool = False
    log_level: str = "info"
    json: bool = False
    colour: Literal["auto", "always", "never"] = "auto"
    progress: bool = True


class Console:
    """Prints text, tables and diagnostics in one output style."""

    def __init__(self, style: OutputStyle) -> None:
        self.style = style
        self.files: dict[str, str] = {}
        """The source texts that diagnostics quote, keyed by file name. Commands that read a plan add them here."""
        self.width = width(os.environ, sys.stdout)

    @cached_property
    def out(self) -> RichConsole:
        """The rich console for styled text on stdout."""
        return self._rich(sys.stdout)

    @cached_property
    def err(self) -> RichConsole:
        """The rich console for styled text and live progress on stderr."""
        return self._rich(sys.stderr)

    def _rich(self, stream: TextIO) -> RichConsole:
        from rich.console import Console as RichConsole

        colour = wants_colour(self.style.colour, stream, os.environ)
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
    def folds(self) -> bool:
        """Whether lines on stdout should fit in `width` columns. This is the case on a terminal or if COLUMNS is set;
        lines for other programs may be longer."""
        return sys.stdout.isatty() or bool(os.environ.get("COLUMNS"))

    @property
    def interactive(self) -> bool:
        """Whether to show live progress: only on a capable terminal, and only if no option disables it."""
        plain = self.style.quiet or self.style.json or not self.style.progress
        return not plain and sys.stderr.isatty() and os.environ.get("TERM", "") != "dumb" and not os.environ.get("CI")

    def prints(self, level: str) -> bool:
        """Return whether messages of this level (a log level or a severity) go to stderr, given --quiet and
        --log-level."""
        return not self.style.quiet and _LEVELS[level] >= _LEVELS[self.style.log_level]

    def result(self, text: str | Text = "") -> None:
        """Print a result to stdout."""
        if isinstance(text, str):
            _write(sys.stdout, f"{harmless(text)}\n")
        else:
            self.out.print(harmless(text))

    def annotations(self, lines: str) -> None:
        """Print commands for GitHub's runner to stdout or, with --json, to stderr. The values in the commands must
        already be escaped."""
        _write(sys.stderr if self.style.json else sys.stdout, lines)

    def runner_command(self, line: str) -> None:
        """Print a command for GitHub's runner to stderr, between progress lines."""
        _write(sys.stderr, f"{line}\n")

    def document(self, document: Mapping[str, Any]) -> None:
        """Print a JSON document to stdout, with `schema` as its first key."""
        ordered = {"schema": document["schema"], **document} if "schema" in document else dict(document)
        sys.stdout.write(_json(ordered, indent=2))

    def json_line(self, document: Mapping[str, Any]) -> None:
        """Print one line of JSON Lines to stdout and flush it."""
        _write(sys.stdout, _json(document))

    def line(self, text: str | Text = "", style: str = "", *, always: bool = False) -> None:
        """Print progress or a remark to stderr if `prints("info")` is true or `always` is set."""
        if not (always or self.prints("info")):
            return
        if isinstance(text, str) and not style and "err" not in vars(self):  # once loaded, rich may be showing progress
            _write(sys.stderr, f"{harmless(text)}\n")
        else:
            self.err.print(harmless(text), style=style or None)

    def over(self, text: str) -> None:
        """Print progress to stderr in a line that the next call overwrites. The console must be `interactive`.

        A final call with empty text clears the line.
        """
        _write(sys.stderr, f"\r\x1b[K{harmless(text)}")

    def diagnostics(self, findings: Iterable[Diagnostic]) -> None:
        """Print errors, and other diagnostics if their level is enabled, ordered by location. The diagnostics go to
        stderr or, with --json, to stdout as JSON Lines."""
        chosen = [item for item in findings if item.severity == "error" or self.prints(item.severity)]
        if self.style.json:
            for item in chosen:
                self.json_line(item.to_json())
            return
        if not chosen:
            return
        from rich.text import Text

        from asct.diagnostics.render import in_order, render

        for item in in_order(chosen):
            text = render(item, self.files, width=self.err.width, colour=not self.err.no_color)
            self.err.print(harmless(Text.from_ansi(text)))

    def table(self, header: Sequence[str], rows: Iterable[Sequence[str]], right: frozenset[int] = frozenset()) -> None:
        """Print a table to stdout. Columns are separated by two spaces and left-aligned, except those in `right`."""
        title, *body = aligned([header, *([cell.translate(_CONTROL) for cell in row] for row in rows)], right)
        colour = wants_colour(self.style.colour, sys.stdout, os.environ)
        _write(sys.stdout, f"\x1b[1m{title}\x1b[0m\n" if colour else f"{title}\n")
        for line in body:
            self.result(line)


def _write(stream: TextIO, text: str) -> None:
    stream.write(text)
    stream.flush()
