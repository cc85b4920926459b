"""Shell completion for benchmark names, topics of `explain` and report formats, and for values that depend on other
arguments: names from the plans on the command line, settings with their values, and runs in the results tree."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

import click
from click.shell_completion import CompletionItem, split_arg_string

if TYPE_CHECKING:
    from asct.plan.model import Plan
    from asct.registry import SettingInfo

Completer = Callable[[click.Context, click.Parameter, str], list[CompletionItem]]


def completing(names: Callable[[], Iterable[str]]) -> Completer:
    """Return a click completer that calls `names` for each request and preserves a `^` before a name."""

    def complete(_ctx: click.Context, _param: click.Parameter, incomplete: str) -> list[CompletionItem]:
        caret = "^" if incomplete.startswith("^") else ""
        prefix = incomplete.removeprefix("^")
        return [CompletionItem(caret + name) for name in sorted(set(names())) if name.startswith(prefix)]

    return complete


def benchmark_names() -> list[str]:
    """Return the names and aliases of the benchmarks that `asct list` shows."""
    from asct.registry import installed

    return [name for item in installed().infos if not item.hidden for name in (item.name, *item.aliases)]


def selectors() -> list[str]:
    """Return the arguments that `asct run` accepts: names, aliases, keywords, `all` and `default`."""
    from asct.planner.keywords import GROUPS
    from asct.registry import installed

    keywords = [word for item in installed().infos if not item.hidden for word in item.keywords]
    return [*GROUPS, *benchmark_names(), *keywords]


def topics() -> list[str]:
    """Return the topics for `asct explain`: benchmarks, metrics, settings in all spellings, flags, plan keys and error
    codes."""
    from asct.diagnostics.codes import all_codes
    from asct.registry import common_flags, installed, known_plan_keys

    known = [*all_codes(), *(key.name for key in known_plan_keys()), *(flag.name for flag in common_flags())]
    for item in installed().infos:
        known += [item.name, *item.aliases]
        known += [metric.name for metric in item.metrics] + [flag.name for flag in item.flags]
        known += [name for setting in item.settings for name in (setting.name, *setting.aliases)]
    return known


def format_names() -> list[str]:
    from asct.plan.formats import report_formats

    return list(report_formats())


def completer(candidates: Callable[[click.Context], Iterable[str]]) -> Completer:
    """Make a click completer from a function that derives the candidates from the arguments already given."""

    def complete(ctx: click.Context, _param: click.Parameter, incomplete: str) -> list[CompletionItem]:
        return [CompletionItem(name) for name in sorted(set(candidates(ctx))) if name.startswith(incomplete)]

    return complete


def _plans() -> Iterator[Plan]:
    """Yield the valid parts of the plans on the command line.

    The command line is read from the variable set by click's scripts, because click does not parse the arguments before
    an option whose value is missing.
    """
    from asct.plan.load import load_plan
    from asct.plan.sources import shipped

    for word in split_arg_string(os.environ.get("COMP_WORDS", ""))[2:]:
        path = Path(shipped(word))
        if path.suffix in (".yaml", ".yml", ".json") and path.is_file():
            found = load_plan(path).partial
            if found is not None:
                yield found


@completer
def profiles(_ctx: click.Context) -> list[str]:
    return [name for plan in _plans() for name in plan.profiles]


@completer
def entries(_ctx: click.Context) -> list[str]:
    """Return the ids of the benchmarks in the plans."""
    return [entry.id for plan in _plans() for entry in plan.benchmarks]


@completer
def tags(_ctx: click.Context) -> list[str]:
    """Return the tags of the benchmarks in the plans."""
    return [tag for plan in _plans() for entry in plan.benchmarks for tag in entry.tags]


@completer
def hosts(_ctx: click.Context) -> list[str]:
    """Return the hosts and groups in the plans."""
    return [name for plan in _plans() for name in (*plan.hosts, *plan.groups, "all")]


@completer
def assignments(_ctx: click.Context) -> Iterator[str]:
    """Yield `vars.NAME=` and `ID.SETTING=VALUE` for everything that `--set` can change in the plans."""
    from asct.registry import installed

    for plan in _plans():
        yield from (f"vars.{name}=" for name in plan.vars)
        for entry in plan.benchmarks:
            info = installed().info(entry.uses)
            for setting in info.settings if info is not None else ():
                yield from _values(f"{entry.id}.{setting.name}", setting)


@completer
def settings(_ctx: click.Context) -> Iterator[str]:
    """Yield `BENCHMARK.SETTING=VALUE` for all benchmarks and aliases."""
    from asct.registry import installed

    for info in installed().infos:
        for name in (info.name, *info.aliases):
            for setting in info.settings:
                yield from _values(f"{name}.{setting.name}", setting)


def _values(name: str, setting: SettingInfo) -> Iterator[str]:
    """Yield `NAME=` and, if the setting has a fixed set of values, `NAME=VALUE` for each value."""
    words = {"boolean": "true|false"}.get(setting.type, setting.type).split("|")
    if len(words) > 1:
        yield from (f"{name}={word}" for word in words)
    else:
        yield f"{name}="


@completer
def run_names(ctx: click.Context) -> Iterator[str]:
    """Yield the ids and labels of the runs in the results tree, each both on its own and prefixed with the plan
    name."""
    results = Path(ctx.params.get("results") or "results")
    with suppress(OSError):
        for plan in results.iterdir():
            for path in plan.iterdir() if plan.is_dir() else ():
                if (path / "run.json").is_file():
                    yield path.name
                    yield f"{plan.name}/{path.name}"
