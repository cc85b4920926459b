"""Where two machines differ, as text, CSV and JSON."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from typing import Any

from asct.analysis.fields import Difference, differences
from asct.analysis.folding import FactsPair, folded, gathered, whole_line
from asct.analysis.grid import plain
from asct.cli.asked import ReportAsked
from asct.cli.files import csv_text, write_texts
from asct.cli.options import Settings
from asct.cli.sections import wrapped
from asct.cli.words import counted
from asct.sdk.facts import HostFacts

SCHEMA = "asct.facts_comparison/1"
_COLUMNS = ("field", "base", "other", "moves")


def publish(settings: Settings, asked: ReportAsked, base: HostFacts, other: HostFacts) -> None:
    """What differs from `base`: to stdout in the form that was asked for, and into the folder if there is to be one."""
    found = differences(base, other)
    rows = [{name: getattr(one, name) for name in _COLUMNS} for one in found]
    sides = {
        name: {"host": one.host, "collected_at": one.collected_at, "notes": one.notes}
        for name, one in (("base", base), ("other", other))
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
    for title, texts in _each(shown) if all_of_them else folded(shown, _sides(base, other)):
        lines += ["", plain(title), *(line for text in texts for line in wrapped(plain(text), width))]
    if hidden:
        note = f"{counted(hidden, 'field')} that move by themselves (temperatures, free memory) differ too: see -v"
        lines += ["", *wrapped(note, width, "")]
    return lines


def _each(found: Sequence[Difference]) -> Iterator[tuple[str, list[str]]]:
    for title, group in gathered(found, lambda one: one.field.partition(".")[0]):
        yield title, [whole_line(one, title) for one in group]


def _sides(base: HostFacts, other: HostFacts) -> FactsPair:
    documents = [facts.model_dump(mode="json", by_alias=True) for facts in (base, other)]
    names = (base.host, other.host) if base.host != other.host else ("the first", "the second")
    return FactsPair(names, *documents)


def _when(facts: HostFacts) -> str:
    return plain(f"{facts.host} ({facts.collected_at})")
