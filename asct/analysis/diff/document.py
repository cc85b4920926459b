"""Convert a comparison to rows and to one JSON document (asct.diff/1)."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final

from asct.analysis.diff.build import Diff
from asct.analysis.diff.rows import DiffRow, RunDiff, by_change_in
from asct.analysis.diff.source import DiffSource
from asct.analysis.grid import plain

SCHEMA: Final = "asct.diff/1"
COLUMNS: Final = (
    "field", "benchmark", "run", "baseline", "comparator", "delta", "percent", "state", "verdict", "low", "high",
    "noise", "unit", "better", "host", "base_host", "id", "metric", "at", "base_samples", "new_samples", "reason",
)  # fmt: skip


def rows_of(diff: Diff) -> Iterator[dict[str, Any]]:
    """Yield one row per value and run. `baseline` and `comparator` are the values in the base unit of the metric;
    `percent`, `low`, `high` and `noise` are percentages of the base. `state` is `compared`, `added` or `removed`."""
    for run in diff.runs:
        for row in run.rows if diff.sorted_by is None else by_change_in(diff.sorted_by, run.rows):
            yield _row(run, row)


def _row(run: RunDiff, row: DiffRow) -> dict[str, Any]:
    change, record, group = row.change, row.group.record, row.group
    ends = None if change is None else change.interval
    low, high = (None, None) if ends is None else ends
    own = None if row.new is None else plain(group.host)
    tested = change is not None and not change.reason
    values = (
        row.name, plain(record.benchmark), run.run.name, row.base, row.new,
        None if row.base is None or row.new is None or row.base_unit != record.unit else row.new - row.base,
        row.percent, "compared" if change is not None else row.verdict, row.verdict, _percent(low), _percent(high),
        _percent(change.noise) if change is not None and tested else None, record.unit, record.better, own,
        None if row.base is None else row.key[0], plain(group.id), plain(group.metric), row.place,
        *(change.samples if change is not None and tested else (None, None)),
        change.reason if change is not None else "",
    )  # fmt: skip
    return dict(zip(COLUMNS, values, strict=True))


def _percent(share: float | None) -> float | None:
    return None if share is None else 100.0 * share


def document(diff: Diff) -> dict[str, Any]:
    """Return the comparison as one JSON document (asct.diff/1): the runs, what differs between them, and all rows."""
    return {
        "schema": SCHEMA,
        "baseline": {**_source(diff.base), "chosen": diff.why},
        "runs": [
            {**_source(run.run), "counts": run.counts(), "undecided": run.undecided, "notes": list(run.notes)}
            for run in diff.runs
        ],
        "limit_percent": 100.0 * diff.limit,
        "differences": [
            {"what": item.label, "hosts": list(item.hosts), "baseline": item.texts[0], "runs": list(item.texts[1:])}
            for item in diff.differing
        ],
        "rows": list(rows_of(diff)),
    }


def _source(source: DiffSource) -> dict[str, Any]:
    return {
        "run": source.name, "path": str(source.root), "label": source.label, "plan": source.plan,
        "tool": f"{source.tool} {source.version}".strip(), "started_at": source.started_at, "gaps": list(source.gaps),
    }  # fmt: skip
