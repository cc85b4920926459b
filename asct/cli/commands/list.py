"""The command `asct list [WHAT] [BENCHMARK]`."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

import click

from asct.cli.completion import benchmark_names, completing
from asct.cli.options import FORCE_HELP, FORMAT, GlobalOptions, shared_options
from asct.values.text import wrapped_lines

if TYPE_CHECKING:
    from asct.cli.console import Console
    from asct.registry import BenchmarkInfo

_COLUMNS: Final = {
    "benchmarks": ("name", "alias", "default", "needs", "keywords", "summary"),
    "settings": ("name", "type", "default", "aliases", "help"),
    "metrics": ("name", "unit", "better", "at", "help"),
    "kernels": ("name", "summary"),
    "formats": ("name", "file", "summary"),
    "transports": ("name", "summary"),
}


@dataclass(frozen=True)
class Listing:
    """A table whose columns are the keys of its rows. `name` is part of the schema name and the file name."""

    name: str
    rows: list[dict[str, Any]]

    @property
    def columns(self) -> tuple[str, ...]:
        """The columns, in the order of the CSV file."""
        return _COLUMNS[self.name]

    @property
    def document(self) -> dict[str, Any]:
        """The list as a JSON document."""
        return {"schema": f"asct.list.{self.name}/1", self.name: self.rows}


@click.command(
    "list", short_help="List benchmarks, settings, metrics, measurement kernels, report formats or transports."
)
@click.argument("what", type=click.Choice(tuple(_COLUMNS)), default="benchmarks")
@click.argument("benchmark", required=False, shell_complete=completing(benchmark_names))
@FORMAT
@click.option(
    "-o", "--output-dir", type=click.Path(file_okay=False), help="Write the list as CSV or JSON to DIRECTORY."
)
@click.option("--force", is_flag=True, help=FORCE_HELP)
@shared_options
def command(
    options: GlobalOptions, what: str, benchmark: str | None, form: str, output_dir: str | None, force: bool
) -> None:
    """List benchmarks, measurement kernels, report formats or transports.

    `asct list settings BENCHMARK` and `asct list metrics BENCHMARK` list the settings and metrics of one benchmark.
    """
    from asct.cli.files import csv_text, output_folder, write_texts

    listing = Listing(what, _rows(what, benchmark))
    if output_dir is not None:
        stem = "benchmark_list" if what == "benchmarks" else f"{what}_list"
        text = json.dumps(listing.document, indent=2, allow_nan=False) + "\n"
        files = {f"{stem}.csv": csv_text(listing.columns, listing.rows), f"{stem}.json": text}
        write_texts(options.console, output_folder(output_dir, force), files, form, force=force)
        if options.quiet:
            return
    if options.json or form == "json":
        options.console.document(listing.document)
    elif form == "csv":
        options.console.result(csv_text(listing.columns, listing.rows).rstrip("\n"))
    else:
        _print(options, listing)


def _rows(what: str, benchmark: str | None) -> list[dict[str, Any]]:
    if what in ("settings", "metrics"):
        if benchmark is None:
            raise click.UsageError(f"`asct list {what}` needs a benchmark name; `asct list` shows all names")
        return _attributes(what, getattr(_find(benchmark), what))
    if benchmark is not None:
        raise click.UsageError(f"`asct list {what}` takes no further argument; remove `{benchmark}`")
    if what == "benchmarks":
        from asct.registry import installed

        return _attributes(what, [item for item in installed().infos if not item.hidden])
    if what == "kernels":
        from asct.resources import folder

        files = sorted(folder("kernels").glob("*/README.md"))
        return [
            {"name": file.parent.name, "summary": _first_paragraph(file.read_text(encoding="utf-8"))} for file in files
        ]
    if what == "formats":
        from asct.plan.formats import report_formats

        return [{"name": name, "file": one.file, "summary": one.summary} for name, one in report_formats().items()]
    from asct.transports import transports

    return [{"name": name, "summary": summary} for name, summary in transports()]


def _attributes(what: str, items: Sequence[Any]) -> list[dict[str, Any]]:
    """Return the attributes of each item that have a column."""
    return [
        {key: _text(getattr(item, "aliases" if key == "alias" else key)) for key in _COLUMNS[what]} for item in items
    ]


def _text(value: object) -> str:
    if isinstance(value, bool):
        return "yes" if value else "no"
    return " ".join(value) if isinstance(value, list) else str(value)


def _find(name: str) -> BenchmarkInfo:
    """Find a benchmark by name or alias. If there is none, raises a UsageError that suggests the nearest name."""
    from asct.registry import installed
    from asct.values.suggest import did_you_mean

    found = installed().info(name)
    if found is None:
        known = [known for item in installed().infos for known in (item.name, *item.aliases)]
        hint = did_you_mean(name, known, "`asct list` shows all benchmarks")
        raise click.UsageError(f"no benchmark named `{name}`; {hint}")
    return found


def _first_paragraph(markdown: str) -> str:
    """Return the first paragraph below the title as one line."""
    blocks = [block.strip() for block in markdown.split("\n\n")]
    text = next((block for block in blocks if block and not block.startswith("#")), "")
    return " ".join(text.split())


def _print(options: GlobalOptions, listing: Listing) -> None:
    console = options.console
    if listing.name == "settings" or (listing.name == "benchmarks" and options.verbosity):
        _print_blocks(console, listing)
    elif listing.name == "benchmarks":
        _print_benchmarks(console, listing)
    else:  # the column `at` is not needed, because the help text of a metric ends with its coordinates
        columns = [key for key in listing.columns if key != "at" and any(row[key] for row in listing.rows)]
        _print_folded(console, listing, columns)


def _print_benchmarks(console: Console, listing: Listing) -> None:
    """Print one line per benchmark. If the terminal is too narrow for the lines, print each benchmark's summary below
    its name, aliases and keywords."""
    table = [[row[key] for key in listing.columns] for row in listing.rows]
    widths = [max(map(len, column)) for column in zip(*table, strict=True)]
    if console.folds and sum(widths) + 2 * len(widths) > console.width:
        for row in listing.rows:
            _print_benchmark(console, row)
        console.line("* runs by default; `asct explain NAME` describes a benchmark")
    else:
        console.table(listing.columns, table)
        console.line("`asct explain NAME` describes a benchmark")


def _print_benchmark(console: Console, row: Mapping[str, str]) -> None:
    aliases = f" ({row['alias'].replace(' ', ', ')})" if row["alias"] else ""
    head = f"{'*' if row['default'] == 'yes' else ' '} {row['name']}{aliases}"
    keywords, room = row["keywords"].replace(" ", ", "), console.width - len(head) - 2
    needs = f"; needs {row['needs'].replace(' ', ', ')}" if row["needs"] else ""
    console.result(f"{head}  {keywords:>{room}}" if len(keywords) <= room else f"{head}\n    {keywords}")
    _print_indented(console, f"{row['summary']}{needs}")


def _print_indented(console: Console, text: str) -> None:
    style = {"initial_indent": "    ", "subsequent_indent": "    "}
    console.result("\n".join(wrapped_lines(text, console.width, break_on_hyphens=False, **style)))


def _print_folded(console: Console, listing: Listing, columns: Sequence[str]) -> None:
    """Print a table whose last column is wrapped at the terminal width."""
    *fixed, last = columns
    widths = [max([len(key), *(len(row[key]) for row in listing.rows)]) for key in fixed]
    room = max(20, console.width - sum(widths) - 2 * len(widths))
    rows: list[list[str]] = []
    for row in listing.rows:
        at = row.get("at", "").replace(" ", ", ")
        text = f"{row[last]}, at {at}" if at else row[last]
        first, *further = wrapped_lines(text, room, break_on_hyphens=False) or [""]
        rows.append([*(row[key] for key in fixed), first])
        rows += [[*("" for _ in fixed), part] for part in further]
    console.table(columns, rows)


def _print_blocks(console: Console, listing: Listing) -> None:
    """Print the name of each item, with its description and other columns indented below."""
    for row in listing.rows:
        facts = [f"{key}: {row[key]}" for key in listing.columns[1:-1] if row[key] not in ("", "-")]
        console.result(row[listing.columns[0]])
        for text in (row[listing.columns[-1]], "; ".join(facts)):
            if text:
                _print_indented(console, text.replace("|", " | "))
