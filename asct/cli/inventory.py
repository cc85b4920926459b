"""Facts of machines as text, CSV and JSON, on stdout and in files."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from asct import __version__
from asct.analysis.fields import flat
from asct.analysis.machine import network_sections, sections, unknown
from asct.cli.asked import ReportAsked
from asct.cli.files import write_texts
from asct.cli.machines import Found
from asct.cli.options import Settings
from asct.cli.sections import section_lines, wrapped
from asct.export.csv import machine_text
from asct.facts.describe import describe
from asct.sdk.facts import HostFacts

SEVERAL = "asct.machines/1"


@dataclass(frozen=True, slots=True)
class Inventory:
    """What is shown: `document` gives the JSON document of a machine, `stem` names the CSV file. With `below` only the
    facts below that field; with `topology` the drawing instead of the rows."""

    stem: str
    document: Callable[[HostFacts], dict[str, Any]]
    below: str = ""
    topology: bool = False


def publish(settings: Settings, asked: ReportAsked, answered: Found, what: Inventory) -> None:
    """Into the folder if there is to be one, and to stdout in the form that was asked for."""
    found = answered.facts
    documents = [what.document(facts) for facts in found]
    problems = [item.to_json() for item in answered.problems]
    alone = len(documents) == 1 and not problems
    whole = documents[0] if alone else {"schema": SEVERAL, "hosts": documents, "problems": problems}
    folder = asked.folder() if found else None
    if folder is not None:
        report = json.dumps(whole, indent=1, allow_nan=False) + "\n"
        write_texts(settings.console, folder, {"report.json": report, **_files(found, documents, what)})
    if settings.json or asked.form == "json":
        settings.console.document(whole)
    elif asked.form == "csv":
        settings.console.result(_csv(documents).rstrip("\n"))
    else:
        for number, facts in enumerate(found):
            for line in ["", *_lines(facts, what, settings.console.out.width)][number == 0 :]:
                settings.console.result(line)


def _files(found: Sequence[HostFacts], documents: Sequence[dict[str, Any]], what: Inventory) -> dict[str, str]:
    """A table for each machine, and its drawing if that was asked for."""
    texts = {}
    for facts, document in zip(found, documents, strict=True):
        suffix = f".{facts.host}" if len(found) > 1 else ""
        texts[f"{what.stem}{suffix}.csv"] = machine_text(flat(document))
        if what.topology:
            texts[f"topology{suffix}.svg"] = _drawing(facts)
    return texts


def _csv(documents: Sequence[dict[str, Any]]) -> str:
    """A line for each field; with several machines the name of the machine stands before it."""
    if len(documents) == 1:
        return machine_text(flat(documents[0]))
    return machine_text({f"{one['host']}.{field}": value for one in documents for field, value in flat(one).items()})


def _lines(facts: HostFacts, what: Inventory, width: int) -> list[str]:
    if what.topology:
        from asct.analysis.topology import lines

        return lines(facts, width)
    account = {None: "an account that is not known", 0: "root"}.get(facts.system.uid, f"uid {facts.system.uid}")
    shown = network_sections(facts) if what.below else sections(facts)
    found = wrapped(f"{facts.host}: {describe(facts)}", width, "")
    of_file = " (the time of the file)" if facts.dated_by_file else ""
    found += wrapped(f"As of {facts.collected_at}{of_file}, read as {account}, by asct {__version__}", width)
    found += section_lines(shown, width)
    gaps = unknown(facts, what.below)
    missing = [line for reason, names in gaps for line in wrapped(f"{reason}: {names}", width)]
    return [*found, *(["", "Not known", *missing] if missing else [])]


def _drawing(facts: HostFacts) -> str:
    from asct.analysis.topology import drawing

    return drawing(facts) + "\n"
