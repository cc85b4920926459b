"""Detection of disturbances on a host: the function `assess`, one module of rules per subject, and the script that
fixes disturbances.

All functions are pure.
"""

from __future__ import annotations

from typing import Final

from asct.disturbances import cpus, load, memory, storage, tools
from asct.disturbances.build import DisturbanceRule, MeasuredScope, RuleInput
from asct.disturbances.sample import ActivitySample
from asct.sdk.disturbance import CERTAINTIES, Disturbance, Disturbances, Unseen
from asct.sdk.facts import HostFacts

RULES: Final = tuple(
    rule
    for subject in (load, cpus, memory, storage, tools)
    for rule in vars(subject).values()
    if isinstance(rule, DisturbanceRule)
)
"""All rules, in the order in which they are defined."""


def assess(facts: HostFacts, sample: ActivitySample | None = None, scope: MeasuredScope | None = None) -> Disturbances:
    """Return the disturbances on a host, most certain first, and the conditions that could not be checked.

    Unknown facts cause no findings.
    """
    host = RuleInput(facts, sample or ActivitySample(), scope)
    results = [item for rule in RULES for item in rule(host)]
    findings = [item for item in results if isinstance(item, Disturbance)]
    return Disturbances(
        host=facts.host,
        findings=sorted(findings, key=lambda item: CERTAINTIES.index(item.sure)),
        unseen=[item for item in results if isinstance(item, Unseen)],
    )
