"""All findings on a host: every subject asked, the surest first."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from asct.disturbances import (
    clocks,
    clocksource,
    heat,
    idle,
    interrupts,
    limits,
    load,
    memory,
    observing,
    storage,
    tools,
)
from asct.disturbances.build import Found, Look, Wanted
from asct.disturbances.sample import Sample
from asct.sdk.disturbance import CERTAINTIES, Disturbance, Disturbances, Unseen
from asct.sdk.facts import HostFacts

SUBJECTS: Final[tuple[Callable[[Look], Found], ...]] = (
    load.look, limits.look, heat.look, clocks.look, idle.look, interrupts.look, clocksource.look, memory.look,
    storage.look, tools.look, observing.look,
)  # fmt: skip


def assess(facts: HostFacts, sample: Sample | None = None, wanted: Wanted | None = None) -> Disturbances:
    """What disturbs measurement on a host, and what could not be judged. Pure; what is unknown gives no finding."""
    seen = Look(facts, sample, wanted)
    said = [item for subject in SUBJECTS for item in subject(seen)]
    found = [item for item in said if isinstance(item, Disturbance)]
    return Disturbances(
        host=facts.host,
        findings=sorted(found, key=lambda item: CERTAINTIES.index(item.sure)),
        unseen=[item for item in said if isinstance(item, Unseen)],
    )
