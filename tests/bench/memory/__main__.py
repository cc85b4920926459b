"""Runs every row, or those whose name contains one of the words given."""

from __future__ import annotations

import sys
from collections.abc import Callable

from tests.bench.memory import bandwidth, latency, sharing, whole
from tests.bench.memory.peers import missing
from tests.bench.memory.table import machine, note

ROWS: dict[str, Callable[[], None]] = {**latency.ROWS, **bandwidth.ROWS, **sharing.ROWS, **whole.ROWS}


def main() -> int:
    """Print the rows; one that cannot be measured is said and makes the exit code 1."""
    words = sys.argv[1:]
    note(machine())
    for name in missing():
        note(f"{name} is not there (Debian: likwid sysbench mbw): its columns are left out")
    failed = 0
    for name, row in ROWS.items():
        if words and not any(word in name for word in words):
            continue
        try:
            row()
        except (RuntimeError, OSError, LookupError) as problem:
            failed += 1
            note(f"{name}: could not be measured: {problem}")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
