"""The rate of the drives while a program runs below guard, from the samples that guard prints."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Sequence
from typing import Final

_SAMPLE: Final = '{"t":"sample"'
_EVERY_S: Final = 1.0
_COUNTERS: Final = 4

Rates = tuple[float, float, float, float]
"""Reads a second, bytes read a second, writes a second, bytes written a second."""
_Sample = tuple[int, list[list[int] | None]]


class RateFeed:
    """Hears guard's lines; `tell` hears the rates of all drives together, once a second at most."""

    def __init__(self, tell: Callable[[Rates], None]) -> None:
        self._tell = tell
        self._base: _Sample | None = None
        self._due = 0.0

    def __call__(self, line: str) -> None:
        """One line of guard's standard output; one that is no sample, or none that can be read, is passed over."""
        if not line.startswith(_SAMPLE) or time.monotonic() < self._due:
            return
        try:
            body = json.loads(line)
            sample = (int(body["mono_ns"]), list(body["devices"]))
            rates = _between(self._base, sample) if self._base is not None else None
        except (ValueError, LookupError, TypeError):
            return
        self._base, self._due = sample, time.monotonic() + _EVERY_S
        if rates is not None:
            self._tell(rates)


def _between(before: _Sample, after: _Sample) -> Rates | None:
    """The rates from one sample to the next; None without time between them, or without a drive that is known."""
    seconds = (after[0] - before[0]) / 1e9
    pairs = {
        (tuple(old[:_COUNTERS]), tuple(new[:_COUNTERS]))
        for old, new in zip(before[1], after[1], strict=True)
        if old is not None and new is not None
    }  # two targets on one drive have the same counters
    if seconds <= 0 or not pairs:
        return None
    reads, read_bytes, writes, written = (sum(_rise(pair, place) for pair in pairs) for place in range(_COUNTERS))
    return reads / seconds, read_bytes / seconds, writes / seconds, written / seconds


def _rise(pair: tuple[Sequence[int], Sequence[int]], place: int) -> int:
    return max(0, pair[1][place] - pair[0][place])
