"""Decide which old runs of a results tree may be deleted (`asct results prune`).

A run is kept as long as something refers to it: a label, an acceptance, a run that reused its points, or a plan whose
baseline it is. The newest run of each plan that can be a baseline is also kept, so that the next run can be judged.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from asct.analysis.baseline import newest_fit
from asct.errors import StoreError
from asct.store.accepted import read_acceptances
from asct.store.find import ListedRun, list_runs, run_folders
from asct.store.folders import foreign, lock_holder
from asct.store.reader import StoredRun

_SHORTEST: Final = 8
"""The length from which the beginning of an id selects a run, as in `open_run`."""
_REUSED: Final = "reused from "


@dataclass(frozen=True, slots=True)
class OldRun:
    """A run that is old enough to be deleted. `kept` is the reason why it must be kept nevertheless, or an empty
    string."""

    item: ListedRun
    kept: str

    @property
    def root(self) -> Path:
        """The folder of the run."""
        return self.item.layout.root


def old_runs(results: Path, keep: int, before: str | None) -> list[OldRun]:
    """Return the runs that are not among the newest `keep` of their plan and that were started before `before` (in the
    form of a run id), newest first. A run refers only to earlier runs, so everything that refers to a run precedes it.

    Raises StoreError if the acceptances of a plan are damaged, because they would then not protect their runs.
    """
    runs = list_runs(results)[::-1]
    needed = {root: why for plan in {item.layout.root.parent for item in runs} for root, why in _needed(plan).items()}
    ranks: Counter[Path] = Counter()
    referrers: dict[str, str] = {}
    found = []
    for item in runs:
        root = item.layout.root
        ranks[root.parent] += 1
        old = ranks[root.parent] > keep and (before is None or root.name < before)
        kept = _why_kept(item, needed, referrers) if old else ""
        if old:
            found.append(OldRun(item, kept))
        if kept or not old:
            referrers = {**dict.fromkeys(_references(item), f"{root.parent.name}/{root.name}"), **referrers}
    return found


def _needed(plan: Path) -> dict[Path, str]:
    """Return the runs that later runs of the plan are compared with, and why."""
    newest = newest_fit(run_folders(plan))
    fit = {} if newest is None else {newest.layout.root: "the next run is compared with it"}
    return fit | {plan / item.run: f"its values of {item.metric} were accepted" for item in read_acceptances(plan)}


def _why_kept(item: ListedRun, needed: Mapping[Path, str], referrers: Mapping[str, str]) -> str:
    root = item.layout.root
    if item.run is None:
        return "cannot be read"
    if lock_holder(item.layout.lock):
        return "in progress"
    if labels := item.labels:
        return f"labeled {', '.join(labels)}"
    if root in needed:
        return needed[root]
    if referrer := next((name for start, name in referrers.items() if root.name.startswith(start)), ""):
        return f"{referrer} refers to it"
    try:
        strange = foreign(root)
    except StoreError as error:
        return error.diagnostics[0].message
    return f"contains {strange}, which asct did not write" if strange else ""


def _references(item: ListedRun) -> Iterator[str]:
    """Yield the ids, or their beginnings, of the runs to which a run refers."""
    names = _names(StoredRun(item.layout, item.run)) if item.run is not None else ()
    with suppress(StoreError):  # what is damaged refers to nothing
        yield from (own for name in names if len(own := Path(name).name) >= _SHORTEST)


def _names(stored: StoredRun) -> Iterator[str]:
    yield from (source.run for job in stored.run.jobs for source in job.reused)
    yield str(stored.resolved().get("baseline") or "")
    if stored.run.status == "running":  # run.json does not list them yet
        headlines = (str(event.get("headline", "")) for event in stored.journal())
        yield from (text.removeprefix(_REUSED) for text in headlines if text.startswith(_REUSED))
