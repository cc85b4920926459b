"""Run every row, or those whose names contain one of the words given as arguments."""

from __future__ import annotations

import sys
from collections.abc import Callable

from tests.bench.storage import agreement, cost, coverage, qualification, reading
from tests.bench.table import machine, note, run

ROWS: dict[str, Callable[[], None]] = {
    **agreement.ROWS,
    **cost.ROWS,
    **coverage.ROWS,
    **reading.ROWS,
    **qualification.ROWS,
}

if __name__ == "__main__":
    note(machine())
    sys.exit(run(ROWS, sys.argv[1:]))
