"""Loads plan files and options into a resolved plan and reports all findings at once."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import click

from asct.cli.options import GlobalOptions, PlanSelection
from asct.diagnostics.model import Diagnostic, errors
from asct.errors import PlanError

if TYPE_CHECKING:
    from asct.planner.model import ResolvedPlan


def load(options: GlobalOptions, path: str, selection: PlanSelection, *, text: str | None = None) -> ResolvedPlan:
    """Load, merge, expand and resolve one plan. Raises PlanError with every finding; prints the warnings.

    `text` takes the place of the file's content (plans that `asct run` makes). A frozen plan (JSON) is thawed.
    """
    from asct.plan.load import load_plan
    from asct.planner.resolve import resolve
    from asct.planner.selection import Selection
    from asct.registry import installed

    if text is None and _is_frozen(path):
        return _thaw(path, selection)
    loaded = load_plan(Path(path), profile=selection.profile, sets=selection.sets, text=text)
    options.console.files.update(loaded.files)
    plan = loaded.plan or loaded.partial
    if plan is None:
        raise PlanError(*loaded.diagnostics)
    wanted = Selection(hosts=selection.hosts, benchmarks=selection.benchmarks, tags=selection.tags)
    resolution = resolve(plan, installed(), wanted)
    if errors(loaded.diagnostics):
        raise PlanError(
            *loaded.diagnostics, *(item for item in resolution.diagnostics if item not in loaded.diagnostics)
        )
    resolved = resolution.required()
    options.console.diagnostics([*loaded.diagnostics, *resolution.diagnostics])
    return resolved


def _is_frozen(path: str) -> bool:
    return path.endswith(".json") and Path(path).is_file()


def _thaw(path: str, selection: PlanSelection) -> ResolvedPlan:
    from asct.planner.freeze import thaw

    if selection != PlanSelection():
        raise click.UsageError(f"{path} is a frozen plan; remove --host, --benchmark, --tag, --profile and --set")
    try:
        document = json.loads(Path(path).read_text(encoding="utf-8"))
    except (ValueError, OSError, RecursionError) as problem:
        raise click.UsageError(f"{path} is not a frozen plan: {problem}") from problem
    return thaw(document)


def load_all(options: GlobalOptions, paths: Sequence[str], selection: PlanSelection) -> list[ResolvedPlan]:
    """Every plan, or a PlanError with the findings of all."""
    plans: list[ResolvedPlan] = []
    findings: list[Diagnostic] = []
    for path in paths:
        try:
            plans.append(load(options, path, selection))
        except PlanError as problem:
            findings += problem.diagnostics
    if findings:
        raise PlanError(*findings)
    return plans
