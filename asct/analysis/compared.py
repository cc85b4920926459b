"""The comparison of a run with its baseline, as part of its report."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Final

from asct.analysis.baseline import NEWEST, newest_before
from asct.analysis.diff.build import Diff, compare_all, planned_baseline
from asct.analysis.diff.gate import SMALLEST
from asct.analysis.diff.report import DiffReport, build_report
from asct.analysis.diff.source import DiffSource, of_stored
from asct.analysis.view import RunView
from asct.diagnostics.model import Diagnostic
from asct.errors import StoreError
from asct.sdk.figure import Figure
from asct.store.reader import read_run

_MOST_VALUES: Final = 200
"""Maximum number of compared values in a report. The report shows the most important values; `asct diff` lists all of
them."""
_MOST_FIGURES: Final = 12


@dataclass(frozen=True, slots=True)
class Comparison:
    """The comparison with the run `base`, and why that run was chosen. `figures` contains the curves of both runs. If
    the baseline cannot be used, `problem` says why, and there is no `report`."""

    base: str
    why: str
    report: DiffReport | None
    figures: tuple[Figure, ...] = ()
    problem: str = ""


def comparison_of(view: RunView) -> Comparison | None:
    """Return the comparison with the baseline that the plan names or, if it names none, with the newest earlier run of
    the plan. Return None if there is no such run."""
    try:
        found = diff_of(view)
        if found is None or view.catalog is None:
            return None
        diff, why = found
        report = build_report(diff, view.catalog, _MOST_VALUES)
    except StoreError as error:
        return Comparison("", "", None, problem=error.diagnostics[0].message)
    figures = (replace(figure, slug=f"comparison-{figure.slug}") for figure in report.figures[:_MOST_FIGURES])
    return Comparison(diff.base.name, why, report, tuple(figures))


@lru_cache(maxsize=1)
def diff_of(view: RunView) -> tuple[Diff, str] | None:
    """Return the comparison of all values with the baseline, and how the baseline was chosen, or None if there is no
    baseline. Raises StoreError if the baseline cannot be used."""
    found = sources_of(view)
    if found is None or view.catalog is None:
        return None
    base, current, why = found
    return compare_all(base, [current], SMALLEST, view.catalog), why


@lru_cache(maxsize=1)
def sources_of(view: RunView) -> tuple[DiffSource, DiffSource, str] | None:
    """Return the baseline, the run to compare with it, and how the baseline was chosen, or None if there is no
    baseline. Raises StoreError if the baseline cannot be used."""
    catalog = view.catalog
    if isinstance(view.sources, str):
        raise StoreError(Diagnostic("E708", view.sources))
    if catalog is None or view.sources is not None:
        return view.sources
    if view.resolved.get("baseline"):
        return planned_baseline(of_stored(read_run(view.root), catalog, view.facts), catalog)
    earlier = newest_before(view.root)
    if earlier is None:
        return None
    return of_stored(earlier, catalog), of_stored(read_run(view.root), catalog, view.facts), NEWEST
