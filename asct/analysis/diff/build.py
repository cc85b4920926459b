"""Open runs, and compare each of them with the base."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from asct.analysis.baseline import find_baseline, spread_of
from asct.analysis.diff.arm_asct import read_arm_asct
from asct.analysis.diff.arm_folder import MANIFEST, is_arm_asct
from asct.analysis.diff.differing import Differing, differing
from asct.analysis.diff.rows import RunDiff, compare_runs
from asct.analysis.diff.source import ASCT, DiffSource, of_stored
from asct.diagnostics.model import Diagnostic
from asct.errors import NoSuchRun, StoreError, UsageError
from asct.sdk.benchmark import Catalog
from asct.store.find import holds_run, open_run
from asct.store.reader import read_run


@dataclass(frozen=True, slots=True)
class Diff:
    """A comparison of runs with a base. `why` describes how the base was chosen if the user did not specify it;
    `sorted_by` is the run whose changes determine the order of the values, if any."""

    base: DiffSource
    runs: tuple[RunDiff, ...]
    differing: tuple[Differing, ...]
    limit: float
    why: str = ""
    sorted_by: RunDiff | None = None

    @property
    def sources(self) -> list[DiffSource]:
        """All runs, starting with the base."""
        return [self.base, *(item.run for item in self.runs)]


def compare_all(base: DiffSource, others: Sequence[DiffSource], limit: float, catalog: Catalog) -> Diff:
    """Compare each run with the base; `limit` is the smallest relative change of interest."""
    runs = tuple(compare_runs(base, other, limit, catalog) for other in others)
    hosts: list[Mapping[str, str]] = [{}, *(item.hosts for item in runs)]
    return Diff(base, runs, tuple(differing([base, *others], hosts, catalog)), limit)


def open_source(results: Path, name: str, catalog: Catalog) -> DiffSource:
    """Return the run that `name` selects. `name` is a path, `latest`, `<plan>/latest`, an id or the start of one, or a
    label.

    No other function decides which tool wrote a folder. The decision is based on the folder's content. Raises NoSuchRun
    or StoreError.
    """
    path = Path(name)
    folder = path.parent if path.name == MANIFEST else path
    if is_arm_asct(folder) and not holds_run(folder):
        return read_arm_asct(folder, catalog)
    return of_stored(open_run(results, name), catalog)


def opened(
    results: Path, names: Sequence[str], baseline: str | None, catalog: Catalog
) -> tuple[DiffSource, list[DiffSource], str]:
    """Return the base, the runs to compare with it, and how the base was chosen if the user did not specify it.

    The base is `baseline`, or else the first of several runs. A single run (by default, the latest) is compared with
    the baseline that its plan names. Raises UsageError (E709) if a run appears twice, and the same errors as
    `open_source`.
    """
    sources = [open_source(results, name, catalog) for name in names or ("latest",)]
    why = ""
    if baseline is not None:
        base = open_source(results, baseline, catalog)
        others = sources if len(sources) == 1 else [one for one in sources if not _same(one, base)]
    elif len(sources) == 1:
        base, run, why = planned_baseline(sources[0], catalog)
        return base, [run], why
    else:
        base, *others = sources
    compared = [base, *others]
    for number, one in enumerate(compared):
        if any(_same(one, other) for other in compared[:number]):
            message = f"{one.name} is given twice"
            raise UsageError(Diagnostic("E709", message, hint="a run can be compared only with another run"))
    return base, [_with_spread(base, one, others, catalog) for one in others], why


def _with_spread(base: DiffSource, run: DiffSource, others: Sequence[DiffSource], catalog: Catalog) -> DiffSource:
    """Return a run. If the base is a run of the same plan, add the spread of the plan's unchanged runs."""
    if not (base.tool == run.tool == ASCT and base.plan == run.plan):
        return run
    return replace(run, spread=spread_of(base.root, run.root, catalog, [one.root for one in others]))


def sorted_by(diff: Diff, results: Path, name: str, catalog: Catalog) -> Diff:
    """Return the comparison with values sorted by the size of their change in the run `name`.

    Raises UsageError (E709) if that run is not compared with the base, and the same errors as `open_source`.
    """
    source = open_source(results, name, catalog)
    found = next((run for run in diff.runs if _same(run.run, source)), None)
    if found is None:
        hint = f"choose one of {', '.join(run.run.name for run in diff.runs[:4])}"
        raise UsageError(Diagnostic("E709", f"--sort-by: {source.name} is not compared with the base", hint=hint))
    return replace(diff, sorted_by=found)


def _same(one: DiffSource, other: DiffSource) -> bool:
    return one.root.resolve() == other.root.resolve()


def planned_baseline(run: DiffSource, catalog: Catalog) -> tuple[DiffSource, DiffSource, str]:
    """Return the baseline that a run's plan names, the run itself, and how the baseline was chosen. The baseline
    includes the values of accepted runs, and the run includes the spread of unchanged runs.

    Raises NoSuchRun (E708) if the plan names no baseline, and StoreError (E708) if the baseline cannot be used.
    """
    if not run.baseline:
        hint = "specify two runs (`asct diff BASE NEW`), or add `baseline: {run: LABEL}` to the plan"
        which = "its plan names no baseline" if run.plan else "another tool wrote it, so there is no baseline"
        raise NoSuchRun(Diagnostic("E708", f"{run.name}: {which} to compare with", hint=hint))
    found = find_baseline(run.baseline, run.root, catalog)
    if found.problem:
        hint = "specify the base explicitly: `asct diff BASE NEW`"
        raise StoreError(Diagnostic("E708", f"{run.name}: {found.problem}", hint=hint))
    stored = read_run(run.root.parent.parent / Path(found.run))
    records = tuple(record for group in found.groups.values() for record in group.records)
    spread = {key: found.spread(group) for key, group in found.groups.items()}
    return replace(of_stored(stored, catalog), records=records), replace(run, spread=spread), found.origin
