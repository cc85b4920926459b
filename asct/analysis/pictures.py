"""Name the picture files of a report."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping

from asct.analysis.grid import distinct, plain
from asct.analysis.hostnames import shortening
from asct.analysis.report import ReportSection, build
from asct.analysis.view import RunView
from asct.diagnostics.model import Diagnostic
from asct.errors import UsageError
from asct.sdk.figure import Figure

_FOLDERS = frozenset({"build", "disturbances", "facts", "jobs"})
"""Folders of a run that must not contain pictures, because they are reserved for the files that the run itself
writes."""


def pictures(view: RunView) -> dict[str, Figure]:
    """Return the figures of a report, keyed by the names of their picture files. These names are relative to the run
    and have no extension.

    A name consists of the benchmark entry's folder and the figure's slug, unless the benchmark declares a different
    name (`Benchmark.pictures`). Raises UsageError (E711) if the report has no figure.
    """
    sections = build(view).sections
    declared = {plain(job.entry.id): job.benchmark.pictures for job in view.jobs if job.benchmark is not None}
    entries = Counter(section.benchmark for section in sections)
    folders = distinct((section.slug for section in sections), _FOLDERS)
    pairs = [
        (_name(figure, section, folder, declared.get(section.id, {}), entries[section.benchmark] > 1), figure)
        for section, folder in zip(sections, folders, strict=True)
        for figure in section.figures
    ]
    if not pairs:
        hint = "`asct results show` lists what was measured, and why the rest was not"
        raise UsageError(Diagnostic("E711", f"{view.root}: the run has no figures to draw", hint=hint))
    names = distinct(name for name, _ in pairs)
    return dict(zip(names, (figure for _, figure in pairs), strict=True))


def source(view: RunView) -> str:
    """Return the origin of the figures in a report: the plan, the run, and the host's name or, if there are several,
    the number of hosts and what their short names leave out."""
    hosts = [host.name for host in view.run.hosts]
    names = shortening(hosts).replace("`", "")
    hosts_text = hosts[0] if len(hosts) == 1 else f"{len(hosts)} hosts{f' (names {names})' if names else ''}"
    return f"{view.run.plan}/{view.run.run}, {hosts_text}"


def _name(figure: Figure, section: ReportSection, folder: str, declared: Mapping[str, str], several: bool) -> str:
    """Return the name of one picture. If the plan has several entries for the benchmark, the picture is always in the
    folder of its entry."""
    slug = figure.slug.removeprefix(f"{section.slug}-")
    keys = [key for key in declared if slug == key or slug.startswith(f"{key}-")]
    if not keys:
        return f"{folder}/{slug}"
    key = max(keys, key=len)
    name = declared[key] + slug.removeprefix(key)
    return f"{folder}/{name.rpartition('/')[2]}" if several or "/" in name else name
