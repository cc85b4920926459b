"""The benchmarks that `asct diff --benchmarks` compares."""

from __future__ import annotations

from collections.abc import Sequence, Set
from dataclasses import replace
from typing import NamedTuple

from asct.analysis.diff.source import DiffSource
from asct.plan.findings import Findings
from asct.planner.keywords import chosen_by
from asct.registry import Registry


class _Entry(NamedTuple):
    """A benchmark entry of a run in the form that the selection expects: the names of its benchmark act as aliases of
    its id, and its tags in the plan as keywords."""

    name: str
    aliases: Sequence[str]
    keywords: Sequence[str]
    default: bool = True
    hidden: bool = False


def selected(sources: Sequence[DiffSource], words: Sequence[str], catalog: Registry) -> list[DiffSource]:
    """Return the runs with only the benchmarks that `words` select.

    A word is the id of an entry, the name, an alias or a keyword of a benchmark, or a tag in the plan; `^word` excludes
    what the word selects. If every word is an exclusion, all other benchmarks are selected. Raises UsageError (E707)
    for words that match nothing, and for a selection that is empty.
    """
    if not words:
        return list(sources)
    findings, entries = Findings(), _entries(sources, catalog)
    names = list(dict.fromkeys(f"`{entry.name}`" for entry in entries))
    known = f"the runs contain {', '.join(names[:8])}{', ...' if len(names) > 8 else ''}"
    chosen = chosen_by(dict.fromkeys(words), entries, findings, "E707", " in these runs", known)
    findings.require()
    ids = {item.info.name for item in chosen}
    return [_only(source, ids) for source in sources]


def _entries(sources: Sequence[DiffSource], catalog: Registry) -> list[_Entry]:
    entries = []
    for job_id, name in dict.fromkeys((record.id, record.benchmark) for source in sources for record in source.records):
        info = catalog.info(name)
        aliases, keywords = (info.aliases, info.keywords) if info else ([], [])
        tags = [tag for source in sources for tag in source.tags.get(job_id, ())]
        entries.append(_Entry(job_id, [name, *aliases], [*keywords, *tags]))
    return entries


def _only(source: DiffSource, ids: Set[str]) -> DiffSource:
    records = tuple(record for record in source.records if record.id in ids)
    settings = {job: one for job, one in source.settings.items() if job[1] in ids}
    return replace(source, records=records, settings=settings)
