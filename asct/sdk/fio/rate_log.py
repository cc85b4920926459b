"""Read fio's rate log (`write_iops_log`): the operations per second in successive intervals of one run."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from typing import Final

_DIRECTIONS: Final = {"0": "read", "1": "write"}


def read_rates(text: str, interval_ms: int, jobs: int) -> Mapping[str, Sequence[float]]:
    """Operations per second of all jobs together, per interval: by `read`, `write`, and `` for both.

    A line is `time_ms, rate, direction, ...`, one per job, direction and interval, the jobs one after another.
    Intervals that not all jobs report (the last, broken one) are left out, as is every line that does not read.
    """
    sums: dict[str, dict[int, float]] = defaultdict(lambda: defaultdict(float))
    counts: dict[str, dict[int, int]] = defaultdict(lambda: defaultdict(int))
    for line in text.splitlines():
        parts = [part.strip() for part in line.split(",")]
        if len(parts) < 3 or parts[2] not in _DIRECTIONS or not (parts[0].isdecimal() and parts[1].isdecimal()):
            continue
        name, index = _DIRECTIONS[parts[2]], round(int(parts[0]) / interval_ms)
        sums[name][index] += int(parts[1])
        counts[name][index] += 1
    series = {
        name: {index: rate for index, rate in sorted(rates.items()) if counts[name][index] == jobs}
        for name, rates in sums.items()
    }
    whole = set.intersection(*(set(rates) for rates in series.values())) if series else set()
    result = {name: list(rates.values()) for name, rates in series.items()}
    result[""] = [sum(rates[index] for rates in series.values()) for index in sorted(whole)]
    return result
