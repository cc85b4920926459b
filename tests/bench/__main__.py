"""Runs every figure, or those whose name contains one of the words given."""

from __future__ import annotations

import sys

from tests.bench import harness, latency


def main() -> int:
    """Print the figures; a figure that cannot be taken is said and makes the exit code 1."""
    words = sys.argv[1:]
    failed = 0
    for name, figure in {**harness.FIGURES, **latency.FIGURES}.items():
        if words and not any(word in name for word in words):
            continue
        try:
            figure()
        except (RuntimeError, OSError) as problem:
            failed += 1
            print(f"{name}: could not be taken: {problem}", flush=True)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
