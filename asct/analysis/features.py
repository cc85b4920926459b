"""The features that a plan states for the measured hardware (`report: features:`), side by side."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from asct.analysis.grid import ABSENT, ColumnHead, TableCell, TextTable, plain


def feature_grid(resolved: Mapping[str, Any]) -> TextTable | None:
    """Return a table with a row for each feature and a column for each item that the plan describes, or None if it
    describes none."""
    report = resolved.get("report")
    given = report.get("features") if isinstance(report, dict) else None
    told = {name: own for name, own in given.items() if isinstance(own, dict)} if isinstance(given, dict) else {}
    if not told:
        return None
    heads = (ColumnHead("Feature"), *(ColumnHead(plain(name), kept=True) for name in told))
    features = dict.fromkeys(feature for own in told.values() for feature in own)
    rows = tuple(
        (TableCell(plain(feature)), *(TableCell(plain(str(own.get(feature, ABSENT)))) for own in told.values()))
        for feature in features
    )
    return TextTable("features", "Features", heads, rows, ("As stated in the plan.",))
