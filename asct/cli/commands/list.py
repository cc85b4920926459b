"""`asct list [WHAT] [BENCHMARK]`."""

from __future__ import annotations

import sys
import textwrap
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

import click

from asct.cli.completion import benchmark_names, completing
from asct.cli.options import FORMAT, GlobalOptions, shared_options

if TYPE_CHECKING:
    from asct.cli.console import Console
    from asct.registry import BenchmarkInfo

_WHAT = ("benchmarks", "settings", "metrics", "kernels", "formats", "transports")


@dataclass(frozen=True)
class Listing:
    """A table: `name` is part of its schema and file name, columns are keys of the rows."""

    name: str
    columns: tuple[str, ...]
    rows: list[dict[str, Any]]
    shown: tuple[str, ...]
    """Columns of the text form; the others are in JSON and CSV only."""


@click.command("list", short_help="List benchmarks, settings, metrics, kernels, report formats or transports.")
@click.argument("what", type=click.Choice(_WHAT), default="benchmarks")
@click.argument("benchmark", required=False, shell_complete=completing(benchmark_names))
@FORMAT
@click.option(
    "-o", "--output-dir", type=click.Path(file_okay=False), help="Write the list as CSV or JSON to DIRECTORY."
)
@click.option("--force", is_flag=True, help="Allow an existing output directory.")
@shared_options
def command(
    options: GlobalOptions, what: str, benchmark: str | None, form: str, output_dir: str | None, force: bool
) -> None:
    """List benchmarks, kernels, report formats or transports.

    `asct list settings BENCHMARK` and `asct list metrics BENCHMARK` list those of one benchmark.
    """
    listing = _listing(what, benchmark)
    if output_dir is not None:
        _write(options.console, listing, output_dir, form, force)
    elif options.json or form == "json":
        options.console.document(_document(listing))
    elif form == "csv":
        from asct.cli.files import csv_text

        options.console.result(csv_text(listing.columns, listing.rows).rstrip("\n"))
    else:
        _print(options, listing)


def _document(listing: Listing) -> dict[str, Any]:
    return {"schema": f"asct.list.{listing.name}/1", listing.name: listing.rows}


def _write(console: Console, listing: Listing, folder: str, form: str, force: bool) -> None:
    """Write the listing as CSV or JSON into `folder` and name the file."""
    import json

    from asct.cli.files import csv_text, output_folder, write_text

    stem = "benchmark_list" if listing.name == "benchmarks" else f"{listing.name}_list"
    if form == "csv":
        text = csv_text(listing.columns, listing.rows)
    else:
        text = json.dumps(_document(listing), indent=2, allow_nan=False) + "\n"
    path = output_folder(folder, force) / f"{stem}.{'csv' if form == 'csv' else 'json'}"
    write_text(path, text)
    console.result(str(path))


def _listing(what: str, benchmark: str | None) -> Listing:
    if what in ("settings", "metrics"):
        if benchmark is None:
            raise click.UsageError(f"`asct list {what}` needs the name of a benchmark; `asct list` shows them")
        found = _find(benchmark)
        return _settings(found) if what == "settings" else _metrics(found)
    if benchmark is not None:
        raise click.UsageError(f"`asct list {what}` takes no further argument; remove `{benchmark}`")
    return {"benchmarks": _benchmarks, "kernels": _kernels, "formats": _formats, "transports": _transports}[what]()


def _find(name: str) -> BenchmarkInfo:
    """By name or alias. Raises a usage error that suggests the nearest name."""
    from asct.diagnostics.suggest import nearest
    from asct.registry import installed

    found = installed().info(name)
    if found is None:
        close = nearest(name, [known for item in installed().infos for known in (item.name, *item.aliases)])
        hint = f"did you mean `{close}`?" if close else "`asct list` shows all benchmarks"
        raise click.UsageError(f"no benchmark named `{name}`; {hint}")
    return found


def _benchmarks() -> Listing:
    from asct.registry import installed

    rows = [
        {
            "name": item.name,
            "alias": " ".join(item.aliases),
            "default": "yes" if item.default else "no",
            "needs": " ".join(item.needs),
            "keywords": " ".join(item.keywords),
            "summary": item.summary,
        }
        for item in installed().infos
        if not item.hidden
    ]
    columns = ("name", "alias", "default", "needs", "keywords", "summary")
    return Listing("benchmarks", columns, rows, columns[:-1])


