"""The gate applied to runs on this machine: later runs are judged against earlier ones."""

from __future__ import annotations

import os
import random
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import NamedTuple

from asct.analysis.baseline import BaselineKey, key_of
from asct.analysis.comparison import adjusted, compare
from asct.analysis.groups import MetricGroup, gather
from asct.sdk.record import Record
from asct.store.reader import read_run
from tests.bench.harness import scratch
from tests.bench.judge.runs import apply
from tests.bench.storage.subjects import limited
from tests.bench.table import Goal, note, row

RUNS = 50
IOPS = 4000
UNCHANGED = (1, 3, 5, 10, 20)
LIMITS = (0.0, 0.03, 0.05)
CHANGES = (0.03, 0.05, 0.10)
TRIALS = 200
_SEED = 50
Values = Mapping[BaselineKey, MetricGroup]


class _Trial(NamedTuple):
    """Unchanged runs, of which the last is the baseline, and two later runs: the judged one and its repetition."""

    unchanged: Sequence[Values]
    first: Values
    second: Values


def false_alarms() -> None:
    """Print the share of unchanged runs that fail, by the number of unchanged runs and by `no_worse_than`, with the
    values that fail most often."""
    for limit in LIMITS:
        for count in UNCHANGED:
            failing = [_failing(trial, limit) for trial in _trials(count)]
            share = sum(map(bool, failing)) / len(failing)
            name = f"false alarms, {count} unchanged, limit {limit:.0%}"
            row(name, "%", 100 * share, 100 * share, goal=Goal("at most 1 %", share <= 0.01))
            for place, times in Counter(key[1:3] for keys in failing for key in keys).most_common(3):
                note(f"  {'.'.join(place)}: {100 * times / len(failing):.2f} %")


def power() -> None:
    """Print a Markdown table with the share of runs in which the gate finds a change, for ten unchanged runs and a
    limit of 0 %. To simulate the change, one value is multiplied by a factor."""
    trials = _trials(10)[: TRIALS // 4]
    print(f"| value | {' | '.join(f'{change:.0%}' for change in CHANGES)} |")
    print(f"|---|{'---|' * len(CHANGES)}")
    for key in dict.fromkeys(key for trial in trials for key in trial.first):
        shares = [_found(key, change, trials) for change in CHANGES]
        place = "".join(f", {name} {value}" for name, value in key[3])
        print(f"| {key[1]}.{key[2]}{place} | {' | '.join(f'{100 * share:.0f} %' for share in shares)} |", flush=True)


def _found(key: BaselineKey, change: float, trials: Iterable[_Trial]) -> float:
    able = [trial for trial in trials if key in trial.unchanged[-1] and key in trial.first and key in trial.second]
    worse = (
        trial._replace(
            first={**trial.first, key: _worsened(trial.first[key], change)},
            second={**trial.second, key: _worsened(trial.second[key], change)},
        )
        for trial in able
    )
    return sum(key in _failing(trial, 0.0) for trial in worse) / len(able) if able else 0.0


def _trials(count: int) -> list[_Trial]:
    rng, runs = random.Random(f"{_SEED} {count}"), _recorded()
    found = []
    for _ in range(TRIALS):
        base = rng.randrange(count - 1, len(runs) - 2)
        new = rng.randrange(base + 1, len(runs) - 1)
        found.append(_Trial(runs[base + 1 - count : base + 1], runs[new], runs[new + 1]))
    return found


@cache
def _recorded() -> list[Values]:
    """Return the values of the runs in $RUNS, or of new ones."""
    results = Path(os.environ["RUNS"]) if "RUNS" in os.environ else scratch()
    if not (results / "judge").is_dir():
        with limited(64, riops=IOPS) as (loop, _):
            for _ in range(RUNS):
                apply(results, loop.path)
        note(f"recorded {RUNS} runs in {results}; RUNS={results} replays them")
    folders = sorted(item for item in (results / "judge").iterdir() if (item / "run.json").is_file())
    return [_values(folder) for folder in folders if not folder.is_symlink()]


def _values(folder: Path) -> Values:
    groups = gather(read_run(folder).looks()[0])
    return {key_of(group): group for group in groups if group.records[0].better != "neither"}


def _failing(trial: _Trial, limit: float) -> set[BaselineKey]:
    """Return the values that regressed in the judged run and, tested alone, in its repetition."""
    suspects = _regressed(trial.unchanged, trial.first, trial.first, limit)
    return _regressed(trial.unchanged, trial.second, suspects, limit)


def _regressed(
    unchanged: Sequence[Values], new: Values, keys: Collection[BaselineKey], limit: float
) -> set[BaselineKey]:
    base = unchanged[-1]
    both = [key for key in keys if key in base and key in new]
    spreads = [[run[key].value for run in unchanged if key in run and run[key].value > 0.0] for key in both]
    raw = [
        replace(compare(base[key], new[key], limit, spread), gate=True)
        for key, spread in zip(both, spreads, strict=True)
    ]
    return {key for key, change in zip(both, adjusted(raw), strict=True) if change.outcome == "regressed"}


def _worsened(group: MetricGroup, change: float) -> MetricGroup:
    """Return the value that a machine slower by `change` would yield."""
    factor = 1.0 + change if group.records[0].better == "lower" else 1.0 / (1.0 + change)
    return replace(group, records=tuple(_scaled(group.records, factor)))


def _scaled(records: Iterable[Record], factor: float) -> Iterable[Record]:
    for record in records:
        stats = record.stats and record.stats.scaled(factor)
        yield record.model_copy(update={"value": record.value * factor, "stats": stats})


ROWS: dict[str, Callable[[], None]] = {"replayed-alarms": false_alarms, "replayed-power": power}
