"""Run every row, or those whose names contain one of the words given as arguments."""

from __future__ import annotations

import sys
from collections.abc import Callable

from tests.bench.memory import bandwidth, coverage, latency, sharing, whole
from tests.bench.memory.peers import missing
from tests.bench.table import machine, note, run

ROWS: dict[str, Callable[[], None]] = {**latency.ROWS, **bandwidth.ROWS, **sharing.ROWS, **whole.ROWS, **coverage.ROWS}


def main() -> int:
    """Print the rows."""
    note(machine())
    for name in missing():
        note(f"{name} is not installed (Debian: likwid sysbench mbw); its columns are omitted")
    return run(ROWS, sys.argv[1:])


if __name__ == "__main__":
    sys.exit(main())
