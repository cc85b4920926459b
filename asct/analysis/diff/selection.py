"""The benchmarks that `asct diff --benchmarks` compares."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import NamedTuple

from asct.analysis.diff.source import DiffSource
from asct.diagnostics.model import Diagnostic
from asct.diagnostics.suggest import did_you_mean
from asct.errors import UsageError
from asct.registry import BenchmarkInfo, Registry


class _Entry(NamedTuple):
    """A benchmark entry of a run: its id, its benchmark, and its tags in the plan."""

    id: str
    benchmark: str
    tags: frozenset[str]


def selected(sources: Sequence[DiffSource], words: Sequence[str], catalog: Registry) -> list[DiffSource]:
    """Return the runs with only the benchmarks that `words` select.

    A word is the id of an entry, the name, an alias or a keyword of a benchmark, or a tag in the plan; `^word`
    excludes. If every word excludes something, all others are selected. Raises UsageError (E707) for a word that
    matches nothing, and for a selection that is empty.
    """
    if not words:
        return list(sources)
    entries = list(dict.fromkeys(entry for source in sources for entry in _entries(source)))
    found = {word: _matching(word.removeprefix("^"), entries, catalog) for word in words}
    wanted = [word for word in words if not word.startswith("^")]
    kept = {entry for word in wanted for entry in found[word]} if wanted else set(entries)
    kept -= {entry for word in words if word.startswith("^") for entry in found[word]}
    if not kept:
        message = f"no benchmark of these runs matches `{' '.join(words)}`"
        raise UsageError(Diagnostic("E707", message, hint=_known(entries)))
    return [_only(source, kept) for source in sources]


def _entries(source: DiffSource) -> list[_Entry]:
    pairs = dict.fromkeys((record.id, record.benchmark) for record in source.records)
    return [_Entry(job_id, benchmark, source.tags.get(job_id, frozenset())) for job_id, benchmark in pairs]


def _matching(word: str, entries: Sequence[_Entry], catalog: Registry) -> set[_Entry]:
    infos = {entry.benchmark: catalog.info(entry.benchmark) for entry in entries}
    found = {entry for entry in entries if word in _words(entry, infos[entry.benchmark])}
    if not found:
        known = {name for entry in entries for name in _words(entry, infos[entry.benchmark])}
        hint = did_you_mean(word, known, _known(entries))
        raise UsageError(Diagnostic("E707", f"no benchmark of these runs matches `{word}`", hint=hint))
    return found


def _words(entry: _Entry, info: BenchmarkInfo | None) -> set[str]:
    own = {"all", entry.id, entry.benchmark, *entry.tags}
    return own if info is None else {*own, *info.aliases, *info.keywords}


def _known(entries: Sequence[_Entry]) -> str:
    names = list(dict.fromkeys(entry.id for entry in entries))
    return f"the runs contain {', '.join(f'`{name}`' for name in names[:8])}" + (", ..." if len(names) > 8 else "")


def _only(source: DiffSource, kept: set[_Entry]) -> DiffSource:
    ids = {(entry.id, entry.benchmark) for entry in kept}
    records = tuple(record for record in source.records if (record.id, record.benchmark) in ids)
    names = {record.id for record in records}
    settings = {job: one for job, one in source.settings.items() if job[1] in names}
    return replace(source, records=records, settings=settings)
