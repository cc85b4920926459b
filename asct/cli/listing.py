"""A table to print or to write."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class Listing:
    """A table to print or to write: `name` is the schema's and the file's, columns are keys of the rows."""

    name: str
    columns: tuple[str, ...]
    rows: list[dict[str, Any]]
    shown: tuple[str, ...]
    """Columns of the text form; the others are in JSON and CSV only."""
