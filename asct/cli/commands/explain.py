"""The command `asct explain NAME`."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from typing import TYPE_CHECKING

import click

from asct.cli.completion import completing, topics
from asct.cli.console import wants_colour
from asct.cli.markdown import reflowed
from asct.cli.options import GlobalOptions, shared_options

if TYPE_CHECKING:
    from asct.registry import BenchmarkInfo, FlagInfo, SettingInfo


@click.command("explain", short_help="Explain a benchmark, metric, setting, flag, plan key or error code.")
@click.argument("name", shell_complete=completing(topics))
@shared_options
def command(options: GlobalOptions, name: str) -> None:
    """Explain a benchmark, metric, setting, flag, plan key or error code.

    A metric or setting can be prefixed with its benchmark, e.g. `sfio.iodepth`.
    """
    title, body = _explanation(name)
    if options.json:
        options.console.document({"schema": "asct.explain/1", "name": name, "title": title, "text": body})
        return
    colour = wants_colour(options.colour, sys.stdout, os.environ)
    text = reflowed(body, options.console.width, colour=colour).rstrip("\n")
    if not colour:
        options.console.result(text)
        return
    from rich.text import Text

    options.console.result(Text.from_ansi(text))


def _explanation(name: str) -> tuple[str, str]:
    for find in (_code, _benchmark):
        found = find(name)
        if found is not None:
            return found
    texts = [found for found in (_part(name), _key(name)) if found is not None]
    texts = texts or [found for found in (_key(name, of_transports=True), _foreign(name)) if found is not None]
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
    body = "\n\n".join(f"{text}\n* benchmarks: {', '.join(owners)}" for text, owners in texts.items())
    return part, body


def _key(name: str, *, of_transports: bool = False) -> tuple[str, str] | None:
    """Explain a plan key, given its name or path, for all sections of a plan that may contain it. Returns None if there
    is no such key.

    Keys with the same description are explained together. Keys that a transport adds are found only with
    `of_transports`, because this requires importing all transports.
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
    """Return descriptions of a benchmark's metric, setting and flag named `name`, if they exist."""
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
        similar = ", ".join(f"`{other}`" for other in _similar(setting))
        see = f"\n* see also: {similar}" if similar else ""
        head = f"setting `{setting.name}` ({setting.type}, default {setting.default})"
        texts.append(f"{head}\n\n* {setting.help}{aliases}{pitfalls}{see}")
    return texts + [_flag_text(flag) for flag in benchmark.flags if flag.name == name]


def _flag_text(flag: FlagInfo) -> str:
    doubt = "marks the value as doubtful" if flag.doubtful else "does not make the value doubtful by itself"
    return f"flag `{flag.name}`: {doubt}\n\n* {flag.help}"


def _similar(setting: SettingInfo) -> list[str]:
    """Return the names of settings in asct and in other tools that could be mistaken for this setting."""
    from asct.registry import installed

    own = {setting.name, *setting.aliases}
    found = dict.fromkeys(setting.resembles)
    for item in installed().infos:
        for other in item.settings:
            if not own.isdisjoint(other.resembles) or not set(setting.resembles).isdisjoint(other.resembles):
                found[other.name] = None
    known = {alias: item.name for info in installed().infos for item in info.settings for alias in item.aliases}
    return [name for name in dict.fromkeys(known.get(name, name) for name in found) if name not in own]


def _foreign(name: str) -> tuple[str, str] | None:
    """Explain another tool's setting by describing similar asct settings. Returns None if there are none."""
    from asct.registry import installed

    similar = dict.fromkeys(
        setting.name for item in installed().infos for setting in item.settings if name in setting.resembles
    )
    parts = [found[1] for found in map(_part, similar) if found is not None]
    return (name, "\n\n".join([f"asct has no setting `{name}`. Similar settings are:", *parts])) if parts else None


def _unknown(name: str) -> click.UsageError:
    from asct.values.suggest import near_names

    near = [f"`{topic}`" for topic in near_names(name, _all_topics(name))]
    hint = f"did you mean {' or '.join(filter(None, (', '.join(near[:-1]), near[-1])))}?" if near else ""
    otherwise = "a topic is a benchmark, metric, setting, flag, plan key or error code"
    return click.UsageError(f"unknown topic `{name}`; {hint or otherwise}")


def _all_topics(name: str) -> Iterator[str]:
    """Yield every topic. For a name with a dot, yield plan key paths and the parts of the named benchmark."""
    from asct.registry import installed, known_plan_keys

    if "." not in name:
        yield from topics()
        return
    yield from (key.path for key in known_plan_keys())
    info = installed().info(name.partition(".")[0])
    if info is not None:
        parts = (info.settings, info.metrics, info.flags)
        yield from (f"{name.partition('.')[0]}.{part.name}" for group in parts for part in group)
