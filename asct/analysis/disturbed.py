"""What disturbed a host from the start, as reports show it: beside the results that it touches, and in full once."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from asct.analysis.grid import plain
from asct.analysis.view import JobView, RunView
from asct.sdk.disturbance import EVERYTHING, Disturbance, subjects


@dataclass(frozen=True, slots=True)
class DisturbanceCard:
    """A finding in words that are safe to show; `rows` are label and text, `fix` and `undo` lines for a shell."""

    title: str
    effect: str
    sure: str
    rows: tuple[tuple[str, str], ...]
    fix: str
    undo: str


def found_on(view: RunView, host: str) -> tuple[DisturbanceCard, ...]:
    """All findings on a host, the surest first; none for a run that did not look."""
    found = view.disturbances.get(host)
    return tuple(_card(item) for item in found.findings) if found else ()


def beside(view: RunView, job: JobView) -> tuple[DisturbanceCard, ...]:
    """Those that are more than possible and touch what a job measures."""
    found = view.disturbances.get(job.entry.host)
    words = subjects(job.benchmark) if job.benchmark else frozenset({EVERYTHING})
    return tuple(_card(item) for item in found.touching(words)) if found else ()


def _card(item: Disturbance) -> DisturbanceCard:
    return DisturbanceCard(
        title=plain(item.title),
        effect=plain(item.effect),
        sure=item.sure,
        rows=tuple(_rows(item)),
        fix=plain("\n".join(item.fix), keep_lines=True),
        undo=plain("\n".join(item.undo), keep_lines=True),
    )


def _rows(item: Disturbance) -> Iterator[tuple[str, str]]:
    told = (("Seen", item.seen), ("Effect", item.effect), ("Touches", item.touched), (item.sure.capitalize(), item.why),
            ("Way out", item.advice), ("Source", item.source))  # fmt: skip
    yield from ((label, plain(text)) for label, text in told if text)
