"""JSON Lines: one record per line, as in the results tree."""

from __future__ import annotations

from asct.analysis.dataframe import visible
from asct.analysis.view import RunView

NAME = "jsonl"
FILE = "report.jsonl"
SUMMARY = "one record (asct.record/1) per line"


def render(view: RunView) -> str:
    """Return all records in the order of measurement."""
    return "".join(visible(record.model_dump_json(by_alias=True)) + "\n" for record in view.records)
