"""Parquet: the tidy records as a columnar file. Requires pyarrow, which is installed with the extra `query`."""

from __future__ import annotations

import importlib.util
import io
from collections.abc import Sequence

from asct.analysis.dataframe import tidy_columns, tidy_rows
from asct.analysis.view import RunView
from asct.diagnostics.model import Diagnostic
from asct.errors import UsageError
from asct.sdk.record import Scalar

NAME = "parquet"
FILE = "records.parquet"
SUMMARY = "records as a columnar file (needs `pip install 'asct[query]'`)"


def render(view: RunView) -> bytes:
    """Return the tidy records as a Parquet file.

    If a column contains both text and numbers, all of its values are stored as text. Raises UsageError (E704) if
    pyarrow is missing.
    """
    if importlib.util.find_spec("pyarrow") is None:
        message = "`parquet` needs the Python package `pyarrow`"
        raise UsageError(Diagnostic("E704", message, hint="pip install 'asct[query]'"))
    import pyarrow
    from pyarrow import parquet

    rows = list(tidy_rows(view.records))
    columns = {name: _of_one_kind([row.get(name) for row in rows]) for name in tidy_columns(view.records)}
    stream = io.BytesIO()
    parquet.write_table(pyarrow.table(columns), stream)
    return stream.getvalue()


def _of_one_kind(values: Sequence[Scalar | None]) -> Sequence[Scalar | None]:
    kinds = {type(value) for value in values if value is not None}
    if str in kinds and len(kinds) > 1:
        return [None if value is None else str(value) for value in values]
    return values
