"""Shell completion for benchmark names, topics of `explain` and report formats."""

from __future__ import annotations

from collections.abc import Callable, Iterable

import click
from click.shell_completion import CompletionItem

Completer = Callable[[click.Context, click.Parameter, str], list[CompletionItem]]


def completing(names: Callable[[], Iterable[str]]) -> Completer:
    """Return a click completer that calls `names` for each request and preserves a `^` before a name."""

    def complete(_ctx: click.Context, _param: click.Parameter, incomplete: str) -> list[CompletionItem]:
        caret = "^" if incomplete.startswith("^") else ""
        wanted = incomplete.removeprefix("^")
        return [CompletionItem(caret + name) for name in sorted(set(names())) if name.startswith(wanted)]

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
    """Return the report format names."""
    from asct.plan.formats import report_formats

    return list(report_formats())