def _settings(benchmark: BenchmarkInfo) -> Listing:
    columns = ("name", "type", "default", "aliases", "help")
    rows = [{**asdict(item), "aliases": " ".join(item.aliases)} for item in benchmark.settings]
    return Listing("settings", columns, [{key: row[key] for key in columns} for row in rows], columns)


def _metrics(benchmark: BenchmarkInfo) -> Listing:
    rows = [{**asdict(item), "at": " ".join(item.at)} for item in benchmark.metrics]
    return Listing("metrics", ("name", "unit", "better", "at", "help"), rows, ("name", "unit", "better", "help"))


def _kernels() -> Listing:
    from asct.resources import folder

    rows = [
        {"name": path.parent.name, "summary": _first_paragraph(path.read_text(encoding="utf-8"))}
        for path in sorted(folder("kernels").glob("*/README.md"))
    ]
    return Listing("kernels", ("name", "summary"), rows, ("name", "summary"))


def _first_paragraph(markdown: str) -> str:
    """The first paragraph below the title, on one line."""
    blocks = [block.strip() for block in markdown.split("\n\n")]
    text = next((block for block in blocks if block and not block.startswith("#")), "")
    return " ".join(text.split())


def _formats() -> Listing:
    from asct.export import formats

    rows = [
        {"name": name, "file": module.FILE, "summary": module.SUMMARY} for name, module in sorted(formats().items())
    ]
    return Listing("formats", ("name", "file", "summary"), rows, ("name", "file", "summary"))


def _transports() -> Listing:
    from asct.hosts.factory import transports

    rows = [{"name": name, "summary": summary} for name, summary in transports()]
    return Listing("transports", ("name", "summary"), rows, ("name", "summary"))


def _print(options: GlobalOptions, listing: Listing) -> None:
    console = options.console
    if listing.name == "benchmarks":
        if options.verbosity:
            _print_blocks(console, listing)
        else:
            _print_benchmarks(console, listing)
    elif listing.name == "settings":
        _print_blocks(console, listing)
    else:
        _print_folded(console, listing, [key for key in listing.shown if any(row[key] for row in listing.rows)])


def _print_benchmarks(console: Console, listing: Listing) -> None:
    """One line each for programs; on a terminal too narrow for that, fewer columns and folded keywords."""
    table = [[str(row[key]) for key in listing.shown] for row in listing.rows]
    widths = [max(map(len, column)) for column in zip(*table, strict=True)]
    if sum(widths) + 2 * len(widths) > console.width and sys.stdout.isatty():
        _print_folded(console, listing, ("name", "alias", "keywords"))
    else:
        console.table(listing.shown, table)
    console.line("`asct list -v` adds summaries, `asct explain NAME` describes a benchmark")


def _print_folded(console: Console, listing: Listing, shown: Sequence[str]) -> None:
    """A table whose last column is folded at the width of the terminal."""
    *fixed, last = shown
    widths = [max([len(key), *(len(str(row[key])) for row in listing.rows)]) for key in fixed]
    room = max(20, console.width - sum(widths) - 2 * len(widths))
    rows: list[list[str]] = []
    for row in listing.rows:
        first, *further = textwrap.wrap(_last_text(row, last), room, break_on_hyphens=False) or [""]
        rows.append([*(str(row[key]) for key in fixed), first])
        rows += [[*("" for _ in fixed), text] for text in further]
    console.table(shown, rows)


def _last_text(row: dict[str, Any], key: str) -> str:
    """The last column; for a metric followed by the coordinates of its values."""
    at = str(row.get("at", ""))
    return f"{row[key]}, at {at.replace(' ', ', ')}" if at else str(row[key])


def _print_blocks(console: Console, listing: Listing) -> None:
    """The name, then the text and the other columns indented below it."""
    for row in listing.rows:
        facts = [f"{key}: {row[key]}" for key in listing.columns[1:-1] if row[key] not in ("", "-")]
        console.result(row[listing.columns[0]])
        for text in (row[listing.columns[-1]], "; ".join(facts)):
            if text:
                fold = textwrap.TextWrapper(console.width, "    ", "    ", break_on_hyphens=False)
                console.result(fold.fill(text.replace("|", " | ")))
