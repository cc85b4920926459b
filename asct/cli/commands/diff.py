"""The command `asct diff BASE NEW...`."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from asct.cli.completion import completing, run_names, selectors
from asct.cli.options import FORCE_HELP, GlobalOptions, results_option, shared_options

if TYPE_CHECKING:
    from asct.analysis.diff.build import Diff
    from asct.analysis.diff.report import DiffReport

_FORMATS = ("stdout", "csv", "json", "markdown", "html")
_MOST_ROWS = 40
"""Maximum number of values per run in text and Markdown without --verbose."""
_EVERY = 1_000_000_000


class _DiffCommand(click.Command):
    """A command whose option --benchmarks takes several words, as in ASCT: `-k NAME... ^NAME`."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Insert `-k` before each additional word that selects or excludes benchmarks."""
        return super().parse_args(ctx, _repeated(args))


def _repeated(args: list[str]) -> list[str]:
    found: list[str] = []
    for word in args:
        option = "-k" if word == "--benchmarks" else word
        further = word.startswith("^") or (found[-2:-1] == ["-k"] and word in selectors())
        found += ["-k", option] if further and found[-1:] != ["-k"] else [option]
    return found


@click.command("diff", cls=_DiffCommand, short_help="Compare runs: show what differs and which values changed.")
@click.argument("runs", nargs=-1, metavar="[BASE] [NEW...]", shell_complete=run_names)
@click.option("-b", "--baseline", metavar="RUN", help="Compare with RUN instead of the first run.")
@click.option(
    "-k", "--benchmarks", "words", multiple=True, metavar="NAME... ^NAME",
    help="Compare only these benchmarks: ids, names, aliases, keywords or tags. ^NAME excludes.",
    shell_complete=completing(selectors),
)  # fmt: skip
@click.option("-s", "--sort-by", metavar="RUN", help="Sort values by the size of their change in RUN.")
@click.option(
    "--fail-on", metavar="CONDITION",
    help='Exit with code 1 if a value has regressed by more than a limit, e.g. "regression>3%".',
)  # fmt: skip
@click.option(
    "-f", "--format", "form", type=click.Choice(_FORMATS), default="stdout", show_default=True, help="Output format."
)
@click.option(
    "-o", "--output-dir", type=click.Path(file_okay=False),
    help="Write diff.csv, .json, .md and .html to DIRECTORY, or, with --format, only the file in that format.",
)  # fmt: skip
@click.option("--force", is_flag=True, help=FORCE_HELP)
@results_option(file_okay=False)
@shared_options
def command(options: GlobalOptions, runs: tuple[str, ...], form: str, fail_on: str | None, **values: Any) -> int:
    """Compare runs with a base: first the machines, software, plans and settings, then every value.

    The base is the first run, or the one given with --baseline. A single run (default: the latest) is compared with
    the baseline that its plan specifies.

    RUN is a directory, a run id (or its first characters), a label, or `latest`. To select a run of a particular plan,
    write PLAN/ID, PLAN/LABEL or PLAN/latest.

    A value has regressed or improved if its visits differ by more than chance and noise can explain. With --fail-on,
    the exit code is 1 if a value has regressed, and 3 if a regression cannot be ruled out. If no value can be
    compared, the exit code is always 3.
    """
    from asct.analysis.diff.gate import OPTION, SMALLEST, doubts, exit_code, limit_of
    from asct.cli.files import check_folder

    options.console.files[OPTION] = fail_on or ""
    limit = SMALLEST if fail_on is None else limit_of(fail_on)
    if values["output_dir"] is not None:
        check_folder(values["output_dir"], values["force"])
    diff = _compare(runs, limit, values)
    texts = _Texts(diff, options)
    if values["output_dir"] is not None:
        _write(options, texts, values["output_dir"], form, values["force"])
    if not (options.quiet and values["output_dir"]):
        _print(options, texts, form)
    if not options.json:
        options.console.diagnostics(note for source in diff.sources for note in source.notes)
        options.console.diagnostics(doubts(diff, gated=fail_on is not None))
    return exit_code(diff, gated=fail_on is not None)


def _compare(runs: tuple[str, ...], limit: float, values: Mapping[str, Any]) -> Diff:
    from asct.analysis.diff.build import compare_all, opened, sorted_by
    from asct.analysis.diff.selection import selected
    from asct.registry import installed

    results, catalog = Path(values["results"]), installed()
    base, others, why = opened(results, runs, values["baseline"], catalog)
    base, *others = selected([base, *others], values["words"], catalog)
    diff = replace(compare_all(base, others, limit, catalog), why=why)
    return diff if values["sort_by"] is None else sorted_by(diff, results, values["sort_by"], catalog)


class _Texts:
    """The formats of a comparison, each rendered on first use."""

    def __init__(self, diff: Diff, options: GlobalOptions) -> None:
        self.diff = diff
        self.width = options.console.width
        self.most = _EVERY if options.verbosity else _MOST_ROWS

    def report(self, most: int) -> DiffReport:
        from asct.analysis.diff.report import build_report
        from asct.registry import installed

        return build_report(self.diff, installed(), most)

    @cached_property
    def document(self) -> dict[str, Any]:
        """The comparison as one JSON document."""
        from asct.analysis.diff.document import document

        return document(self.diff)

    def csv(self) -> str:
        """Return CSV with one line per value and run."""
        from asct.analysis.diff.document import COLUMNS
        from asct.cli.files import csv_text

        return csv_text(COLUMNS, self.document["rows"])

    def json(self) -> str:
        return json.dumps(self.document, indent=1, allow_nan=False) + "\n"

    def stdout(self) -> str:
        """Return the comparison as plain text for a terminal."""
        from asct.export.diff.text import render

        return render(self.report(self.most), self.width)

    def markdown(self) -> str:
        from asct.export.diff.markdown import render

        return render(self.report(self.most))

    def html(self) -> str:
        from asct.export.diff.html import MOST_ROWS, render

        return render(self.report(MOST_ROWS), self.document)


def _write(options: GlobalOptions, texts: _Texts, folder: str, form: str, force: bool) -> None:
    """Render all files, and then write them to `folder`."""
    from asct.cli.files import output_folder, write_texts

    files = {
        "diff.csv": texts.csv(), "diff.json": texts.json(), "diff.md": texts.markdown(), "diff.html": texts.html(),
    }  # fmt: skip
    write_texts(options.console, output_folder(folder, force), files, form, force=force)


def _print(options: GlobalOptions, texts: _Texts, form: str) -> None:
    if options.json or form == "json":
        options.console.document(texts.document)
    else:
        options.console.result(getattr(texts, form)().rstrip("\n"))
