"""Run every benchmark, or those whose names contain one of the words given as arguments."""

from __future__ import annotations

import sys

from tests.bench import harness, latency, page


def main() -> int:
    """Print the figures. If a figure cannot be measured, the reason is reported and the exit code is 1."""
    words = sys.argv[1:]
    failed = 0
    for name, figure in {**harness.FIGURES, **latency.FIGURES, **page.FIGURES}.items():
        if words and not any(word in name for word in words):
            continue
        try:
            figure()
        except (RuntimeError, OSError) as problem:
            failed += 1
            print(f"{name}: could not be measured: {problem}", flush=True)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
