"""The command `asct explain NAME`."""

from __future__ import annotations

import re
import textwrap
from typing import TYPE_CHECKING

import click

from asct.cli.completion import completing, topics
from asct.cli.options import GlobalOptions, shared_options

if TYPE_CHECKING:
    from asct.registry import BenchmarkInfo, FlagInfo

_ITEMS = ("* ", "- ", "1. ")


@click.command("explain", short_help="Explain a benchmark, metric, setting, flag, plan key or error code.")
@click.argument("name", shell_complete=completing(topics))
@shared_options
def command(options: GlobalOptions, name: str) -> None:
    """Explain a benchmark, metric, setting, flag, key of the plan language, or error code.

    A metric or setting can be prefixed with its benchmark, e.g. `sfio.iodepth`.
    """
    title, body = _explanation(name)
    if options.json:
        options.console.document({"schema": "asct.explain/1", "name": name, "title": title, "text": body})
        return
    options.console.result(reflowed(body, options.console.width).rstrip("\n"))


def reflowed(text: str, width: int) -> str:
    """Format Markdown for a terminal: headings in capitals, indented code, and paragraphs, items and tables wrapped to
    `width` columns."""
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
    """Return the headings and code blocks without `#` and fences."""
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
    """Return a Markdown table unchanged if it fits; otherwise, return each row as indented text below its first
    cell."""
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
    """Return the items of a list, each as one line."""
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
    for find in (_code, _benchmark):
        found = find(name)
        if found is not None:
            return found
    texts = [found for found in (_part(name), _key(name)) if found is not None]
    texts = texts or [found for found in (_key(name, of_transports=True),) if found is not None]
    if not texts:
        raise _unknown(name)
    return texts[0][0], "\n\n".join(text for _, text in texts)


def _code(name: str) -> tuple[str, str] | None:
    from asct.diagnostics.codes import lookup

    found = lookup(name.upper())
    if found is None:
        return None
    return found.title, f"{name.upper()}: {found.title}\n\n{found.text}"


def _benchmark(name: str) -> tuple[str, str] | None:
    from asct.registry import installed

    found = installed().info(name)
    if found is None:
        return None
    further = f"`asct list settings {found.name}` and `asct list metrics {found.name}` show the rest."
    return found.title, f"{installed().readme(found.name).rstrip()}\n\n{further}"


def _part(name: str) -> tuple[str, str] | None:
    """Explain a metric, a setting or a flag of every benchmark that has it, or of the named benchmark only.

    Returns None if no benchmark has a metric, setting or flag with this name.
    """
    from asct.registry import common_flags, installed

    common = next((flag for flag in common_flags() if flag.name == name), None)
    if common is not None:
        return name, _flag_text(common)
    owner, _, part = name.rpartition(".")
    texts: dict[str, list[str]] = {}
    for item in installed().infos:
        if not owner or owner in (item.name, *item.aliases):
            for text in _part_texts(item, part):
                texts.setdefault(text, []).append(item.name)
    if not texts:
        return None
    body = "\n\n".join(f"{text}\n* in: {', '.join(owners)}" for text, owners in texts.items())
    return part, body


def _key(name: str, *, of_transports: bool = False) -> tuple[str, str] | None:
    """Explain a key of the plan language, by its name or path, wherever a plan may contain it; None if there is none.

    Keys with the same description are explained together. Keys that a transport adds are known only with
    `of_transports`, because all transports must be imported.
    """
    from asct.plan.keys import plan_keys
    from asct.registry import known_plan_keys

    places: dict[tuple[str, str, str], list[str]] = {}
    for key in plan_keys() if of_transports else known_plan_keys():
        if name in (key.name, key.path):
            place = f"`{key.place}`" if key.place else "the plan itself"
            places.setdefault((key.description, ", ".join(key.inner), ", ".join(key.choices)), []).append(place)
    if not places:
        return None
    texts = []
    for (description, inner, choices), found in places.items():
        more = f"\n* one of: {choices}" * bool(choices) + f"\n* keys: {inner}" * bool(inner)
        texts.append(f"plan key `{name.rpartition('.')[2]}` in {', '.join(found)}\n\n* {description}{more}")
    return name, "\n\n".join(texts) + "\n\nThe page plan-language.md in the documentation describes plans."


def _part_texts(benchmark: BenchmarkInfo, name: str) -> list[str]:
    """Return the descriptions of the metric, setting and flag of a benchmark that are called `name`, if they exist."""
    texts = []
    for metric in benchmark.metrics:
        if metric.name == name:
            coordinates = f"\n* coordinates: {', '.join(metric.at)}" if metric.at else ""
            head = f"metric `{name}` in {metric.unit}, {metric.better} is better"
            texts.append(f"{head}\n\n* {metric.help}{coordinates}")
    setting = benchmark.setting(name)
    if setting is not None:
        aliases = f"\n* aliases: {' '.join(setting.aliases)}" if setting.aliases else ""
        pitfalls = f"\n* pitfalls: {setting.pitfalls}" if setting.pitfalls else ""
        head = f"setting `{setting.name}` ({setting.type}, default {setting.default})"
        texts.append(f"{head}\n\n* {setting.help}{aliases}{pitfalls}")
    return texts + [_flag_text(flag) for flag in benchmark.flags if flag.name == name]


def _flag_text(flag: FlagInfo) -> str:
    doubt = "marks the value as doubtful" if flag.doubtful else "does not make the value doubtful by itself"
    return f"flag `{flag.name}`, {doubt}\n\n* {flag.help}"


def _unknown(name: str) -> click.UsageError:
    from asct.diagnostics.suggest import did_you_mean
    from asct.registry import installed

    settings = (setting for item in installed().infos for setting in item.settings if name in setting.resembles)
    similar = dict.fromkeys(f"`{setting.name}`: {setting.help}" for setting in settings)
    if similar:
        return click.UsageError(f"unknown topic `{name}`; similar settings are {'; '.join(similar)}")
    hint = did_you_mean(name, topics(), "a topic is a benchmark, metric, setting, flag, plan key or error code")
    return click.UsageError(f"unknown topic `{name}`; {hint}")
