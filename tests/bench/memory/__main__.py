"""Runs every row, or those whose name contains one of the words given."""

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
        note(f"{name} is not there (Debian: likwid sysbench mbw): its columns are left out")
    return run(ROWS, sys.argv[1:])


if __name__ == "__main__":
    sys.exit(main())
