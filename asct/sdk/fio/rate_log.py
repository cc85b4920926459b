"""Read fio's rate log (`write_iops_log`): the operations per second in successive intervals of one run."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from typing import Final

_DIRECTIONS: Final = {"0": "read", "1": "write"}


def read_rates(text: str, interval_ms: int, jobs: int) -> Mapping[str, Sequence[float]]:
    """Operations per second of all jobs together, per interval: by `read`, `write`, and `` for both.

    A line is `time_ms, rate, direction, ...`, one per job, direction and interval, the jobs one after another.
    A job that did nothing in an interval has no line for it ("no entries for interval", fio's stat.c): it counts as 0,
    or a drive that stalls would look steady. The last interval is left out unless all jobs report it, since it may be
    broken off; so are intervals with a line too many and their short neighbours (logged late), and lines that do not
    read.
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
    reported = {index for rates in sums.values() for index in rates}
    span = range(min(reported, default=0), max(reported, default=-1) + 1)
    series = {
        name: {index: rates[index] for index in span if _is_whole(counts[name], index, jobs, last=span[-1])}
        for name, rates in sums.items()
    }
    whole = set.intersection(*(set(rates) for rates in series.values())) if series else set()
    result = {name: list(rates.values()) for name, rates in series.items()}
    result[""] = [sum(rates[index] for rates in series.values()) for index in sorted(whole)]
    return result


def _is_whole(lines: Mapping[int, int], index: int, jobs: int, last: int) -> bool:
    """Whether the interval has a line of every job, or lacks those of jobs that did nothing."""
    near = max(lines.get(index - 1, 0), lines.get(index + 1, 0))
    return lines.get(index, 0) == jobs or (lines.get(index, 0) < jobs and index < last and near <= jobs)
