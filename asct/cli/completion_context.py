"""Shell completion for values that depend on other arguments: names from the plans on the command line, settings with
their values, and runs in the results tree."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

import click
from click.shell_completion import CompletionItem, split_arg_string

from asct.cli.completion import Completer

if TYPE_CHECKING:
    from asct.plan.model import Plan
    from asct.registry import SettingInfo

Candidates = Callable[[click.Context], Iterable[str]]


def completing_from(candidates: Candidates) -> Completer:
    """Return a click completer that derives the candidates from the arguments already given."""

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


def profiles(_ctx: click.Context) -> list[str]:
    """Return the profiles of the plans."""
    return [name for plan in _plans() for name in plan.profiles]


def entries(_ctx: click.Context) -> list[str]:
    """Return the ids of the benchmarks in the plans."""
    return [entry.id for plan in _plans() for entry in plan.benchmarks]


def tags(_ctx: click.Context) -> list[str]:
    """Return the tags of the benchmarks in the plans."""
    return [tag for plan in _plans() for entry in plan.benchmarks for tag in entry.tags]


def hosts(_ctx: click.Context) -> list[str]:
    """Return the hosts and groups in the plans."""
    return [name for plan in _plans() for name in (*plan.hosts, *plan.groups, "all")]


def assignments(_ctx: click.Context) -> Iterator[str]:
    """Yield `vars.NAME=` and `ID.SETTING=VALUE` for everything that `--set` can change in the plans."""
    from asct.registry import installed

    for plan in _plans():
        yield from (f"vars.{name}=" for name in plan.vars)
        for entry in plan.benchmarks:
            info = installed().info(entry.uses)
            for setting in info.settings if info is not None else ():
                yield from _values(f"{entry.id}.{setting.name}", setting)


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


def runs(ctx: click.Context) -> Iterator[str]:
    """Yield the ids and labels of the runs in the results tree, each both on its own and prefixed with the plan
    name."""
    results = Path(ctx.params.get("results") or "results")
    with suppress(OSError):
        for plan in results.iterdir():
            for path in plan.iterdir() if plan.is_dir() else ():
                if (path / "run.json").is_file():
                    yield path.name
                    yield f"{plan.name}/{path.name}"
