"""Find runs below a results folder by path, id, label or `latest`."""

from __future__ import annotations

import os
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from asct.diagnostics.model import Diagnostic
from asct.errors import NoSuchRun, StoreError
from asct.store.documents import unreadable, way_out
from asct.store.layout import RUN_ID, RunLayout
from asct.store.model import Run
from asct.store.reader import StoredRun, read_run, real_folders
from asct.values.suggest import did_you_mean


@dataclass(frozen=True, slots=True)
class ListedRun:
    """A run folder. If the run cannot be read, `run` is None and `findings` contains the reasons."""

    layout: RunLayout
    run: Run | None
    findings: tuple[Diagnostic, ...] = ()

    @property
    def labels(self) -> list[str]:
        """The labels that select the run.

        The label that the run received at its start is omitted if a different run of the plan has it now.
        """
        own, root = self.run.label if self.run is not None else None, self.layout.root
        current = own and not (root.parent / own).is_symlink()
        return sorted({*labels_of(root), *([own] if own and current else [])})


def list_runs(results: Path, newest: int = 0) -> list[ListedRun]:
    """Return all runs below `results`, oldest first. If `newest` is not 0, return only that many of the newest runs.
    The list is empty if the folder does not exist."""
    roots = [root for plan in real_folders(results) for root in run_folders(plan)]
    return [_listed(root) for root in sorted(roots, key=lambda root: age(root.name))[-newest:]]


def run_folders(plan: Path) -> list[Path]:
    """Return all run folders in a plan's results folder, oldest first, or an empty list if the folder does not
    exist."""
    roots = [root for root in real_folders(plan) if RUN_ID.fullmatch(root.name)]
    return sorted(roots, key=lambda root: age(root.name))


def _listed(root: Path) -> ListedRun:
    try:
        return ListedRun(RunLayout(root), read_run(root).run)
    except StoreError as error:
        return ListedRun(RunLayout(root), None, error.diagnostics)


def age(run: str) -> tuple[str, int, str]:
    """Return the sort key of a run id: its time, then the number at its end (for runs started in the same second)."""
    stamp, _, rest = run.partition("-")
    digits = rest.partition("-")[2]
    return stamp, int(digits) if digits.isdigit() else 1, run


def holds_run(folder: Path) -> bool:
    """Return whether the folder contains a run. If the folder cannot be read, return False."""
    with suppress(OSError):
        return (folder / "run.json").is_file()
    return False


def open_run(results: Path, name: str = "latest") -> StoredRun:
    """Return the run that `name` selects. `name` is a path, `latest`, an id or the beginning of one, or a label. A plan
    name may precede any of these except a path: `<plan>/latest`. Raises NoSuchRun (E505 if no run matches, E506 if
    several match) and the errors of `read_run`.
    """
    as_path = Path(name)
    if as_path.name == "run.json" and holds_run(as_path.parent):
        return read_run(as_path.parent)
    if holds_run(as_path):
        return read_run(as_path.resolve())
    if name == "latest" or name.endswith("/latest"):
        return _latest(results, name.removesuffix("latest").rstrip("/"))
    runs, labeled = list_runs(results), _labeled(results, name)
    matches = [item for item in runs if item.layout.root in labeled] or [item for item in runs if _matches(item, name)]
    if not matches and os.path.isfile(name):  # noqa: PTH113 - Path.is_file raises if a name is too long
        hint = "specify a run folder, or create a run from fio results: `asct import fio FILE`"
        raise NoSuchRun(Diagnostic("E505", f"{as_path} is a file, not a run folder", hint=hint))
    if not matches and os.path.isdir(name):  # noqa: PTH112 - Path.is_dir raises if a name is too long
        damaged = (as_path / "journal.jsonl").exists()
        hint = way_out("run.json") if damaged else "specify a run folder; `asct results list` lists the runs"
        raise NoSuchRun(Diagnostic("E505", f"{as_path} is not a run: it contains no run.json", hint=hint))
    return read_run(_only(matches, name, results).layout.root)


