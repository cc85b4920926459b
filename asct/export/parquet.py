"""Parquet: the tidy records as a columnar file. Requires pyarrow, which the extra `query` installs."""

from __future__ import annotations

import importlib.util
import io

from asct.analysis.dataframe import to_frame
from asct.analysis.view import RunView
from asct.diagnostics.model import Diagnostic
from asct.errors import UsageError

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
    frame = to_frame(view.records)
    for column in frame.columns:
        kinds = {type(value) for value in frame[column].dropna()}
        if str in kinds and len(kinds) > 1:
            frame[column] = frame[column].map(lambda value: value if value is None else str(value))
    stream = io.BytesIO()
    frame.to_parquet(stream, index=False)
    return stream.getvalue()
