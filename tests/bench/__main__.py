"""Run every benchmark, or those whose names contain one of the words given as arguments."""

from __future__ import annotations

import sys

from tests.bench import harness, latency, page
from tests.bench.table import run

if __name__ == "__main__":
    sys.exit(run({**harness.FIGURES, **latency.FIGURES, **page.FIGURES}, sys.argv[1:]))
