"""Where two machines differ, as text, CSV and JSON."""

from __future__ import annotations

import json
from collections.abc import Sequence
from itertools import groupby
from typing import Any

from asct.analysis.fields import Difference, differences
from asct.analysis.grid import plain
from asct.cli.asked import ReportAsked
from asct.cli.files import csv_text, write_texts
from asct.cli.options import Settings
from asct.cli.sections import wrapped
from asct.cli.words import counted
from asct.sdk.facts import HostFacts

SCHEMA = "asct.facts_comparison/1"
_COLUMNS = ("field", "base", "other", "moves")
_MOST = 24
"""Lines of one part (`cpu.logical`): machines of another size differ in each of their CPUs."""


def publish(settings: Settings, asked: ReportAsked, base: HostFacts, other: HostFacts) -> None:
    """What differs from `base`: to stdout in the form that was asked for, and into the folder if there is to be one."""
    found = differences(base, other)
    rows = [{name: getattr(one, name) for name in _COLUMNS} for one in found]
    sides = {
        name: {"host": one.host, "collected_at": one.collected_at} for name, one in (("base", base), ("other", other))
    }
    document: dict[str, Any] = {"schema": SCHEMA, **sides, "differences": rows}
    table = csv_text(_COLUMNS, rows)
    folder = asked.folder()
    if folder is not None:
        text = json.dumps(document, indent=1, allow_nan=False) + "\n"
        write_texts(settings.console, folder, {"system_info.csv": table, "report.json": text})
    if settings.json or asked.form == "json":
        settings.console.document(document)
    elif asked.form == "csv":
        settings.console.result(table.rstrip("\n"))
    else:
        for line in _lines(base, other, found, settings):
            settings.console.result(line)


def _lines(base: HostFacts, other: HostFacts, found: Sequence[Difference], settings: Settings) -> list[str]:
    width, all_of_them = settings.console.out.width, settings.verbosity > 0
    shown = [one for one in found if all_of_them or not one.moves]
    hidden = len(found) - len(shown)
    lines = wrapped(f"{_when(base)} -> {_when(other)}: {counted(len(shown), 'field')} differ", width, "")
    for title, group in groupby(shown, key=lambda one: one.field.partition(".")[0]):
        lines += ["", plain(title)]
        for _, part in groupby(group, key=lambda one: one.field.split(".")[:2]):
            lines += _part(list(part), width, len(title) + 1, all_of_them)
    if hidden:
        note = f"{counted(hidden, 'field')} that move by themselves (temperatures, free memory) differ too: see -v"
        lines += ["", *wrapped(note, width, "")]
    return lines


def _part(found: Sequence[Difference], width: int, title: int, all_of_them: bool) -> list[str]:
    most = len(found) if all_of_them or len(found) <= _MOST else _MOST - 1
    lines = []
    for one in found[:most]:
        name = one.field[title:] or one.field
        lines += wrapped(plain(f"{name}: {_value(one.base)} -> {_value(one.other)}"), width)
    if most < len(found):
        lines += wrapped(f"and {len(found) - most} more like these: see -v", width)
    return lines


def _value(value: Any) -> str:
    if value is None:
        return "not known"
    return str(value).lower() if isinstance(value, bool) else str(value)


def _when(facts: HostFacts) -> str:
    return plain(f"{facts.host} ({facts.collected_at})")
