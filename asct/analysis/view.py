"""A run prepared for reports: the contents of its results tree, and the tables and figures that its benchmarks
produce."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cache, partial
from pathlib import Path
from typing import Any, TypeVar

from asct.analysis.agreement import Disagreement, agreed
from asct.analysis.grid import coordinates_text, plain
from asct.diagnostics.model import Diagnostic
from asct.errors import StoreError
from asct.sdk.benchmark import Benchmark, Catalog
from asct.sdk.disturbance import Disturbances
from asct.sdk.facts import HostFacts
from asct.sdk.figure import Column, Figure, Table
from asct.sdk.record import Record, Scalar
from asct.store.documents import way_out
from asct.store.model import MEASURED, VALUED, CommandDocument, JobEntry, Run, Status
from asct.store.reader import StoredRun, read_run
from asct.values.grouping import grouped
from asct.values.text import counted

_T = TypeVar("_T")
_SIZES = frozenset({"size", "block_size"})
"""Coordinates whose values are in bytes. For settings, the schema contains the unit."""


@dataclass(frozen=True, slots=True)
class RepeatView:
    """One repeat of one point in the results tree. `folder` is relative to the run; `status` is None if it cannot be
    read."""

    host: str
    id: str
    point_id: str
    repeat: int
    folder: str
    status: Status | None
    sizes: frozenset[str] = frozenset()
    """The names of settings and coordinates whose values are in bytes."""

    @property
    def command(self) -> CommandDocument | None:
        """The command lines of the repeat's steps, or None if they are unknown."""
        return None if self.status is None else self.status.command

    @property
    def label(self) -> str:
        """The swept settings and the repeat number as text."""
        swept = coordinates_text(self.command.swept, self.sizes) if self.command else self.point_id
        return f"{swept}, repeat {self.repeat}" if swept else f"repeat {self.repeat}"

    @property
    def word(self) -> str:
        """The status of the repeat in one word."""
        return self.status.status if self.status else "not finished"

    @property
    def valued(self) -> bool:
        """Whether the repeat has values, even if they are invalid."""
        return self.word in VALUED

    @property
    def measured(self) -> bool:
        """Whether the repeat is treated as measured. A noisy repeat that `strict` rejects has a diagnostic and is
        treated as not measured."""
        return self.status is not None and self.status.status in MEASURED and self.status.diagnostic is None

    @property
    def cause(self) -> str:
        """Why the repeat is treated as not measured: the code and the message, or the notes if there is no
        diagnostic."""
        if self.status is None:
            return ""
        found = self.status.diagnostic or {}
        parts = [str(found[key]) for key in ("code", "message") if found.get(key)]
        return plain(" ".join(parts) or "; ".join(self.status.notes))


@dataclass(frozen=True, slots=True)
class JobView:
    """One job: all points of a benchmark entry on one host. Its tables and figures come from the benchmark."""

    entry: JobEntry
    benchmark: Benchmark[Any] | None
    records: tuple[Record, ...]
    repeats: tuple[RepeatView, ...]
    tables: tuple[Table, ...]
    figures: tuple[Figure, ...]
    note: str = ""
    """The reason why the benchmark's tables and figures are missing, or an empty string if they are present."""
    disagreements: tuple[Disagreement, ...] = ()
    """The values of the job that disagree with another value of the same quantity."""

    @property
    def key(self) -> str:
        """The key of the job: `host/id`."""
        return f"{self.entry.host}/{self.entry.id}"

    @property
    def unstarted(self) -> int:
        """The number of planned repeats that were not started."""
        started = sum(item.repeat >= 1 for item in self.repeats)
        return max(0, self.entry.points * self.entry.repeats - started)

    @property
    def title(self) -> str:
        """The title of the benchmark, or its name if it is not installed."""
        return self.benchmark.title if self.benchmark else self.entry.benchmark


