"""The hosts of a run as reports show them."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from asct.analysis.disturbances import DisturbanceLink, DisturbanceSummary, on_host
from asct.analysis.grid import distinct, plain, slug
from asct.analysis.machine import Row, host_rows, one_line, unknown_lines
from asct.analysis.topology import drawing
from asct.analysis.view import RunView


@dataclass(frozen=True, slots=True)
class HostCard:
    """One host: its line, its state and its facts; `picture` is its topology, an SVG element or empty."""

    name: str
    slug: str
    status: str
    reason: str
    line: str
    rows: tuple[Row, ...]
    found: tuple[DisturbanceLink, ...] = ()
    """Disturbances there, also what is only possible."""
    picture: str = ""
    unknown: tuple[str, ...] = ()


def host_cards(view: RunView, findings: DisturbanceSummary) -> Iterable[HostCard]:
    """The hosts in the order of the plan."""
    slugs = distinct(f"host-{slug(host.name)}" for host in view.run.hosts)
    for host, unique in zip(view.run.hosts, slugs, strict=True):
        facts = view.facts.get(host.name)
        yield HostCard(
            plain(host.name), unique, host.status, plain(host.reason), one_line(host, facts),
            tuple(host_rows(host, facts)), findings.mention(on_host(view, host.name)),
            drawing(facts) if facts is not None and facts.cpu.logical else "",
            () if facts is None else tuple(unknown_lines(facts)),
        )  # fmt: skip
