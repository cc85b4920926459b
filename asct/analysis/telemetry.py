"""Describe how quiet the hosts were during measurements, using the verdicts in status.json and run.json."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from typing import Final

from asct.analysis.grid import plain
from asct.analysis.view import JobView, RepeatView
from asct.store.model import JobEntry, Reason
from asct.values.grouping import grouped

_WORST_FIRST: Final = ("invalid", "noisy")
_NAMES: Final = {
    "clock": "CPU frequency",
    "clock-limit": "CPU frequency limit",
    "clock-source": "clock source",
    "drive-errors": "drive errors",
    "drive-heat": "drive temperature",
    "drive-warning": "drive warning",
    "heat": "thermal throttling",
    "memory-pressure": "memory pressure",
    "online": "online CPUs",
    "others": "other programs",
    "quota": "CPU quota",
    "steal": "steal time",
    "swap": "swapping",
}
"""The names that reports use for reasons in telemetry documents, where these names differ from the keywords."""


def _name(what: str) -> str:
    return _NAMES.get(what, plain(what))


def reason_text(reason: Reason) -> str:
    """Return a reason as text, such as `steal time: 3.4 %, limit 1 %`."""
    unit = f" {reason.unit}" if reason.unit else ""
    return f"{_name(reason.what)}: {plain(f'{reason.seen:.3g}{unit}, limit {reason.limit:.3g}{unit}')}"


def host_remarks(job: JobView) -> list[str]:
    """Return one line per reason for a noisy host or invalid values, with the worst-affected repeat."""
    found = grouped(_reasons(job), lambda item: (item[0].state, item[0].what))
    lines = []
    for (state, _), places in sorted(found.items(), key=lambda entry: _WORST_FIRST.index(entry[0][0])):
        reason, item = max(places, key=lambda place: place[0].seen)
        label = item.label if len(places) == 1 else f"{len(places)} repeats (worst: {item.label})"
        lines.append(f"{plain(label)}: {state} host ({reason_text(reason)})")
    return lines


def meanings(jobs: Iterable[JobView]) -> dict[str, str]:
    """Return a description of how each reason affects the values, in order of first appearance."""
    groups = grouped((reason for job in jobs for reason, _ in _reasons(job)), lambda reason: _name(reason.what))
    return {what: plain(reasons[0].means) for what, reasons in groups.items()}


def _reasons(job: JobView) -> Iterator[tuple[Reason, RepeatView]]:
    for item in job.repeats:
        host_state = item.status.host_state if item.status is not None and item.valued else None
        for reason in host_state.reasons if host_state is not None else ():
            yield reason, item


def mark_of(item: RepeatView) -> str:
    """Return `noisy host` or `invalid host` if the host state during a repeat was noisy or invalid, otherwise an empty
    string."""
    host_state = item.status.host_state if item.status is not None else None
    return f"{host_state.state} host" if host_state is not None and host_state.state in _WORST_FIRST else ""


def hosts_line(jobs: Iterable[JobEntry]) -> str:
    """Return text such as `12 of 40 measurements ran while the host was noisy (other programs, steal time)`, or an
    empty string if no measurement was affected."""
    states: Counter[str] = Counter()
    reasons: Counter[str] = Counter()
    for job in jobs:
        states.update(job.host_states)
        reasons.update(job.host_reasons)
    total = states.total()
    number = states["noisy"] or states["invalid"]
    lead = "1 measurement" if total == 1 else f"{number} of {total} measurements"
    parts = [f"{lead} ran while the host was noisy"] if states["noisy"] else []
    if states["invalid"]:
        start = f"{states['invalid']} of {total} while it" if parts else f"{lead} ran while the host"
        parts.append(f"{start} was throttled or limited")
    return f"{', '.join(parts)} ({', '.join(_name(what) for what, _ in reasons.most_common())})" if parts else ""
