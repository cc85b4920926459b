"""The outcome of each benchmark on each host, worst first; hosts with the same outcomes share a row."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import groupby, pairwise
from typing import Final

from asct.analysis.grid import ABSENT, ColumnHead, TableCell, TextTable, Tone, plain
from asct.store.model import JobEntry, Run

WORST_FIRST: Final = (
    "refused", "failed", "timeout", "host-lost", "interrupted", "skipped", "noisy", "ok",
)  # fmt: skip
_TONES: Final[dict[str, Tone]] = {"ok": "good", "noisy": "doubt", "skipped": "doubt", "interrupted": "doubt"}
_NUMBER: Final = re.compile(r"(.*?)([0-9]+)([^0-9]*)", re.DOTALL)


@dataclass(frozen=True, slots=True)
class JobOutcome:
    """The worst outcome of a job on a host, and the number of measurements with it."""

    status: str
    number: int
    of: int

    @property
    def text(self) -> str:
        """`ok`, `failed`, or `failed 2/10` when the others went better."""
        return self.status if self.number == self.of else f"{self.status} {self.number}/{self.of}"

    @property
    def tone(self) -> Tone:
        """The colour of the status."""
        return _TONES.get(self.status, "bad")


@dataclass(frozen=True, slots=True)
class HostRow:
    """Hosts to which the same happened. `state` is `ok`, or why they could not be used; a job they lack is None."""

    hosts: tuple[str, ...]
    state: str
    outcomes: tuple[JobOutcome | None, ...]

    @property
    def label(self) -> str:
        """The hosts in a few words, with their problem if any."""
        names = short_names(self.hosts)
        return names if self.state == "ok" else f"{names}: {self.state}"


@dataclass(frozen=True, slots=True)
class OutcomeMatrix:
    """`ids` name the columns."""

    ids: tuple[str, ...]
    rows: tuple[HostRow, ...]


def matrix(run: Run) -> OutcomeMatrix:
    """The outcome of every job of a run on every host."""
    ids = tuple(dict.fromkeys(job.id for job in run.jobs))
    found = {(job.host, job.id): outcome(job) for job in run.jobs}
    states = {host.name: host.status for host in run.hosts}
    names = dict.fromkeys([*states, *(job.host for job in run.jobs)])
    groups: dict[tuple[str, tuple[JobOutcome | None, ...]], list[str]] = {}
    for name in names:
        key = (states.get(name, "ok"), tuple(found.get((name, job)) for job in ids))
        groups.setdefault(key, []).append(name)
    rows = [HostRow(tuple(hosts), state, outcomes) for (state, outcomes), hosts in groups.items()]
    return OutcomeMatrix(ids, tuple(sorted(rows, key=_badness)))


def outcome(job: JobEntry) -> JobOutcome:
    """The worst of a job's measurements."""
    if job.refused:
        return JobOutcome("refused", 1, 1)
    of = sum(job.counts.values())
    worst = next((status for status in WORST_FIRST if job.counts.get(status)), "skipped")
    return JobOutcome(worst, job.counts.get(worst, of), of)


def _badness(row: HostRow) -> tuple[bool, tuple[int, ...]]:
    """Hosts that could not be used come first, then by what is worst in them."""
    ranks = sorted(WORST_FIRST.index(item.status) for item in row.outcomes if item is not None and item.status != "ok")
    return row.state == "ok", (*ranks, len(WORST_FIRST))


def short_names(names: Sequence[str]) -> str:
    """`n[001:016], n[018:100], gw`: names that count up become a range, which means exactly these in a plan."""
    return ", ".join(
        plain(names[0] if len(names) == 1 else _range(names)) for names in (list(run) for run in _runs(names))
    )


def _runs(names: Sequence[str]) -> list[list[str]]:
    """The names cut where one does not follow on the one before."""
    cut: list[int] = []
    for before, after in pairwise(names):
        cut.append((cut[-1] if cut else 0) + (not _follows(before, after)))
    numbered = zip([0, *cut], names, strict=True)
    return [[name for _, name in group] for _, group in groupby(numbered, key=lambda item: item[0])]


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


def outcome_grid(run: Run) -> TextTable | None:
    """The matrix as a report table; None for a single job on a single host."""
    found = matrix(run)
    if len(run.jobs) < 2:
        return None
    heads = (ColumnHead("Host"), *(ColumnHead(plain(name), kept=True) for name in found.ids))
    rows = tuple((TableCell(row.label, row.label), *(_cell(item) for item in row.outcomes)) for row in found.rows)
    return TextTable("outcomes", "Outcome by benchmark and host", heads, rows)


def _cell(item: JobOutcome | None) -> TableCell:
    if item is None:
        return TableCell(ABSENT, tone="muted", note="not in the plan for this host")
    return TableCell(item.text, float(WORST_FIRST.index(item.status)), item.tone)
