"""The runs that `asct diff` compares, whichever tool wrote them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

from asct.analysis.agreement import RecordKey, agreed, planned_jobs
from asct.analysis.baseline import BaselineKey
from asct.analysis.diff.machine import machine_facts
from asct.analysis.grid import plain
from asct.diagnostics.model import Diagnostic
from asct.sdk.benchmark import Catalog
from asct.sdk.facts import HostFacts
from asct.sdk.record import Record
from asct.store.find import labels_of
from asct.store.model import VALUED, Run
from asct.store.reader import StoredRun
from asct.values.text import counted

ASCT: Final = "asct"
"""The name of the tool that writes results trees: asct itself."""

Job = tuple[str, str]
"""A host and a benchmark entry."""


@dataclass(frozen=True, slots=True, eq=False)
class DiffSource:
    """What a comparison needs from a run.

    `name` is unique among the runs of one user: `<plan>/<run id>`, or the path of a folder that another tool wrote.
    `tool` and `version` name the program that wrote the run. `machines` maps each host to its facts, which are strings
    keyed by label (`Linux kernel`: `6.1.0-28-amd64`); unknown facts are omitted. Only labels that both runs contain are
    compared, so code that reads another tool's files must use the labels of `machine_facts`. `settings` contains, for
    each job, the settings that are the same at all of its points.

    A run from another tool is represented as follows: it has one host, named as in its files or `local`. In its
    records, `id` and `benchmark` are the name of the corresponding asct benchmark, and metrics, units, directions and
    coordinates are those of that benchmark. `point` is empty unless the tool swept a setting, and `point_id` is a
    digest of all settings that affect the value. `version` is the name of the tool. `repeat` is 1, unless a value was
    measured several times, `raw` is the file that contains the value, and `stats` is None: such a value is treated as
    one sample. Facts and settings that the files do not contain are left out.
    """

    name: str
    root: Path
    tool: str
    version: str
    records: tuple[Record, ...]
    plan: str = ""
    label: str = ""
    baseline: str = ""
    """The baseline that the plan names."""
    started_at: str = ""
    machines: Mapping[str, Mapping[str, str]] = field(default_factory=dict)
    settings: Mapping[Job, Mapping[str, Any]] = field(default_factory=dict)
    tags: Mapping[str, frozenset[str]] = field(default_factory=dict)
    """The tags of each benchmark entry in the plan."""
    gaps: tuple[str, ...] = ()
    """What is missing from the run. Each gap is the end of a sentence about the run (`is interrupted`). With
    `--fail-on`, a run with gaps cannot pass."""
    notes: tuple[Diagnostic, ...] = ()
    """Warnings about files that could be read only in part."""
    spread: Mapping[BaselineKey, Sequence[float]] = field(default_factory=dict)
    """For each value of the base, the values that the base and the unchanged runs of the same plan measured."""
    unlike: Mapping[RecordKey, str] = field(default_factory=dict)
    """The reasons why values from another tool cannot be compared with those from asct, keyed by the location of the
    record. Values without a reason are comparable."""

    @property
    def hosts(self) -> list[str]:
        """The hosts with values, in the order of the records."""
        return list(dict.fromkeys(record.host for record in self.records))

    @property
    def title(self) -> str:
        """A short name for headings: the label, or else the last part of the name."""
        return self.label or self.name.rstrip("/").rpartition("/")[2]


def of_stored(stored: StoredRun, catalog: Catalog, facts: Mapping[str, HostFacts] | None = None) -> DiffSource:
    """Return a run from the results tree. Its facts are read unless they are given. Raises StoreError if one of its
    documents is damaged."""
    run, facts, resolved = stored.run, facts or stored.facts(), stored.resolved()
    first, _ = stored.looks()
    planned, _ = agreed(first, resolved, facts, catalog)
    measured = {(one.host, one.id, one.point_id, one.repeat) for one in first if one.repeat >= 1}
    jobs = planned_jobs(resolved)
    return DiffSource(
        name=plain(f"{run.plan}/{stored.layout.root.name}"),
        root=stored.layout.root,
        tool=ASCT,
        version=plain(run.tool_version),
        records=tuple(record for record in planned if record.repeat >= 1),
        plan=plain(run.plan),
        label=plain(run.label or next(iter(labels_of(stored.layout.root)), "")),
        baseline=str(resolved.get("baseline") or ""),
        started_at=plain(run.started_at),
        machines={plain(host): machine_facts(one) for host, one in facts.items()},
        settings={key: job["settings"] for key, job in jobs.items()},
        tags={job_id: _tags(job) for (_, job_id), job in jobs.items()},
        gaps=tuple(_gaps(run, len(measured), torn=stored.torn())),
        notes=tuple(stored.notes),
    )


def _tags(job: Mapping[str, Any]) -> frozenset[str]:
    tags = job.get("tags")
    return frozenset(map(str, tags)) if isinstance(tags, list) else frozenset()


def _gaps(run: Run, measured: int, *, torn: bool) -> list[str]:
    """Return the gaps in a run; `measured` is the number of planned repeats with records."""
    gaps = [] if run.status == "complete" else [f"is {run.status}"]
    lacking = sum(sum(job.lacking().values()) for job in run.jobs)
    if lacking:
        gaps.append(f"lacks {counted(lacking, 'measurement')}")
    valued = sum(job.counts.get(status, 0) for job in run.jobs for status in VALUED)
    if valued > measured:
        gaps.append(f"has lost the records of {counted(valued - measured, 'measurement')}")
    return [*gaps, *(["has an incomplete last line in its journal or records"] if torn else [])]
