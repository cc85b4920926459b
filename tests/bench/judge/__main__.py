"""Run every row, or those whose names contain one of the words given as arguments."""

from __future__ import annotations

import sys

from tests.bench.judge import live, replayed, simulated
from tests.bench.table import machine, note, run

ROWS = {**simulated.ROWS, **replayed.ROWS, **live.ROWS}

if __name__ == "__main__":
    note(machine())
    sys.exit(run(ROWS, sys.argv[1:]))
