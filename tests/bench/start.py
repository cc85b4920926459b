"""`make bench-start`: compare the duration of commands that a user waits for with that of bare Python and with another
checkout.

Each command runs ten times, interleaved with the others so that a disturbance affects all of them. `BASE` names the
`asct` program of another checkout (`BASE=path/.venv/bin/asct`); the ratio to it is then printed as well.
"""

from __future__ import annotations

import os
import statistics
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path

from tests.bench.harness import large_plan
from tests.bench.measure import Cost, command, rounds

ROUNDS = 10
SMALL = "plan: 1\nname: small\nbenchmarks: [latency-sweep, storage-io-depth-sweep]\n"
TAB = {"_ASCT_COMPLETE": "bash_complete", "COMP_WORDS": "asct run lat", "COMP_CWORD": "2"}


def commands(folder: Path) -> dict[str, tuple[list[str], dict[str, str]]]:
    """Return the arguments and environment of each command, by the name to print."""
    (folder / "small.yaml").write_text(SMALL)
    (folder / "large.yaml").write_text(large_plan())
    return {
        "version": (["version"], {}),
        "--help": (["--help"], {}),
        "list": (["list"], {}),
        "explain latency-sweep": (["explain", "latency-sweep"], {}),
        "TAB after `asct run lat`": ([], TAB),
        "check, small plan": (["check", str(folder / "small.yaml")], {}),
        "check, 10,000 points": (["check", str(folder / "large.yaml")], {}),
    }


def main() -> int:
    """Print the median, minimum and maximum of every command in ms, and its ratio to bare Python and to BASE."""
    base = os.environ.get("BASE")
    with tempfile.TemporaryDirectory(prefix="asct-bench-") as folder:
        cases = commands(Path(folder))
        subjects: list[Callable[[], Cost]] = [lambda: command([sys.executable, "-c", "pass"])]
        for program in filter(None, (str(Path(sys.executable).with_name("asct")), base)):
            for arguments, environment in cases.values():
                subjects.append(_timed([program, *arguments], environment))
        for subject in subjects:  # warm up the caches of files and compiled modules
            subject()
        bare, *costs = ([cost.wall_s * 1e3 for cost in series] for series in rounds(ROUNDS, *subjects))
    print(f"{'':<26}{'median':>8}{'min':>8}{'max':>8} ms   to bare Python{'   to BASE' if base else ''}")
    middle = statistics.median(bare)
    _row("bare Python", bare, "")
    for place, name in enumerate(cases):
        ratio = f"{statistics.median(costs[place]) / middle:14.1f}"
        if base:
            ratio += f"{statistics.median(costs[place]) / statistics.median(costs[len(cases) + place]):13.2f}"
        _row(name, costs[place], ratio)
    return 0


def _timed(arguments: list[str], environment: dict[str, str]) -> Callable[[], Cost]:
    return lambda: command(arguments, environment=environment)


def _row(name: str, milliseconds: list[float], ratio: str) -> None:
    middle, least, most = statistics.median(milliseconds), min(milliseconds), max(milliseconds)
    print(f"{name:<26}{middle:8.0f}{least:8.0f}{most:8.0f}   {ratio}", flush=True)


if __name__ == "__main__":
    sys.exit(main())
