"""Run SQL queries on the records of runs. SQLite keeps the records in memory, so no query can change a file."""

from __future__ import annotations

import signal
import sqlite3
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any, Final, NamedTuple

from asct.analysis.dataframe import tidy_columns, tidy_rows
from asct.diagnostics.model import Diagnostic
from asct.errors import UsageError
from asct.sdk.record import Record, Scalar

_ALLOWED: Final = frozenset({
    sqlite3.SQLITE_SELECT, sqlite3.SQLITE_READ, sqlite3.SQLITE_FUNCTION, sqlite3.SQLITE_RECURSIVE,
})  # fmt: skip
_LARGEST: Final = 2**63
_STEPS: Final = 100_000
"""Number of SQLite instructions after which Python handles signals that arrived during a query."""


class QueryResult(NamedTuple):
    """The columns and rows of a query result."""

    columns: Sequence[str]
    rows: Sequence[Sequence[Any]]


def query(records: Sequence[Record], sql: str) -> QueryResult:
    """Run a SELECT statement on the table `records`, whose columns are the ones that `tidy_columns` returns. Raises
    UsageError (E712)."""
    columns = tidy_columns(records)
    names = ", ".join('"' + name.replace('"', '""') + '"' for name in columns)
    database = sqlite3.connect(":memory:")
    try:
        database.execute(f"CREATE TABLE records ({names})")
        rows = ([_stored(row.get(name)) for name in columns] for row in tidy_rows(records))
        database.executemany(f"INSERT INTO records VALUES ({', '.join('?' * len(columns))})", rows)  # noqa: S608
        database.set_authorizer(lambda action, *_: sqlite3.SQLITE_OK if action in _ALLOWED else sqlite3.SQLITE_DENY)
        database.set_progress_handler(lambda: 0, _STEPS)
        with _stopped_by_signals(database):
            found = database.execute(sql)
            if found.description is None:
                raise sqlite3.ProgrammingError("it contains no statement")
            return QueryResult([item[0] for item in found.description], found.fetchall())
    except (sqlite3.Error, sqlite3.Warning, ValueError) as error:  # ValueError: SQLite cannot store a character
        raise UsageError(Diagnostic("E712", f"the query failed: {error}", hint=_hint(str(error), columns))) from error
    finally:
        database.close()


@contextmanager
def _stopped_by_signals(database: sqlite3.Connection) -> Iterator[None]:
    """Let SIGINT and SIGTERM end a query, and handle the signal afterward: SQLite discards exceptions that a signal
    handler raises during a query."""
    received: list[int] = []

    def stop(number: int, _: object) -> None:
        received.append(number)
        database.interrupt()

    before = {number: signal.signal(number, stop) for number in (signal.SIGINT, signal.SIGTERM)}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
        if received:
            signal.raise_signal(received[0])


def _stored(value: Scalar | None) -> Scalar | None:
    return float(value) if isinstance(value, int) and abs(value) >= _LARGEST else value


def _hint(error: str, columns: Sequence[str]) -> str:
    if any(words in error for words in ("not authorized", "prohibited", "statement")):
        return "write a single SELECT; a query cannot change records"
    return f'the table is `records`; its columns are {", ".join(columns)}; quote names that contain a dot: "at.level"'
