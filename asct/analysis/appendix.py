"""The versions and checksums of a run, for the appendix of its report."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from typing import Final

from asct.analysis.grid import ColumnHead, TableCell, TextTable, plain, without_empty_columns
from asct.analysis.machine import Row
from asct.analysis.outcomes import short_names
from asct.analysis.view import RunView
from asct.values.grouping import grouped

_EVIDENCE: Final = ("plan.yaml", "plan.resolved.json", "records.jsonl")
"""Documents that do not change after the report is written. SHA256SUMS is written after the report."""
_BLOCK: Final = 1 << 20


def versions_grid(view: RunView) -> TextTable:
    """Return a table of the versions of asct, the benchmarks, and the software of each host."""
    told = grouped(_versions(view), lambda item: item[:2])
    rows = tuple(
        (
            TableCell(plain(name)),
            TableCell(plain(version)),
            TableCell(short_names([item[2] for item in items if item[2]])),
        )
        for (name, version), items in told.items()
    )
    heads = (ColumnHead("Software"), ColumnHead("Version"), ColumnHead("Hosts"))
    return without_empty_columns(TextTable("versions", "Versions", heads, rows))


def _versions(view: RunView) -> Iterator[tuple[str, str, str]]:
    """Yield the name and version of each program, and the host on which it is installed, if any."""
    yield "asct", view.run.tool_version, ""
    for name, version in dict.fromkeys((job.benchmark, job.version) for job in view.run.jobs):
        yield f"benchmark {name}", version, ""
    for host, facts in view.facts.items():
        shown = host if len(view.run.hosts) > 1 else ""
        yield "operating system", facts.system.os or "", shown
        yield "Linux kernel", facts.system.kernel or "", shown
        for name, tool in facts.tools.items():
            if tool.version:
                yield name, tool.version, shown


def checksums(view: RunView) -> list[Row]:
    """Return the SHA-256 checksums of the documents needed to judge the run again. Unreadable documents, and links that
    lead outside the run folder, are omitted."""
    found = []
    for name in _EVIDENCE:
        path = view.root / name
        if path.is_symlink() or not path.is_file():
            continue
        digest = hashlib.sha256()
        try:
            with path.open("rb") as stream:
                while block := stream.read(_BLOCK):
                    digest.update(block)
        except OSError:
            continue
        found.append((name, digest.hexdigest()))
    return found
