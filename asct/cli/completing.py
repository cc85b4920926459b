"""What the shell may complete: names of benchmarks, what `explain` knows, report formats."""

from __future__ import annotations

from collections.abc import Callable, Iterable

import click
from click.shell_completion import CompletionItem

Completer = Callable[[click.Context, click.Parameter, str], list[CompletionItem]]


def completing(names: Callable[[], Iterable[str]]) -> Completer:
    """A click completer for names that are looked up when the shell asks; `^` before a name is kept."""

    def complete(_ctx: click.Context, _param: click.Parameter, incomplete: str) -> list[CompletionItem]:
        caret = "^" if incomplete.startswith("^") else ""
        wanted = incomplete.removeprefix("^")
        return [CompletionItem(caret + name) for name in sorted(set(names())) if name.startswith(wanted)]

    return complete


def benchmark_names() -> list[str]:
    """Names and aliases of the benchmarks that are listed."""
    from asct.registry import installed

    return [name for item in installed().all() if not item.hidden for name in (item.name, *item.aliases)]


def selectors() -> list[str]:
    """What `asct run` takes: names, aliases, keywords and the groups."""
    from asct.cli.adhoc import GROUPS
    from asct.registry import installed

    shown = [item for item in installed().all() if not item.hidden]
    return [*GROUPS, *benchmark_names(), *(word for item in shown for word in item.keywords)]


def explained() -> list[str]:
    """What `asct explain` knows: benchmarks, metrics, settings with all their spellings, flags, codes."""
    from asct.diagnostics.codes import all_codes
    from asct.registry import installed
    from asct.sdk.record import COMMON_FLAGS

    known = [*all_codes(), *installed().names(), *COMMON_FLAGS]
    for item in installed().all():
        known += [*item.aliases, *(metric.name for metric in item.metrics), *item.params_model.aliases(), *item.flags]
    return known


def format_names() -> list[str]:
    """The report formats."""
    from asct.export import formats

    return list(formats())
