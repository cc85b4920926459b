"""The gate on simulated visits: false alarms, and the share of changes that it finds."""

from __future__ import annotations

import random
from collections.abc import Callable
from itertools import product

from asct.analysis.comparison import Change, adjusted, compare
from tests.analysis.sampled import NOISES, SPREAD, Noise, correlated, draw, sampled
from tests.bench.table import Goal, row

VISITS = (5, 8, 12, 20)
REPEATS = (2, 3)
"""Numbers of repeats per run; each repeat has eight visits."""
UNCHANGED = (1, 5)
"""Numbers of unchanged runs, including the base. With five or more, each visit is a separate sample."""
CHANGES = (0.03, 0.05, 0.10)
VALUES = 16
"""Number of values per gate; one of them changes."""
ALARM_GATES = 4000
POWER_GATES = 400
_FALSE = 0.012
_SEED = "gates"


def false_alarms() -> None:
    """Print the share of gates that fail although both runs draw their visits from the same distribution."""
    for noise in NOISES:
        share = _share(noise, 8, 0.0, ALARM_GATES)
        goal = Goal("at most 1.2 %", share <= _FALSE)
        row(f"false alarms, {noise}, limit 0 %", "%", 100 * share, 100 * share, goal=goal)


def repeated_alarms() -> None:
    """Print the same for runs with several repeats, which differ as much as the visits of one repeat."""
    for noise, repeats, runs in product(NOISES, REPEATS, UNCHANGED):
        rng = random.Random(f"{_SEED} {noise} {repeats} repeats {runs} runs")
        share = sum(_fails_by_repeats(noise, repeats, runs, rng) for _ in range(POWER_GATES)) / POWER_GATES
        name = f"false alarms, {noise}, {repeats} repeats, {runs} unchanged, limit 0 %"
        row(name, "%", 100 * share, 100 * share, goal=Goal("at most 1.2 %", share <= _FALSE))


def _fails_by_repeats(noise: Noise, repeats: int, runs: int, rng: random.Random) -> bool:
    def change() -> Change:
        base, *others, new = (correlated(noise, repeats, 8, rng) for _ in range(runs + 1))
        return compare(base, new, 0.0, [item.value for item in (base, *others)])

    return any(item.outcome == "regressed" for item in adjusted([change() for _ in range(VALUES)]))


def power() -> None:
    """Print a Markdown table with the share of gates that find one changed value among 16, by noise, change and number
    of visits."""
    print(f"| noise of a visit | change | {' | '.join(f'{visits} visits' for visits in VISITS)} |")
    print(f"|---|---|{'---|' * len(VISITS)}")
    for noise in NOISES:
        for change in CHANGES:
            found = [_share(noise, visits, change, POWER_GATES) for visits in VISITS]
            cells = " | ".join(f"{100 * share:.0f} %" for share in found)
            print(f"| {noise}, {SPREAD:.0%} | {change:.0%} | {cells} |", flush=True)


def _share(noise: Noise, visits: int, change: float, gates: int) -> float:
    rng = random.Random(f"{_SEED} {noise} {visits} {change}")
    return sum(_fails(noise, visits, change, rng) for _ in range(gates)) / gates


def _fails(noise: Noise, visits: int, change: float, rng: random.Random) -> bool:
    def visited(factor: float) -> list[float]:
        return [factor * (1.0 + draw(noise, SPREAD, rng)) for _ in range(visits)]

    pairs = [(visited(1.0), visited(1.0 + change * (number == 0))) for number in range(VALUES)]
    changes = adjusted([compare(sampled(base), sampled(new), 0.0) for base, new in pairs])
    return any(item.outcome == "regressed" for item in (changes[:1] if change else changes))


ROWS: dict[str, Callable[[], None]] = {
    "simulated-alarms": false_alarms, "simulated-repeats": repeated_alarms, "simulated-power": power,
}  # fmt: skip
