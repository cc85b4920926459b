"""The outcome of each benchmark on each host, worst first, and the results that a run reused.

Hosts with the same outcomes share a row.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Final

from asct.analysis.grid import ABSENT, ColumnHead, TableCell, TextTable, Tone, plain
from asct.store.model import JobEntry, Run
from asct.values.grouping import grouped, split
from asct.values.timestamp import age

TONES: Final[Mapping[str, Tone]] = {
    "refused": "refused", "failed": "bad", "timeout": "bad", "host-lost": "missing", "interrupted": "missing",
    "not finished": "missing", "skipped": "missing", "invalid": "invalid", "noisy": "doubt", "ok": "good",
    "fail": "bad", "unknown": "unknown", "warning": "doubt", "unconfirmed": "doubt", "inconclusive": "doubt",
    "info": "muted", "pass": "good", "not planned": "muted",
}  # fmt: skip
"""The color for each status that a repeat can have and each outcome that an expectation can have, worst first."""
WORST_FIRST: Final = tuple(TONES)


def tone_of(word: str) -> Tone:
    """Return the color of a status or outcome. A results tree from another source may contain unknown values."""
    return TONES.get(word, "bad")


_NUMBER: Final = re.compile(r"(.*?)([0-9]+)([^0-9]*)", re.DOTALL)


@dataclass(frozen=True, slots=True)
class JobOutcome:
    """The worst outcome of a job on a host, and the number of measurements with that outcome."""

    status: str
    number: int
    of: int

    @property
    def text(self) -> str:
        """The outcome as text: `ok`, `failed`, or `failed 2/10` if the other measurements have a better outcome."""
        return self.status if self.number == self.of else f"{self.status} {self.number}/{self.of}"

    @property
    def tone(self) -> Tone:
        """The color in which reports show the status."""
        return tone_of(self.status)


@dataclass(frozen=True, slots=True)
class HostRow:
    """Hosts with the same outcomes.

    `state` is `ok`, or the reason why the hosts could not be used. If these hosts do not have a job, its outcome is
    None.
    """

    hosts: tuple[str, ...]
    state: str
    outcomes: tuple[JobOutcome | None, ...]

    @property
    def label(self) -> str:
        """The host names in short form, followed by their state unless it is `ok`."""
        names = short_names(self.hosts)
        return names if self.state == "ok" else f"{names}: {self.state}"


@dataclass(frozen=True, slots=True)
class OutcomeMatrix:
    """The outcomes of a run, with one row per group of hosts and one column per benchmark entry. `ids` contains the
    column names."""

    ids: tuple[str, ...]
    rows: tuple[HostRow, ...]


def matrix(run: Run) -> OutcomeMatrix:
    """Return the outcome of each job of a run on each host."""
    ids = tuple(dict.fromkeys(job.id for job in run.jobs))
    found = {(job.host, job.id): outcome(job) for job in run.jobs}
    states = {host.name: host.status for host in run.hosts}
    names = dict.fromkeys([*states, *(job.host for job in run.jobs)])
    groups = grouped(names, lambda name: (states.get(name, "ok"), tuple(found.get((name, job)) for job in ids)))
    rows = [HostRow(tuple(hosts), state, outcomes) for (state, outcomes), hosts in groups.items()]
    return OutcomeMatrix(ids, tuple(sorted(rows, key=_badness)))


def outcome(job: JobEntry) -> JobOutcome:
    """Return the worst outcome of a job's measurements."""
    counts = {**job.counts, "skipped": 0, **job.lacking()}
    worst = next((status for status in WORST_FIRST if counts.get(status)), "skipped")
    return JobOutcome(worst, counts.get(worst, 0), planned([job]))


def unmeasured(jobs: Iterable[JobEntry]) -> Counter[str]:
    """Return the number of repeats that are treated as not measured, by status."""
    return sum((Counter(job.lacking()) for job in jobs), Counter[str]())


def resumable(run: Run) -> bool:
    """Return whether `asct resume` would measure what is missing."""
    return bool(unmeasured(run.jobs)) and not any(host.transport == "import" for host in run.hosts)


def refused_again(run: Run) -> bool:
    """Return whether `asct resume` would be refused again unless something changes on the host. A locked host is not
    counted, because its lock ends by itself."""
    locked = {host.name for host in run.hosts if host.status == "locked"}
    return any(job.refused and job.lacking() and job.host not in locked for job in run.jobs)


