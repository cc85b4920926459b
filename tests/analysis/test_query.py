"""SQL queries of records: what a query can find, and what it cannot do."""

from __future__ import annotations

import os
import signal
import threading
from pathlib import Path

import pytest

from asct.analysis.query import query
from asct.errors import UsageError
from asct.sdk.record import Record
from asct.store.reader import read_run
from tests.export.sample import write_sample


@pytest.fixture
def records(tmp_path: Path) -> list[Record]:
    return list(read_run(write_sample(tmp_path)).records())


def test_a_query_reads_values_with_their_coordinates(records: list[Record]) -> None:
    chosen = [record for record in records if "level" in record.coords]
    found = query(records, 'SELECT "at.level", metric, value FROM records WHERE "at.level" IS NOT NULL')
    assert found.columns == ["at.level", "metric", "value"]
    assert [tuple(row) for row in found.rows] == [(one.coords["level"], one.metric, one.value) for one in chosen]
    assert chosen


def test_a_query_computes(records: list[Record]) -> None:
    ((count, most),) = query(records, "SELECT count(*), max(value) FROM records").rows
    assert (count, most) == (len(records), max(record.value for record in records))


@pytest.mark.parametrize(
    ("sql", "hint"),
    [
        ("SELECT level FROM records", '"at.level"'),
        ("SELEC 1", "the table is `records`"),
        ("", "a single SELECT"),
        ("SELECT 1; SELECT 2", "a single SELECT"),
        ("DELETE FROM records", "a single SELECT"),
        ("PRAGMA database_list", "a single SELECT"),
        ("SELECT '\0'", "the table is `records`"),
        ("SELECT '\udcff'", "the table is `records`"),
    ],
)
def test_what_is_not_a_query_is_refused(records: list[Record], sql: str, hint: str) -> None:
    with pytest.raises(UsageError) as error:
        query(records, sql)
    assert error.value.diagnostics[0].code == "E712" and hint in error.value.diagnostics[0].hint


@pytest.mark.parametrize("sql", ["ATTACH '{}' AS other", "VACUUM INTO '{}'", "SELECT load_extension('{}')"])
def test_a_query_writes_and_loads_nothing(records: list[Record], tmp_path: Path, sql: str) -> None:
    with pytest.raises(UsageError):
        query(records, sql.format(tmp_path / "made"))
    assert not (tmp_path / "made").exists()


def test_a_number_too_large_for_sqlite_is_kept_approximately(records: list[Record]) -> None:
    large = records[0].model_copy(update={"coords": {"size": 2**70}})
    assert query([large], 'SELECT "at.size" FROM records').rows == [(2.0**70,)]


def test_runs_without_records_have_an_empty_table() -> None:
    assert query([], "SELECT count(*) FROM records").rows == [(0,)]


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_ends_an_endless_query(records: list[Record], number: int) -> None:
    def raised(arrived: int, _: object) -> None:
        raise InterruptedError(arrived)

    before = signal.signal(number, raised)
    try:
        threading.Timer(0.2, os.kill, (os.getpid(), number)).start()
        with pytest.raises(InterruptedError) as caught:
            query(records, "WITH RECURSIVE n(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM n) SELECT max(x) FROM n")
        assert caught.value.args == (number,) and signal.getsignal(number) is raised
    finally:
        signal.signal(number, before)
