"""Tables in files from Arm's ASCT. Each table is a JSON object of columns, and each column is an object that maps row
labels to cells.

pandas writes NaN for a cell without a value. Such cells, and numbers that no measurement can return, are skipped and
counted. Any other unexpected content is an error that names the file, the row and the column.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from asct.errors import StoreError
from asct.store.documents import store_error
from asct.values.error import clip

_LARGEST: Final = 1e30
"""A number that is larger than any measured value. Unlike the largest floating-point number, it can be converted to any
unit without overflow."""
_AGAIN: Final = "restore the file from a backup, or measure again with ASCT"


def misfit(message: str) -> StoreError:
    """Return the error (E530) for content that ASCT never writes."""
    return store_error("E530", message, _AGAIN)


@dataclass(slots=True)
class ArmTable:
    """A table. `place` identifies the file, and the part of the file, that contains the table; `blank` counts the cells
    that were read but have no value."""

    columns: Mapping[str, Mapping[str, Any]]
    place: str
    blank: int = field(default=0, compare=False)

    @property
    def rows(self) -> list[str]:
        """The row labels, in the order in which the file contains them."""
        return list(dict.fromkeys(row for cells in self.columns.values() for row in cells))

    def numbers(self, row: str, start: str = "") -> Iterator[tuple[str, float]]:
        """Yield the columns whose names begin with `start`, such as `Latency [ns]` for `Latency [`, each with the
        number in its cell. Cells that have no value are skipped."""
        for column in self.columns:
            if column.startswith(start) and (value := self.number(row, column)) is not None:
                yield column, value

    def number(self, row: str, column: str) -> float | None:
        """Return the number in a cell, or None if it has no value. Raises StoreError (E530) for anything else."""
        cell = self.columns.get(column, {}).get(row)
        if cell is not None and (isinstance(cell, bool) or not isinstance(cell, int | float)):
            raise misfit(f"{self.place}: row `{clip(row)}`, column `{clip(column)}`: `{clip(cell)}` is not a number")
        try:
            value = math.nan if cell is None else float(cell)
        except OverflowError:
            value = math.inf
        if abs(value) < _LARGEST:
            return value
        self.blank += column in self.columns
        return None

    def integer(self, row: str, column: str) -> int | None:
        """Return the number in a cell as an integer, or None if it has no value. Raises StoreError (E530)."""
        value = self.number(row, column)
        if value is not None and not value.is_integer():
            raise misfit(f"{self.place}: row `{clip(row)}`, column `{clip(column)}`: {value} is not a whole number")
        return None if value is None else int(value)

    def text(self, row: str, column: str) -> str | None:
        """Return the text in a cell, or None if it has no value. Raises StoreError (E530)."""
        cell = self.columns.get(column, {}).get(row)
        if cell is not None and not isinstance(cell, str):
            raise misfit(f"{self.place}: row `{clip(row)}`, column `{clip(column)}`: `{clip(cell)}` is not text")
        return cell


def table_of(content: object, place: str) -> ArmTable:
    """Return the table in `content`. Raises StoreError (E530) if there is none."""
    if not isinstance(content, dict) or not all(isinstance(cells, dict) for cells in content.values()):
        raise misfit(f"{place}: there is no table (an object with `columns` and `rows`)")
    return ArmTable(content, place)