def planned(jobs: Iterable[JobEntry]) -> int:
    """Return the number of repeats, including planned repeats without a status."""
    return sum(max(job.points * job.repeats, sum(job.counts.values())) for job in jobs)


def share(part: int, whole: int, noun: str) -> str:
    """Describe a part of a whole: `the only point`, `both points`, `all 3 points`, `2 of 3 points`."""
    if part == whole:
        return {1: f"the only {noun}", 2: f"both {noun}s"}.get(whole, f"all {whole:,} {noun}s")
    return f"{part:,} of {whole:,} {noun}s"


def causes(jobs: Iterable[JobEntry]) -> list[str]:
    """Return the distinct reasons why repeats were not measured, with their error codes, refusals first."""
    lacking = sorted((job for job in jobs if job.note and job.lacking()), key=lambda job: not job.refused)
    return list(dict.fromkeys(plain(job.note) for job in lacking))


def _badness(row: HostRow) -> tuple[bool, tuple[int, ...]]:
    """Return a sort key: unusable hosts come first, followed by the others in order of their worst outcomes."""
    ranks = sorted(WORST_FIRST.index(item.status) for item in row.outcomes if item is not None and item.status != "ok")
    return row.state == "ok", (*ranks, len(WORST_FIRST))


def short_names(names: Sequence[str]) -> str:
    """Return the names as one string in which consecutive names are shortened to ranges, as in a plan: `n[001:016],
    n[018:100], gw`."""
    return ", ".join(name_ranges(names))


def name_ranges(names: Sequence[str]) -> list[str]:
    """Return the names and ranges that `short_names` joins, as a list."""
    runs = split(names, lambda run, name: _follows(run[-1], name))
    return [plain(run[0] if len(run) == 1 else _range(run)) for run in runs]


def _follows(before: str, after: str) -> bool:
    one, two = _NUMBER.fullmatch(before), _NUMBER.fullmatch(after)
    if one is None or two is None or (one[1], one[3]) != (two[1], two[3]):
        return False
    padded = one[2].startswith("0") or two[2].startswith("0")
    return int(two[2]) == int(one[2]) + 1 and (not padded or len(one[2]) == len(two[2]))


def _range(names: Sequence[str]) -> str:
    first, last = _NUMBER.fullmatch(names[0]), _NUMBER.fullmatch(names[-1])
    assert first is not None and last is not None
    return f"{first[1]}[{first[2]}:{last[2]}]{first[3]}"


def outcome_grid(run: Run, forms: Mapping[str, str] | None = None) -> TextTable | None:
    """Return the matrix as a report table, or None if the run has fewer than two jobs. `forms` contains short forms of
    host names."""
    found = matrix(run)
    if len(run.jobs) < 2:
        return None
    heads = (ColumnHead("Host"), *(ColumnHead(plain(name), kept=True) for name in found.ids))
    rows = tuple((_hosts_cell(row, forms or {}), *map(_cell, row.outcomes)) for row in found.rows)
    return TextTable("outcomes", "Outcome by benchmark and host", heads, rows)


def _hosts_cell(row: HostRow, forms: Mapping[str, str]) -> TableCell:
    label = replace(row, hosts=tuple(forms.get(name, name) for name in row.hosts)).label
    return TableCell(label, row.label, note="" if label == row.label else row.label)


def _cell(item: JobOutcome | None) -> TableCell:
    if item is None:
        return TableCell(ABSENT, tone="muted", note="not planned for this host")
    return TableCell(item.text, float(WORST_FIRST.index(item.status)), item.tone)


def reused_text(jobs: Iterable[JobEntry], started_at: str) -> str:
    """Return text such as `12 of 40 measurements reused: 12 from gate/20261121T042813Z-3f9c2a, measured 3 h earlier`.

    The age is relative to the start of the run. Returns an empty string if nothing was reused.
    """
    jobs = list(jobs)
    sources = grouped((item for job in jobs for item in job.reused), lambda item: item.run)
    counts = {run: sum(item.repeats for item in items) for run, items in sources.items()}
    parts = [
        f"{counts[run]} from {run}, measured {_age(min(item.measured_at for item in items), started_at)} earlier"
        for run, items in sources.items()
    ]
    total = sum(sum(job.counts.values()) for job in jobs)
    return f"{sum(counts.values())} of {total} measurements reused: {'; '.join(parts)}" if parts else ""


def _age(moment: str, present: str) -> str:
    """Return an age, or `?` for malformed times, which a results tree from another source may contain."""
    try:
        return age(moment, present)
    except (ValueError, TypeError):
        return "?"
