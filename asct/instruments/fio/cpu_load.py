"""Read mpstat's JSON (sysstat 12) and average the part that lies inside fio's run.

mpstat stamps each row with the whole second it ended in, so a row of 12:00:07 covers an interval (1 s, more in long
runs) that ends somewhere in 12:00:07. The rows are percentages of time: of all online CPUs, and of those that the jobs
are bound to.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any, Final

KINDS: Final = ("usr", "sys", "iowait", "irq", "soft")
ENOUGH_ROWS: Final = 3
_BUSY: Final = ("usr", "nice", "sys", "irq", "soft", "steal", "guest", "gnice")
"""What a job cannot have; a CPU that the hypervisor gave to others is as little there as one that works."""


@dataclass(frozen=True, slots=True)
class Row:
    """One interval: percent of time by kind, of all online CPUs and of those in use, and the busiest of the latter."""

    second: int
    load: Mapping[str, float]
    used: Mapping[str, float]
    busiest: float


@dataclass(frozen=True, slots=True)
class CpuLoad:
    """The mean over `rows` rows."""

    load: Mapping[str, float]
    used: Mapping[str, float]
    busiest: float
    rows: int


def read_rows(text: str, used: Sequence[int] = ()) -> Sequence[Row]:
    """The rows of `mpstat -o JSON -P ALL` written with S_TIME_FORMAT=ISO and TZ=UTC0, as seconds since the epoch.

    `used` are the CPUs in use; empty: all of them. Raises ValueError for anything else (mpstat leaves an unfinished
    document when it is not ended by SIGINT, or within its first second).
    """
    try:
        host = json.loads(text)["sysstat"]["hosts"][0]
        day = datetime.fromisoformat(host["date"]).replace(tzinfo=UTC)
        rows: list[Row] = []
        for sample in host["statistics"]:
            if "cpu-load" not in sample:
                continue
            moment = day + _time_of_day(sample["timestamp"])
            if rows and moment.timestamp() < rows[-1].second:  # the date is that of the start
                day, moment = day + timedelta(days=1), moment + timedelta(days=1)
            rows.append(_row(int(moment.timestamp()), sample["cpu-load"], {str(cpu) for cpu in used}))
    except (ValueError, KeyError, TypeError, IndexError, AttributeError, OverflowError, RecursionError) as error:
        raise ValueError(f"not a whole JSON document of mpstat: {error!r}") from None
    return rows


def _time_of_day(text: str) -> timedelta:
    moment = datetime.strptime(text, "%H:%M:%S").replace(tzinfo=UTC)
    return timedelta(hours=moment.hour, minutes=moment.minute, seconds=moment.second)


def _row(second: int, cpus: Sequence[Mapping[str, Any]], used: set[str]) -> Row:
    together = next((cpu for cpu in cpus if cpu["cpu"] == "all"), {})
    single = [cpu for cpu in cpus if cpu["cpu"] != "all" and (not used or cpu["cpu"] in used)]
    return Row(
        second=second,
        load={kind: float(together[kind]) for kind in KINDS},
        used={kind: sum(float(cpu[kind]) for cpu in single) / len(single) for kind in KINDS} if single else {},
        busiest=max((sum(float(cpu.get(kind, 0.0)) for kind in _BUSY) for cpu in single), default=0.0),
    )


def load_within(rows: Sequence[Row], start_s: float, end_s: float, interval_s: int = 1) -> CpuLoad | None:
    """The mean of the rows inside the window, or of the nearest row if none fits; None without any overlap.

    Rows that surely lie inside are taken when there are ENOUGH_ROWS of them. In a short run the fraction of the second
    is assumed to be one half.
    """
    chosen = [row for row in rows if row.second - interval_s >= start_s and row.second + 1 <= end_s]
    if len(chosen) < ENOUGH_ROWS:
        chosen = [row for row in rows if row.second + 0.5 - interval_s >= start_s and row.second + 0.5 <= end_s]
    if not chosen:
        nearest = max(rows, key=lambda row: _overlap(row, start_s, end_s, interval_s), default=None)
        if nearest is None or _overlap(nearest, start_s, end_s, interval_s) <= 0:
            return None
        chosen = [nearest]
    count = len(chosen)
    return CpuLoad(
        load={kind: sum(row.load[kind] for row in chosen) / count for kind in KINDS},
        used={kind: sum(row.used[kind] for row in chosen) / count for kind in chosen[0].used},
        busiest=sum(row.busiest for row in chosen) / count,
        rows=count,
    )


def _overlap(row: Row, start_s: float, end_s: float, interval_s: int) -> float:
    """Seconds of the row inside the window, its fraction of a second assumed to be one half."""
    return min(row.second + 0.5, end_s) - max(row.second + 0.5 - interval_s, start_s)
