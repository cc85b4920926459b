"""The gate on runs of this machine: every run is judged against every earlier one as its baseline."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from functools import cache
from itertools import combinations
from pathlib import Path

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
LIMITS = (0.0, 0.03, 0.05, 0.10)
CHANGES = (0.03, 0.05, 0.10)
APART = 25
"""Changes are looked for in pairs of runs this far apart, so that each pair has other runs."""
Values = Mapping[BaselineKey, MetricGroup]


def false_alarms() -> None:
    """Print the share of unchanged runs that fail, for several values of `no_worse_than`, with the values that fail."""
    pairs = list(combinations(_recorded(), 2))
    for limit in LIMITS:
        failing = [_regressed(base, new, limit) for base, new in pairs]
        share = sum(map(bool, failing)) / len(pairs)
        goal = Goal("at most 1 %", share <= 0.01)
        row(f"false alarms of {len(pairs)} pairs, limit {limit:.0%}", "%", 100 * share, 100 * share, goal=goal)
        for name, count in Counter(key[1:3] for keys in failing for key in keys).most_common(5):
            note(f"  {'.'.join(name)}: {100 * count / len(pairs):.2f} %")


def power() -> None:
    """Print a table in Markdown: the share of runs in which the gate finds a change that is multiplied into one value,
    for a limit of 0 %."""
    runs = _recorded()
    pairs = list(zip(runs[:APART], runs[APART:], strict=False))
    print(f"| value | {' | '.join(f'{change:.0%}' for change in CHANGES)} |")
    print(f"|---|{'---|' * len(CHANGES)}")
    for key in dict.fromkeys(key for run in runs for key in run):
        both = [(base, new) for base, new in pairs if key in base and key in new]
        shares = []
        for change in CHANGES:
            found = [key in _regressed(base, {**new, key: _worsened(new[key], change)}, 0.0) for base, new in both]
            shares.append(f"{100 * sum(found) / len(found):.0f} %")
        place = "".join(f", {name} {value}" for name, value in key[3])
        print(f"| {key[1]}.{key[2]}{place} | {' | '.join(shares)} |", flush=True)


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
    groups = gather(read_run(folder).records())
    return {key_of(group): group for group in groups if group.records[0].better != "neither"}


def _regressed(base: Values, new: Values, limit: float) -> list[BaselineKey]:
    keys = [key for key in new if key in base]
    changes = adjusted([compare(base[key], new[key], limit) for key in keys])
    return [key for key, change in zip(keys, changes, strict=True) if change.outcome == "regressed"]


def _worsened(group: MetricGroup, change: float) -> MetricGroup:
    """Return the value as if the machine were slower by `change`."""
    factor = 1.0 + change if group.records[0].better == "lower" else 1.0 / (1.0 + change)
    return replace(group, records=tuple(_scaled(group.records, factor)))


def _scaled(records: Iterable[Record], factor: float) -> Iterable[Record]:
    for record in records:
        stats = record.stats and record.stats.scaled(factor)
        yield record.model_copy(update={"value": record.value * factor, "stats": stats})


ROWS: dict[str, Callable[[], None]] = {"replayed-alarms": false_alarms, "replayed-power": power}
