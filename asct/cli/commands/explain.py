"""`asct explain NAME`."""

from __future__ import annotations

import re
import textwrap
from typing import Any

import click

from asct.cli.completing import completing, explained
from asct.cli.options import Settings, shared_options
from asct.sdk.record import COMMON_FLAGS, doubtful

_ITEMS = ("* ", "- ", "1. ")


@click.command("explain", short_help="Explain a benchmark, metric, setting, flag or error code.")
@click.argument("name", shell_complete=completing(explained))
@shared_options
def command(settings: Settings, name: str) -> None:
    """Explain a benchmark, a metric, a setting, a flag or an error code: what, how, pitfalls, source.

    A metric or setting may be written with its benchmark: `storage-fio.iodepth`.
    """
    title, body = _explanation(name)
    if settings.json:
        settings.console.document({"schema": "asct.explain/1", "name": name, "title": title, "text": body})
        return
    settings.console.result(reflowed(body, settings.console.out.width).rstrip("\n"))


def reflowed(text: str, width: int) -> str:
    """Markdown for a terminal: headings in capitals, code indented; paragraphs, items and tables wrapped to `width`."""
    blocks = []
    for block in re.split(r"\n{2,}", _without_marks(text)):
        if block.startswith("|"):
            blocks.append(_table(block, width))
        elif block.startswith(_ITEMS):
            blocks.append("\n".join(_wrap(item, width, "  ") for item in _items(block)))
        else:
            blocks.append(block if block.startswith(" ") or "\n  " in block else _wrap(block, width))
    return "\n\n".join(blocks)


def _without_marks(text: str) -> str:
    """Headings and code blocks without `#` and fences."""
    lines: list[str] = []
    fenced = False
    for line in text.split("\n"):
        if line.startswith("```"):
            fenced = not fenced
            lines.append("")
        elif fenced:
            lines.append(f"    {line}".rstrip())
        elif line.startswith("#"):
            heading = line.lstrip("# ")
            lines += [heading if line.startswith("# ") else heading.upper(), ""]
        else:
            lines.append(line)
    return "\n".join(lines)


def _table(block: str, width: int) -> str:
    """A Markdown table as it is when it fits, else its rows as indented text below their first cell."""
    lines = block.split("\n")
    if max(map(len, lines)) <= width:
        return block
    head, *rows = ([cell.strip() for cell in line.strip("|").split("|")] for line in lines)
    if len(rows) < 2:
        return _wrap(", ".join(head), width)
    found = []
    for first, *further in rows[1:]:
        found.append(first)
        found += [_wrap(f"    {cell}", width, "    ") for cell in further if cell]
    return "\n".join(found)


def _items(block: str) -> list[str]:
    """The items of a list, each on one line."""
    items: list[str] = []
    for line in block.split("\n"):
        if line.startswith(_ITEMS) or not items:
            items.append(line)
        else:
            items[-1] += f" {line.strip()}"
    return items


def _wrap(text: str, width: int, indent: str = "") -> str:
    return textwrap.fill(text, width, subsequent_indent=indent, break_long_words=False, break_on_hyphens=False)


def _explanation(name: str) -> tuple[str, str]:
    for find in (_code, _benchmark, _part):
        found = find(name)
        if found is not None:
            return found
    raise _unknown(name)


def _code(name: str) -> tuple[str, str] | None:
    from asct.diagnostics.codes import lookup

    found = lookup(name.upper())
    if found is None:
        return None
    return found.title, f"{name.upper()}: {found.title}\n\n{found.text}"


def _benchmark(name: str) -> tuple[str, str] | None:
    from asct.cli.lookup import readme
    from asct.registry import installed

    found = installed().get(name)
    if found is None:
        return None
    further = f"`asct list settings {found.name}` and `asct list metrics {found.name}` show the rest."
    return found.title, f"{readme(found).rstrip()}\n\n{further}"


def _part(name: str) -> tuple[str, str] | None:
    """A metric, a setting or a flag, of one benchmark or of all that have it."""
    from asct.registry import installed

    owner, _, part = name.rpartition(".")
    chosen = [item for item in installed().all() if not owner or owner in (item.name, *item.aliases)]
    texts: dict[str, list[str]] = {}
    for item in chosen:
        for text in (_metric_text(item, part), _setting_text(item, part), _flag_text(item, part)):
            if text is not None:
                texts.setdefault(text, []).append(item.name)
    if name in COMMON_FLAGS:
        return name, _flag_body(name, COMMON_FLAGS[name])
    if not texts:
        return None
    body = "\n\n".join(f"{text}\n* in: {', '.join(owners)}" for text, owners in texts.items())
    return part, body


def _metric_text(benchmark: Any, name: str) -> str | None:
    metric = next((item for item in benchmark.metrics if item.name == name), None)
    if metric is None:
        return None
    judged = {"lower": "lower is better", "higher": "higher is better", "neither": "neither is better"}[metric.better]
    places = f"\n* where it stands: {', '.join(metric.coords)}" if metric.coords else ""
    return f"metric `{metric.name}` in {metric.unit}, {judged}\n\n* {metric.help}{places}"


def _setting_text(benchmark: Any, name: str) -> str | None:
    from asct.cli.lookup import describe_settings

    main = benchmark.params_model.aliases().get(name)
    if main is None:
        return None
    row = next(item for item in describe_settings(benchmark) if item["name"] == main)
    extra = benchmark.params_model.model_fields[main].json_schema_extra
    pitfalls = f"\n* pitfalls: {extra['pitfalls']}" if isinstance(extra, dict) and extra.get("pitfalls") else ""
    others = f"\n* also written: {row['aliases']}" if row["aliases"] else ""
    return f"setting `{main}` ({row['type']}, default {row['default']})\n\n* {row['help']}{others}{pitfalls}"


def _flag_text(benchmark: Any, name: str) -> str | None:
    meaning = benchmark.flags.get(name)
    return None if meaning is None else _flag_body(name, meaning)


def _flag_body(name: str, meaning: str) -> str:
    doubt = "puts the value in doubt" if doubtful(name) else "does not put the value in doubt by itself"
    return f"flag `{name}`, {doubt}\n\n* {meaning}"


def _unknown(name: str) -> click.UsageError:
    from asct.diagnostics.suggest import nearest

    close = nearest(name, explained())
    advice = f"; did you mean `{close}`?" if close else "; it takes a benchmark, metric, setting, flag or error code"
    return click.UsageError(f"nothing is known of `{name}`{advice}")
