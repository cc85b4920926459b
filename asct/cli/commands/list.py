"""`asct list [WHAT] [BENCHMARK]`."""

from __future__ import annotations

import textwrap
from typing import TYPE_CHECKING, Any

import click

from asct.cli.completing import benchmark_names, completing
from asct.cli.listing import Listing
from asct.cli.options import Settings, shared_options

if TYPE_CHECKING:
    from asct.sdk.benchmark import Benchmark

_WHAT = ("benchmarks", "settings", "metrics", "kernels", "formats", "transports")


@click.command("list", short_help="List benchmarks, settings, metrics, kernels, formats, transports.")
@click.argument("what", type=click.Choice(_WHAT), default="benchmarks")
@click.argument("benchmark", required=False, shell_complete=completing(benchmark_names))
@click.option(
    "-f", "--format", "form", type=click.Choice(["stdout", "csv", "json"]), default="stdout", show_default=True
)
@click.option("-o", "--output-dir", type=click.Path(file_okay=False), help="Write benchmark_list.csv/.json there.")
@click.option("--force", is_flag=True, help="Use an output folder that exists.")
@shared_options
def command(
    settings: Settings, what: str, benchmark: str | None, form: str, output_dir: str | None, force: bool
) -> None:
    """List benchmarks, or the settings or metrics of one, kernels, report formats or transports."""
    listing = _listing(what, benchmark)
    if output_dir is not None:
        from asct.cli.files import write_listing

        write_listing(settings, listing, output_dir, form, force)
        return
    if settings.json or form == "json":
        settings.console.document({"schema": f"asct.list.{listing.name}/1", listing.name: listing.rows})
    elif form == "csv":
        from asct.cli.files import csv_text

        settings.console.result(csv_text(listing.columns, listing.rows).rstrip("\n"))
    else:
        _print(settings, listing)


def _listing(what: str, benchmark: str | None) -> Listing:
    if what in ("settings", "metrics"):
        if benchmark is None:
            raise click.UsageError(f"`asct list {what}` needs the name of a benchmark; `asct list` shows them")
        from asct.cli.lookup import find_benchmark

        found = find_benchmark(benchmark)
        return _settings(found) if what == "settings" else _metrics(found)
    if benchmark is not None:
        raise click.UsageError(f"`asct list {what}` takes no further name; remove `{benchmark}`")
    return {"benchmarks": _benchmarks, "kernels": _kernels, "formats": _formats, "transports": _transports}[what]()


def _benchmarks() -> Listing:
    from asct.registry import installed

    rows = [
        {
            "name": item.name,
            "alias": " ".join(item.aliases),
            "default": "yes" if item.default else "no",
            "needs": " ".join(need.benchmark for need in item.dependencies),
            "keywords": " ".join(item.keywords),
            "summary": item.summary,
        }
        for item in installed().all()
        if not item.hidden
    ]
    columns = ("name", "alias", "default", "needs", "keywords", "summary")
    return Listing("benchmarks", columns, rows, ("name", "alias", "default", "needs", "keywords"))


def _settings(benchmark: Benchmark[Any]) -> Listing:
    from asct.cli.lookup import describe_settings

    columns = ("name", "type", "default", "aliases", "help")
    return Listing("settings", columns, describe_settings(benchmark), columns)


def _metrics(benchmark: Benchmark[Any]) -> Listing:
    rows = [
        {
            "name": metric.name,
            "unit": metric.unit,
            "better": metric.better,
            "at": " ".join(metric.coords),
            "help": metric.help,
        }
        for metric in benchmark.metrics
    ]
    columns = ("name", "unit", "better", "at", "help")
    return Listing("metrics", columns, rows, ("name", "unit", "better", "help"))


def _kernels() -> Listing:
    from asct.cli.lookup import first_paragraph
    from asct.resources import folder

    rows = [
        {"name": place.parent.name, "summary": first_paragraph(place.read_text(encoding="utf-8"))}
        for place in sorted(folder("kernels").glob("*/README.md"))
    ]
    return Listing("kernels", ("name", "summary"), rows, ("name", "summary"))


def _formats() -> Listing:
    from asct.export import formats

    rows = [
        {"name": name, "file": module.FILE, "summary": module.SUMMARY} for name, module in sorted(formats().items())
    ]
    return Listing("formats", ("name", "file", "summary"), rows, ("name", "file", "summary"))


def _transports() -> Listing:
    from asct.hosts.opening import transports

    rows = [{"name": name, "summary": summary} for name, summary in transports()]
    return Listing("transports", ("name", "summary"), rows, ("name", "summary"))


def _print(settings: Settings, listing: Listing) -> None:
    if listing.name == "settings" or (listing.name == "benchmarks" and settings.verbosity):
        _print_blocks(settings, listing)
        return
    console = settings.console
    shown = [key for key in listing.shown if any(row[key] for row in listing.rows)]
    if listing.name == "benchmarks":  # one line each, whatever the width
        console.table(shown, ([str(row[key]) for key in shown] for row in listing.rows))
        console.line("`asct list -v` says what they measure, `asct explain NAME` how and why")
        return
    *fixed, last = shown
    widths = [max([len(key), *(len(str(row[key])) for row in listing.rows)]) for key in fixed]
    room = max(20, console.out.width - sum(widths) - 2 * len(widths))
    rows: list[list[str]] = []
    for row in listing.rows:
        first, *further = textwrap.wrap(_last_text(row, last), room, break_on_hyphens=False) or [""]
        rows.append([*(str(row[key]) for key in fixed), first])
        rows += [[*("" for _ in fixed), text] for text in further]
    console.table(shown, rows)


def _last_text(row: dict[str, Any], key: str) -> str:
    """The last column; of a metric with where in the result its values stand."""
    at = str(row.get("at", ""))
    return f"{row[key]}, at {at.replace(' ', ', ')}" if at else str(row[key])


def _print_blocks(settings: Settings, listing: Listing) -> None:
    """A line of facts and an indented text for each row: nothing is cut."""
    console = settings.console
    for row in listing.rows:
        facts = [f"{key}: {row[key]}" for key in listing.columns[1:-1] if row[key] not in ("", "-")]
        console.result(row[listing.columns[0]])
        for text in (row[listing.columns[-1]], "; ".join(facts)):
            if text:
                fold = textwrap.TextWrapper(console.out.width, "    ", "    ", break_on_hyphens=False)
                console.result(fold.fill(text.replace("|", " | ")))
