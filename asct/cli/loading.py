"""From plan files and options to a resolved plan, with every finding at once."""

from __future__ import annotations

import functools
import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

import click

from asct.cli.options import Settings
from asct.diagnostics.model import Diagnostic, errors
from asct.errors import PlanError
from asct.planner.model import ResolvedPlan

F = TypeVar("F", bound=Callable[..., Any])


@dataclass(frozen=True)
class Choice:
    """What of a plan to take, and what to change in it."""

    hosts: tuple[str, ...] = ()
    benchmarks: tuple[str, ...] = ()
    tags: tuple[str, ...] = ()
    profile: str | None = None
    sets: tuple[str, ...] = ()


_OPTIONS: tuple[Callable[[F], F], ...] = (
    click.option(
        "--host",
        "hosts",
        multiple=True,
        metavar="H",
        help="Only this host, group, range or pattern; commas and repetition add more.",
    ),
    click.option("--benchmark", "benchmarks", multiple=True, metavar="ID", help="Only this benchmark (by id)."),
    click.option("--tag", "tags", multiple=True, metavar="T", help="Only benchmarks with this tag."),
    click.option("--profile", metavar="P", help="A profile of the plan."),
    click.option("--set", "sets", multiple=True, metavar="PATH=VALUE", help="Change a value: vars.runtime=5s."),
)


def choice_options(command: F) -> F:
    """Give a command `--host --benchmark --tag --profile --set`; it receives them as `choice`, a `Choice`."""

    @functools.wraps(command)
    def with_choice(*arguments: Any, **values: Any) -> Any:
        names = ("hosts", "benchmarks", "tags", "profile", "sets")
        return command(*arguments, choice=Choice(**{name: values.pop(name) for name in names}), **values)

    wrapped: Any = with_choice
    for option in reversed(_OPTIONS):
        wrapped = option(wrapped)
    result: F = wrapped
    return result


def load(settings: Settings, path: str, choice: Choice, *, text: str | None = None) -> ResolvedPlan:
    """Load, merge, expand and resolve one plan. Raises PlanError with every finding; prints the warnings.

    `text` takes the place of the file's content (plans that `asct run` makes). A frozen plan (JSON) is thawed.
    """
    from asct.plan.load import load_plan
    from asct.planner.resolve import resolve
    from asct.planner.selection import Selection
    from asct.registry import installed

    if text is None and _is_frozen(path):
        return _thaw(path, choice)
    loaded = load_plan(Path(path), profile=choice.profile, sets=choice.sets, text=text)
    settings.console.files.update(loaded.files)
    plan = loaded.plan or loaded.partial
    if plan is None:
        raise PlanError(*loaded.diagnostics)
    selection = Selection(hosts=choice.hosts, benchmarks=choice.benchmarks, tags=choice.tags)
    resolution = resolve(plan, installed(), selection)
    if errors(loaded.diagnostics):
        raise PlanError(
            *loaded.diagnostics, *(item for item in resolution.diagnostics if item not in loaded.diagnostics)
        )
    resolved = resolution.required()
    settings.console.diagnostics([*loaded.diagnostics, *resolution.diagnostics])
    return resolved


def _is_frozen(path: str) -> bool:
    return path.endswith(".json") and Path(path).is_file()


def _thaw(path: str, choice: Choice) -> ResolvedPlan:
    from asct.planner.freeze import thaw

    if choice != Choice():
        raise click.UsageError(f"{path} is a frozen plan: it is taken as it is, without --host, --set and the like")
    try:
        document = json.loads(Path(path).read_text(encoding="utf-8"))
    except (ValueError, OSError, RecursionError) as problem:
        raise click.UsageError(f"{path} is not a frozen plan: {problem}") from problem
    return thaw(document)


def load_all(settings: Settings, paths: Sequence[str], choice: Choice) -> list[ResolvedPlan]:
    """Every plan, or a PlanError with the findings of all."""
    plans: list[ResolvedPlan] = []
    findings: list[Diagnostic] = []
    for path in paths:
        try:
            plans.append(load(settings, path, choice))
        except PlanError as problem:
            findings += problem.diagnostics
    if findings:
        raise PlanError(*findings)
    return plans
