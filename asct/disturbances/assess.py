"""All findings on a host, from all subjects, most certain first."""

from __future__ import annotations

from typing import Final

from asct.disturbances import clocks, interrupts, load, memory, storage, tools
from asct.disturbances.build import DisturbanceRule, MeasuredScope, RuleInput
from asct.disturbances.sample import ActivitySample
from asct.sdk.disturbance import CERTAINTIES, Disturbance, Disturbances, Unseen
from asct.sdk.facts import HostFacts

RULES: Final = tuple(
    rule
    for subject in (load, clocks, interrupts, memory, storage, tools)
    for rule in vars(subject).values()
    if isinstance(rule, DisturbanceRule)
)
"""In the order of the files."""


def assess(facts: HostFacts, sample: ActivitySample | None = None, wanted: MeasuredScope | None = None) -> Disturbances:
    """Disturbances on a host, and checks that were not possible. Pure; unknown facts give no finding."""
    seen = RuleInput(facts, sample, wanted)
    said = [item for rule in RULES for item in rule(seen)]
    found = [item for item in said if isinstance(item, Disturbance)]
    return Disturbances(
        host=facts.host,
        findings=sorted(found, key=lambda item: CERTAINTIES.index(item.sure)),
        unseen=[item for item in said if isinstance(item, Unseen)],
    )
