"""Records as tidy rows, with one row per value and one column per coordinate."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final

from asct.analysis.view import JobView, RunView
from asct.sdk.figure import Table
from asct.sdk.record import Record, Scalar

_UNSEEN = re.compile("[\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069\ud800-\udfff]")
"""Characters that json.dumps does not escape: DEL and C1, direction marks, and unpaired surrogates."""
_encode: Final = json.JSONEncoder(ensure_ascii=False, allow_nan=False, separators=(",", ":")).encode
FIRST = ("run", "plan", "host", "id", "benchmark", "version", "point_id", "repeat")
LAST = (
    "metric", "value", "unit", "better", "n", "median", "mad", "ci95_low", "ci95_high", "min", "max", "flags", "raw",
)  # fmt: skip


def tidy_columns(records: Iterable[Record]) -> list[str]:
    """Return the columns of `tidy_rows`: the fixed columns and, between them, `point.<setting>` and `at.<coordinate>`
    in order of appearance."""
    points: dict[str, None] = {}
    places: dict[str, None] = {}
    for record in records:
        points.update(dict.fromkeys(f"point.{key}" for key in record.point))
        places.update(dict.fromkeys(f"at.{key}" for key in record.coords))
    return [*FIRST, *points, *places, *LAST]


def tidy_rows(records: Iterable[Record]) -> Iterable[dict[str, Scalar | None]]:
    """Return one flat row per record, with values in base units. Lists and flags are joined with spaces."""
    for record in records:
        row: dict[str, Scalar | None] = {name: getattr(record, name) for name in FIRST}
        for key, value in record.point.items():
            row[f"point.{key}"] = " ".join(map(str, value)) if isinstance(value, list) else value
        row.update({f"at.{key}": value for key, value in record.coords.items()})
        row.update({name: getattr(record, name) for name in ("metric", "value", "unit", "better", "raw")})
        row["flags"] = " ".join(record.flags)
        if (stats := record.stats) is not None:
            row.update({name: getattr(stats, name) for name in ("n", "median", "mad", "min", "max")})
            row["ci95_low"], row["ci95_high"] = stats.ci95 or (None, None)
        yield row


def document(view: RunView, digits: int | None = None) -> str:
    """Return a run as one JSON document (asct.report/1) without NaN: the run, the facts, a table per entry and host,
    and the records as columns and rows. Each record takes up one line.

    With `digits`, the document is as small as possible: values and their intervals are rounded to this number of
    significant digits, and tables and other statistics are left out.
    """
    names = view.ids() if digits is None else ()
    body = {
        "schema": "asct.report/1",
        # `sealed` is set after the reports have been written, so it would make a re-rendered report differ.
        "run": view.run.model_dump(mode="json", by_alias=True, exclude={"sealed"}),
        "facts": {host: facts.model_dump(mode="json", by_alias=True) for host, facts in sorted(view.facts.items())},
        "disturbances": {
            host: found.model_dump(mode="json", by_alias=True) for host, found in sorted(view.disturbances.items())
        },
        "benchmarks": {
            name: {job.entry.host: _tables(job) for job in view.jobs if job.entry.id == name} for name in names
        },
    }
    parts = [f"{_encode(key)}:{_lines(value)}" for key, value in body.items()]
    parts.append(f'"records":{_records_text(compact(view.records, digits))}')
    return visible("{\n" + ",\n".join(parts) + "\n}") + "\n"


def _lines(value: Any) -> str:
    """Return JSON with one line per item of an object, such as a host or an entry of the plan. Indented JSON would have
    one line per value, and json.dumps would not use its C encoder to write it."""
    if not isinstance(value, dict):
        return _encode(value)
    return "{" + ",".join(f"\n{_encode(key)}:{_encode(item)}" for key, item in value.items()) + "}"


def _records_text(records: Mapping[str, Any]) -> str:
    """Return the records as JSON with one line per record."""
    parts = [f"{_encode(key)}:{_encode(value)}" for key, value in records.items() if key != "rows"]
    rows = ",\n".join(map(_encode, records["rows"]))
    return f'{{{",".join(parts)},"rows":[\n{rows}\n]}}'


def _tables(job: JobView) -> dict[str, Any]:
    return {
        "benchmark": job.entry.benchmark,
        "version": job.entry.version,
        "counts": dict(job.entry.counts),
        "tables": {table.slug: titled_rows(table) for table in job.tables},
    }


def titled_rows(table: Table) -> list[dict[str, Scalar | None]]:
    """Return the rows of a table, with column titles as keys and values in the units that the titles state."""
    return [{column.title: scaled(row.get(column.key), column.scale) for column in table.columns} for row in table.rows]


def scaled(value: Scalar | None, scale: float) -> Scalar | None:
    """Return `value / scale` with ten significant digits, which hides rounding errors. Sizes and text are unchanged."""
    if value is None or isinstance(value, str | bool):
        return value
    if scale == 1.0:
        return int(value) if isinstance(value, float) and value.is_integer() and abs(value) < 2**53 else value
    return float(f"{value / scale:.10g}")


def visible(document: str) -> str:
    """Return an equivalent JSON document that contains no terminal control characters and can be encoded as UTF-8."""
    return _UNSEEN.sub(lambda found: f"\\u{ord(found[0]):04x}", document)


def compact(records: Sequence[Record], digits: int | None = None) -> dict[str, Any]:
    """Return tidy records in a compact form: `columns` and `rows`, with each point and metric described only once.
    `raw` is null if the raw files are in the usual folder, `jobs/<host>/<id>/<point_id>/r<repeat>`, and the median is
    null if it equals the value.

    With `digits`, values and intervals are rounded to this number of significant digits, and other statistics are left
    out.
    """
    exact = digits is None

    def rounded(value: float) -> float:
        return value if exact else float(f"{value:.{digits}g}")

    points: dict[str, Mapping[str, Any]] = {}
    metrics: dict[str, dict[str, str]] = {}
    rows = []
    for record in records:
        points.setdefault(record.point_id, record.point)
        metrics.setdefault(f"{record.benchmark}.{record.metric}", {"unit": record.unit, "better": record.better})
        stats = record.stats
        median = None if stats and stats.median == record.value else stats and stats.median
        spread = (stats.n, median, stats.mad, stats.min, stats.max) if stats and exact else None
        ci95 = tuple(map(rounded, stats.ci95)) if stats and stats.ci95 else None
        raw = None if record.raw == f"jobs/{record.host}/{record.id}/{record.point_id}/r{record.repeat}" else record.raw
        rows.append(
            [
                record.host, record.id, record.point_id, record.repeat, record.coords, record.metric,
                rounded(record.value), ci95, record.flags, record.benchmark, record.version, spread, raw,
            ]
        )  # fmt: skip
    columns = [
        "host", "id", "point_id", "repeat", "coords", "metric", "value", "ci95", "flags", "benchmark", "version",
        "n_median_mad_min_max", "raw",
    ]  # fmt: skip
    return {"columns": columns, "points": points, "metrics": metrics, "rows": rows}