def _latest(results: Path, plan: str) -> StoredRun:
    runs = [item for item in list_runs(results) if plan in ("", item.layout.root.parent.name)]
    readable = [item for item in runs if item.run is not None]
    if not readable:
        folder = results / plan if plan else results
        message = f"{folder}/ does not contain a readable run" if runs else f"{folder}/ contains no run"
        raise _none(message, results, f"{plan}/latest" if plan else "latest", runs)
    return read_run(readable[-1].layout.root)


def labels_of(root: Path) -> list[str]:
    """Like `label_links`, but return an empty list if the plan's results folder cannot be read."""
    with suppress(StoreError):
        return label_links(root)
    return []


def label_links(root: Path) -> list[str]:
    """Return the labels of a run, sorted. A run's labels are the links next to its folder that point to it, except
    `latest` and links that are not complete yet. Raises StoreError (E515) if the plan's results folder cannot be read.
    """
    try:
        names = sorted(path.name for path in root.parent.iterdir())
    except OSError as error:
        raise unreadable(root.parent, error) from error
    return [name for name in names if name != "latest" and name[0] != "." and _points_to(root.with_name(name), root)]


def _points_to(link: Path, root: Path) -> bool:
    with suppress(OSError):  # the path is not a link, or the link was removed in the meantime
        return link.readlink().name == root.name
    return False


def lost_run(label: Path) -> str:
    """Return the id of the run that the link `label` points to, if that run no longer exists. Otherwise, return an
    empty string."""
    try:
        return "" if label.exists() else label.readlink().name
    except OSError:  # the path is not a link, or its name is too long
        return ""


def _labeled(results: Path, name: str) -> set[Path]:
    """Return the runs that a label refers to. A label, or `<plan>/<label>`, is a link next to the runs of its plan."""
    plan, _, label = name.rpartition("/")
    folders = [results / plan] if plan else real_folders(results)
    links = [folder / label for folder in folders if holds_run(folder / label)]
    return {link.parent / link.readlink().name for link in links if link.is_symlink()}


def _matches(item: ListedRun, name: str) -> bool:
    root, (plan, _, own) = item.layout.root, name.rpartition("/")
    if plan not in ("", root.parent.name):
        return False
    if item.run is not None and own in (item.run.label, item.run.run):
        return True
    return own == root.name or (len(own) >= 8 and root.name.startswith(own))


def _only(matches: list[ListedRun], name: str, results: Path) -> ListedRun:
    own = name.rpartition("/")[2]
    matches = [item for item in matches if item.layout.root.name == own] or matches
    if len(matches) == 1:
        return matches[0]
    if not matches:
        raise _none(f"no run in {results}/ matches `{name}`", results, name)
    roots = [item.layout.root for item in matches]
    plans = sorted({root.parent.name for root in roots})
    unique = len(plans) == len(matches)  # the plan makes the name unique
    names = [f"{plan}/{own}" for plan in plans] if unique else [f"{root.parent.name}/{root.name}" for root in roots]
    more = f" and {len(matches) - 5} more" if len(matches) > 5 else ""
    message = f"`{name}` matches several runs: {', '.join(names[:5])}{more}"
    hint = f"add the plan: `{names[0]}`" if unique else "give the complete id or the path"
    raise NoSuchRun(Diagnostic("E506", message, hint=hint))


def _none(message: str, results: Path, name: str, damaged: Sequence[ListedRun] = ()) -> StoreError:
    creating = "`asct results list` lists the runs" if list_runs(results) else "`asct apply PLAN` creates a run"
    hint = f"{creating}; `--results DIRECTORY` selects another results tree"
    if not damaged:
        hint = did_you_mean(name, _names(results, with_plan="/" in name), hint)
    findings = tuple(finding for item in damaged for finding in item.findings)
    kind = StoreError if damaged else NoSuchRun
    return kind(Diagnostic("E505", message, hint=hint), *findings)


def _names(results: Path, *, with_plan: bool) -> list[str]:
    """Return the names that select runs: `latest`, ids and labels."""
    found = {(item.layout.root.parent.name, item.run.label) for item in list_runs(results) if item.run}
    for plan in real_folders(results):
        with suppress(OSError):
            found |= {(plan.name, path.name) for path in plan.iterdir() if holds_run(path)}
    return [f"{plan}/{name}" if with_plan else name for plan, name in found if name]
