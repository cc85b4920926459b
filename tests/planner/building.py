"""Resolve plans from YAML text with the fake catalog."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from pathlib import Path

from asct.diagnostics.model import Diagnostic, errors
from asct.plan.load import load_plan, variants
from asct.plan.model import Plan
from asct.planner.model import Job, ResolvedPlan
from asct.planner.resolve import Resolution, resolve
from asct.planner.selection import Selection
from tests.planner.fakes import CATALOG

FILE = "plan.yaml"


def load(text: str, sets: Sequence[str] = (), profile: str | None = None) -> Plan:
    """Load the plan in `text`. The version is added, and so is a name if there is none."""
    head = "" if "\nname:" in text else "\nname: test"
    loaded = load_plan(Path(FILE), text=f"{text.rstrip()}{head}\nplan: 1\n", profile=profile, sets=sets)
    assert loaded.plan is not None, loaded.diagnostics
    return loaded.plan


def run(text: str, sets: Sequence[str] = (), profile: str | None = None, **selection: tuple[str, ...]) -> Resolution:
    """Load and resolve a plan."""
    plan = load(text, sets, profile)
    return resolve(plan, CATALOG, Selection(**selection), partial(variants, plan))


def resolved(
    text: str, sets: Sequence[str] = (), profile: str | None = None, **selection: tuple[str, ...]
) -> ResolvedPlan:
    """Return the resolved plan, which must have no errors."""
    found = run(text, sets, profile, **selection)
    assert found.plan is not None, found.diagnostics
    return found.plan


def job(text: str, name: str | None = None, sets: Sequence[str] = ()) -> Job:
    """Return the last job, or the last one with the id `name`."""
    jobs = resolved(text, sets).jobs
    return next(item for item in reversed(jobs) if name in (None, item.id))


def refused(
    text: str, sets: Sequence[str] = (), profile: str | None = None, **selection: tuple[str, ...]
) -> list[Diagnostic]:
    """Return the errors of a plan that must not be resolved."""
    found = run(text, sets, profile, **selection)
    assert found.plan is None
    return errors(found.diagnostics)


def at(text: str, word: str, occurrence: int = 0) -> tuple[int, int]:
    """Return the line and column of the nth occurrence of a word, counted from 1."""
    position = -1
    for _ in range(occurrence + 1):
        position = text.index(word, position + 1)
    before = text[:position].split("\n")
    return len(before), len(before[-1]) + 1
