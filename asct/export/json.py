"""JSON: the whole run as one document."""

from __future__ import annotations

from asct.analysis.dataframe import document
from asct.analysis.view import RunView

NAME = "json"
FILE = "report.json"
SUMMARY = "one document with the run, its facts, tables, verdicts and records"


def render(view: RunView) -> str:
    """Return the run as `asct.report/1`, with keys in the order of the models and without NaN."""
    return document(view)