@dataclass(frozen=True, slots=True, eq=False)
class RunView:
    """All data for a report. Instances are compared by identity.

    `plan_text` contains no control characters; `notes` lists the files that could not be read.
    """

    root: Path
    run: Run
    records: tuple[Record, ...]
    facts: Mapping[str, HostFacts]
    jobs: tuple[JobView, ...]
    plan_text: str = ""
    resolved: Mapping[str, Any] = field(default_factory=dict)
    notes: tuple[Diagnostic, ...] = ()
    disturbances: Mapping[str, Disturbances] = field(default_factory=dict)
    """The disturbances at the start of the run, keyed by host."""
    catalog: Catalog | None = None
    """The benchmarks that are installed on the machine on which the view was opened."""
    sources: tuple[Any, Any, str] | str | None = None
    """The result of `sources_of` for the original run, or the reason why that function failed. This is set only for a
    copy of a run, because a copy is not stored with the other runs of its plan."""

    def ids(self) -> list[str]:
        """Return the benchmark entries of the plan, in the order of their first jobs."""
        return list(dict.fromkeys(job.entry.id for job in self.jobs))


def open_without_records(root: Path) -> RunView:
    """Read the documents of the run in the folder `root`, but not its jobs and records, because reading many of those
    takes a long time. Raises StoreError in the same cases as `open_view`, except for damaged records."""
    stored = read_run(root)
    notes: list[Diagnostic] = []
    facts, resolved = _read_or_note(stored.facts, notes) or {}, _read_or_note(stored.resolved, notes) or {}
    return RunView(root, stored.run, (), facts, (), resolved=resolved, notes=tuple(notes))


def open_view(root: Path, catalog: Catalog) -> RunView:
    """Read the run in the folder `root`; `catalog` provides the benchmarks.

    Raises StoreError if there is no run, or if its run.json or records.jsonl is damaged or was written by a newer
    version. All other damage is skipped and reported in `notes`.
    """
    stored = read_run(root)
    notes: list[Diagnostic] = []
    facts, resolved = _read_or_note(stored.facts, notes) or {}, _read_or_note(stored.resolved, notes) or {}
    first, again = stored.looks()
    records, found = agreed(first, resolved, facts, catalog)
    most = stored.run.planned_repeats()
    every = list(_repeats(stored, notes))
    if stored.run.status != "running":
        notes += _missing(stored, every, Counter(record.raw for record in (*records, *again)))
    planned = (item for item in every if item.repeat <= most.get((item.host, item.id), item.repeat))
    repeats = grouped(planned, lambda item: (item.host, item.id))
    measured = grouped((item for item in records if item.repeat >= 1), lambda item: (item.host, item.id))
    keys = [(entry, (entry.host, entry.id)) for entry in stored.run.jobs]
    jobs = [
        replace(
            _job(entry, tuple(measured.get(key, ())), repeats.get(key, ()), catalog),
            disagreements=tuple(side for side in found if (side.host, side.id) == key),
        )
        for entry, key in keys
    ]
    return RunView(
        root=root,
        run=stored.run,
        records=(*records, *again),
        facts=facts,
        jobs=tuple(jobs),
        plan_text=_plan_text(stored, notes),
        resolved=resolved,
        disturbances=_read_or_note(stored.disturbances, notes) or {},
        notes=(*stored.notes, *notes),
        catalog=catalog,
    )


def _repeats(stored: StoredRun, notes: list[Diagnostic]) -> Iterator[RepeatView]:
    for path in stored.repeats():
        host, job_id, point_id, name = path.parts[-4:]
        status = _read_or_note(partial(stored.status, path), notes)
        yield RepeatView(host, job_id, point_id, int(name[1:]), stored.layout.relative(path), status)


def _missing(stored: StoredRun, repeats: Iterable[RepeatView], found: Mapping[str, int]) -> Iterator[Diagnostic]:
    """Compare the number of records of each repeat, keyed by folder in `found`, with the number in its status."""
    lacking = [item for item in repeats if item.status and item.status.records not in (None, found.get(item.folder, 0))]
    if lacking:
        path, folder = stored.layout.records, lacking[0].folder
        more = f" and {counted(len(lacking) - 1, 'more repeat')}" if len(lacking) > 1 else ""
        message = f"{path}: does not contain the values that {folder}{more} measured"
        yield Diagnostic("E513", message, hint=way_out(path.name), severity="warning")


