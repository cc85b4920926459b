"""The disturbances at the start of a run, prepared for reports. Each finding is listed only once, with all affected
hosts."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Final

from asct.analysis.grid import distinct, plain
from asct.analysis.outcomes import name_ranges, short_names
from asct.analysis.view import JobView, RunView
from asct.sdk.disturbance import CERTAINTIES, EVERYTHING, Certainty, Disturbance, subjects
from asct.values.grouping import grouped, shortened

Rows = tuple[tuple[str, str], ...]
_MOST_HOSTS: Final = 6
"""Maximum number of hosts, or ranges of hosts, that the title of a finding names. The rows of the finding name all
hosts."""
_MOST_TITLES: Final = 3
"""Maximum number of titles per finding. Titles may differ between hosts, for example with 1 GB and 2 GB of dirty
pages."""


@dataclass(frozen=True, slots=True)
class DisturbanceLink:
    """The title of a finding, and the anchor of its full description."""

    title: str
    slug: str


@dataclass(frozen=True, slots=True)
class Remedy:
    """The fix for a finding on `hosts`. `fix` and `undo` are shell commands for root; `advice` is a manual step."""

    hosts: str
    advice: str
    fix: str
    undo: str


@dataclass(frozen=True, slots=True)
class DisturbanceCard:
    """A finding and all `hosts` to which it applies, as text that is safe to display. `rows` contains pairs of a label
    and a text."""

    slug: str
    title: str
    hosts: str
    sure: Certainty
    effect: str
    rows: Rows
    ways: tuple[Remedy, ...]


@dataclass(frozen=True, slots=True)
class DisturbanceSummary:
    """All findings of a run, in descending order of certainty."""

    cards: tuple[DisturbanceCard, ...]
    slugs: Mapping[tuple[str, str], str]

    def mention(self, items: Iterable[Disturbance]) -> tuple[DisturbanceLink, ...]:
        """Return links to the findings on one host, with the titles that they have on that host."""
        return tuple(DisturbanceLink(plain(item.title), self.slugs[_key(item)]) for item in items)


_HostFinding = tuple[str, Disturbance]
"""A host and a finding on it."""


def _key(item: Disturbance) -> tuple[str, str]:
    """Return the key of a finding. Disturbances with the same name and effect are the same finding."""
    return item.name, item.effect


def findings_of(view: RunView) -> DisturbanceSummary:
    """Return the disturbances on the hosts of a run. The summary is empty if the run did not check for them."""
    hosts = [(host.name, view.disturbances[host.name]) for host in view.run.hosts if host.name in view.disturbances]
    found = grouped(((name, item) for name, report in hosts for item in report.findings), lambda one: _key(one[1]))
    slugs = dict(zip(found, distinct(f"finding-{name}" for name, _ in found), strict=True))
    cards = [_card(slugs[key], places) for key, places in found.items()]
    return DisturbanceSummary(tuple(sorted(cards, key=lambda card: CERTAINTIES.index(card.sure))), slugs)


def beside(view: RunView, job: JobView) -> list[Disturbance]:
    """Return the likely and certain disturbances that affect the values of a job."""
    found = view.disturbances.get(job.entry.host)
    words = subjects(job.benchmark) if job.benchmark else frozenset({EVERYTHING})
    return found.touching(words) if found else []


def _names(places: Iterable[_HostFinding]) -> str:
    return short_names([host for host, _ in places])


def _card(slug: str, places: list[_HostFinding]) -> DisturbanceCard:
    items = [item for _, item in places]
    titles = list(dict.fromkeys(plain(item.title) for item in items))
    ways = grouped(places, lambda one: (one[1].advice, *one[1].fix, "", *one[1].undo))
    every, few = _names(places), shortened(name_ranges([host for host, _ in places]), _MOST_HOSTS)
    return DisturbanceCard(
        slug=slug,
        title=shortened(titles, _MOST_TITLES),
        hosts=few,
        sure=min((item.sure for item in items), key=CERTAINTIES.index),
        effect=plain(items[0].effect),
        rows=(*([("Hosts", every)] if every != few else []), *_rows(places)),
        ways=tuple(_way(group) for group in ways.values() if group[0][1].advice or group[0][1].fix),
    )


def _rows(places: list[_HostFinding]) -> Iterator[tuple[str, str]]:
    """Yield the rows of a finding. If observations or certainties differ between hosts, they are shown with the host
    names."""
    first = places[0][1]
    observations = grouped(places, lambda one: one[1].seen)
    reasons = grouped(places, lambda one: (one[1].sure, one[1].why))
    yield from ((_label("Observed", group, len(observations)), plain(text)) for text, group in observations.items())
    yield "Effect", plain(first.effect)
    yield "Affects", plain(first.touched)
    yield from (
        (_label(sure.capitalize(), group, len(reasons)), plain(why)) for (sure, why), group in reasons.items() if why
    )
    yield "Source", plain(first.source)


def _label(word: str, group: list[_HostFinding], groups: int) -> str:
    return word if groups == 1 else f"{word} on {_names(group)}"


def _way(places: list[_HostFinding]) -> Remedy:
    item = places[0][1]
    fix, undo = (plain("\n".join(lines), keep_lines=True) for lines in (item.fix, item.undo))
    return Remedy(_names(places), plain(item.advice), fix, undo)
