"""CSV: the tables and records of each benchmark, and the facts of each host."""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from asct.analysis.dataframe import tidy_columns, tidy_rows, titled_rows
from asct.analysis.fields import flat
from asct.analysis.grid import plain
from asct.analysis.view import JobView, RunView
from asct.values.grouping import grouped

_FORMULA = re.compile(r"[=@\t\n＝＋－＠]|[+-](?![\d.]*(?:e[+-]?\d+)?\Z).", re.ASCII | re.DOTALL)
NAME = "csv"
FILE = "<benchmark>.csv"
SUMMARY = "CSV files: the tables and records of each benchmark, and the facts of each host"


def documents(view: RunView, _folder: Path) -> dict[str, str]:
    """Return the files, keyed by name: `<benchmark>.csv`, `<benchmark>.<table>.csv` for each further table,
    `<benchmark>.records.csv` and `system_info.csv`.

    The columns are those of the benchmark. They are preceded by `host` and `id` if there are several hosts, or several
    entries for one benchmark. If there are several machines, each has a file `system_info.<host>.csv`.
    """
    texts: dict[str, str] = {}
    for name in dict.fromkeys(job.entry.benchmark for job in view.jobs):
        jobs = [job for job in view.jobs if job.entry.benchmark == name]
        texts.update(_tables(name, jobs))
        records = [record for job in jobs for record in job.records]
        if records:
            columns = tidy_columns(records)
            rows = ([row.get(column) for column in columns] for row in tidy_rows(records))
            texts[f"{name}.records.csv"] = csv_lines(columns, rows)
    for host, facts in sorted(view.facts.items()):
        file = "system_info.csv" if len(view.facts) == 1 else f"system_info.{host}.csv"
        texts[file] = machine_text(flat(facts.model_dump(mode="json", by_alias=True)))
    return texts


def _tables(name: str, jobs: Sequence[JobView]) -> Mapping[str, str]:
    several_hosts = len({job.entry.host for job in jobs}) > 1
    several_ids = len({job.entry.id for job in jobs}) > 1
    tables = grouped(((job, table) for job in jobs for table in job.tables), lambda pair: pair[1].slug)
    texts = {}
    for number, (slug, found) in enumerate(tables.items()):
        titles = list(dict.fromkeys(column.title for _, table in found for column in table.columns))
        extra = ["host"] * several_hosts + ["id"] * several_ids
        rows = []
        for job, table in found:
            own = [job.entry.host] * several_hosts + [job.entry.id] * several_ids
            rows += [[*own, *map(row.get, titles)] for row in titled_rows(table)]
        texts[f"{name}.csv" if number == 0 else f"{name}.{slug}.csv"] = csv_lines([*extra, *titles], rows)
    return texts


def csv_lines(header: Sequence[str] | None, rows: Iterable[Sequence[Any]]) -> str:
    """Return rows as CSV, with a header line if `header` is not None. No cell can be interpreted as a formula."""
    stream = io.StringIO()
    writer = csv.writer(stream, lineterminator="\n")
    if header is not None:
        writer.writerow(map(harmless, header))
    writer.writerows([harmless(value) for value in row] for row in rows)
    return stream.getvalue()


def harmless(value: Any) -> Any:
    """Return the text of a cell without characters that could control a terminal.

    Text from hosts is untrusted. Text that a spreadsheet would interpret as a formula, even if it begins with a
    full-width sign, is preceded by an apostrophe (OWASP, CSV Injection).
    """
    if not isinstance(value, str):
        return value
    text = plain(value, keep_lines=True)
    return f"'{text}" if _FORMULA.match(text) else text


def machine_text(fields: Mapping[str, Any]) -> str:
    """Return a machine's facts as CSV, one line per field: `cpu.cpus,8`."""
    return csv_lines(None, fields.items())
