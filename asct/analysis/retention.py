"""Decide which old runs in a results tree may be deleted (`asct results prune`), and whether a run may be replaced.

A run is kept as long as something refers to it: a label, an acceptance, a kept run that reused its points, or a kept
run whose plan names it as the baseline. The newest run of each plan that can be a baseline is also kept, so that the
next run can be judged. When in doubt, a run is kept.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from asct.analysis.baseline import newest_fit
from asct.errors import StoreError
from asct.store.accepted import read_acceptances
from asct.store.documents import unreadable
from asct.store.find import ListedRun, label_links, list_runs, run_folders
from asct.store.folders import lock_holder
from asct.store.ownership import foreign
from asct.store.reader import StoredRun
from asct.store.verify import unexpected

_SHORTEST: Final = 8
"""Minimum length at which the beginning of an id selects a run, as in `open_run`."""
_REUSED: Final = "reused from "
_MENTIONED: Final = re.compile(r"\b\d{8}[0-9TZa-f-]*")
"""Matches run ids, and the beginnings of run ids, in any text."""


@dataclass(frozen=True, slots=True)
class OldRun:
    """A run that is old enough to be deleted. `why_kept` is the reason to keep the run nevertheless, or an empty
    string if it may be deleted."""

    item: ListedRun
    why_kept: str

    @property
    def root(self) -> Path:
        """The run folder."""
        return self.item.layout.root


def old_runs(results: Path, keep: int, before: str | None) -> list[OldRun]:
    """Return, newest first, the runs that are not among the newest `keep` runs of their plan and that were started
    before `before`, a time in the form of a run id.

    Raises StoreError if the acceptances of a plan are damaged, or if a document of a damaged run cannot be read,
    because the runs to which these files refer would then not be protected.
    """
    runs = list_runs(results)[::-1]
    needed = {root: why for plan in {item.layout.root.parent for item in runs} for root, why in _needed(plan).items()}
    ranks: Counter[Path] = Counter()
    found: dict[Path, str] = {}
    for item in runs:
        root = item.layout.root
        ranks[root.parent] += 1
        if ranks[root.parent] > keep and (before is None or root.name < before):
            found[root] = _why_kept(item, needed)
    referring = [item for item in runs if found.get(item.layout.root) != ""]
    while referring:  # runs to which a kept run refers are kept, too
        item = referring.pop(0)
        why = f"{item.layout.root.parent.name}/{item.layout.root.name} refers to it"
        starts = tuple(_references(item))
        new = [one for one in runs if found.get(one.layout.root) == "" and one.layout.root.name.startswith(starts)]
        found |= {one.layout.root: why for one in new}
        referring += new
    return [OldRun(item, found[item.layout.root]) for item in runs if item.layout.root in found]


def _needed(plan: Path) -> dict[Path, str]:
    """Return the runs that later runs of the plan are compared with, and why."""
    newest = newest_fit(run_folders(plan))
    fit = {} if newest is None else {newest.layout.root: "the next run is compared with it"}
    return fit | {plan / item.run: f"its values of {item.metric} were accepted" for item in read_acceptances(plan)}


def _why_kept(item: ListedRun, needed: Mapping[Path, str]) -> str:
    root = item.layout.root
    if item.run is None:
        return "cannot be read"
    if lock_holder(item.layout.lock):
        return "in progress"
    if item.run.status == "running":  # the run may be in progress on a file system without locks
        return "has not ended"
    try:
        if labels := sorted({*label_links(root), *item.labels}):
            return f"labeled {', '.join(labels)}"
        if root in needed:
            return needed[root]
        return unwritten(StoredRun(item.layout, item.run))
    except StoreError as error:
        return error.diagnostics[0].message


def unwritten(stored: StoredRun) -> str:
    """Describe the files in a run folder that asct did not write, or the damage that could hide such files. Return an
    empty string if there is neither. Raises StoreError if the folder cannot be read."""
    if strange := foreign(stored.layout.root):
        return f"contains {strange}, which asct did not write"
    return next((finding.message for finding in unexpected(stored)), "")


def _references(item: ListedRun) -> set[str]:
    """Return the ids, or the beginnings of ids, of the runs to which a run refers. For a damaged run, return all ids
    mentioned in its documents. Raises StoreError (E515)."""
    try:
        if item.run is not None:
            names = [*_names(StoredRun(item.layout, item.run))]
            return {part for name in names for part in Path(name).parts if len(part) >= _SHORTEST}
    except StoreError:
        pass
    documents = (item.layout.run, item.layout.resolved, item.layout.journal)
    return {start for path in documents for start in _MENTIONED.findall(_text(path))}


def _text(path: Path) -> str:
    try:
        return path.read_text("utf-8", errors="replace") if path.is_file() else ""
    except OSError as error:
        raise unreadable(path, error) from error


def _names(stored: StoredRun) -> Iterator[str]:
    yield from (source.run for job in stored.run.jobs for source in job.reused)
    yield str(stored.resolved().get("baseline") or "")
    if stored.run.status == "running":  # run.json does not list the reused runs yet
        headlines = (str(event.get("headline", "")) for event in stored.journal())
        yield from (text.removeprefix(_REUSED) for text in headlines if text.startswith(_REUSED))