def _read_or_note(read: Callable[[], _T], notes: list[Diagnostic]) -> _T | None:
    """Return the result of `read`. If a document is damaged, add a note and return None."""
    try:
        return read()
    except StoreError as error:
        notes.extend(error.diagnostics)
        return None


def _plan_text(stored: StoredRun, notes: list[Diagnostic]) -> str:
    try:
        path = stored.inside(stored.layout.plan)
        if path.exists() and not path.is_file():  # the path may be a pipe, and reading from it would block
            raise OSError(0, "not a regular file")
        text = path.read_text(encoding="utf-8", errors="replace")
        return plain(text, keep_lines=True)
    except StoreError as error:
        notes.extend(error.diagnostics)
    except OSError as error:
        reason = (error.strerror or str(error)).lower()
        notes.append(Diagnostic("E701", f"{stored.layout.plan}: unreadable: {reason}", severity="warning"))
    return ""


def _job(entry: JobEntry, own: tuple[Record, ...], repeats: Sequence[RepeatView], catalog: Catalog) -> JobView:
    rank = {point: number for number, point in enumerate(dict.fromkeys(item.point_id for item in own))}
    benchmark = catalog.get(entry.benchmark)
    sizes = sizes_of(benchmark)
    in_order = sorted(repeats, key=lambda item: (rank.get(item.point_id, len(rank)), item.point_id, item.repeat))
    ordered = tuple(replace(item, sizes=sizes) for item in in_order)
    if benchmark is not None and benchmark.version == entry.version:
        display = benchmark.with_settings({item.point_id: item.command.settings for item in ordered if item.command})
        tables, figures = tuple(table for table in display.tables(own) if table.rows), tuple(display.figures(own))
        return JobView(entry, benchmark, own, ordered, tables, figures)
    note = f"`{entry.benchmark}` is not installed on this machine"
    if benchmark is not None:
        versions = f"version {entry.version} of `{entry.benchmark}`, but version {benchmark.version} is installed"
        note = f"measured with {versions}"
    return JobView(entry, benchmark, own, ordered, (_plain_table(own),) if own else (), (), note)


@cache
def units_of(benchmark: Benchmark[Any] | None) -> Mapping[str, str]:
    """Return the unit of each setting that has one, from the settings schema. The result is cached, because creating
    the schema is slow."""
    found: dict[str, str] = {}
    for name, schema in benchmark.params_model.model_json_schema().get("properties", {}).items() if benchmark else ():
        inner = [schema, schema.get("items") or {}, *(schema.get("anyOf") or ())]
        unit = next((str(part["unit"]) for part in inner if isinstance(part, dict) and "unit" in part), None)
        if unit is not None:
            found[str(name)] = unit
    return found


def sizes_of(benchmark: Benchmark[Any] | None) -> frozenset[str]:
    """Return the names of the settings and coordinates whose values are in bytes."""
    return _SIZES | {name for name, unit in units_of(benchmark).items() if unit == "B"}


def _plain_table(records: Sequence[Record]) -> Table:
    """Return a table of all values, for a benchmark whose own tables are unavailable."""
    rows: list[dict[str, Scalar | None]] = [
        {
            "metric": item.metric,
            "at": coordinates_text({**item.point, **item.coords}),
            "repeat": item.repeat,
            "value": f"{item.value:.6g}",
            "unit": item.unit,
        }
        for item in records
    ]
    columns = tuple(
        Column(key, key.capitalize(), format="integer" if key == "repeat" else "text")
        for key in ("metric", "at", "repeat", "value", "unit")
    )
    return Table("values", "Recorded values", columns, tuple(rows))
