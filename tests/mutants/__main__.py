"""Apply each mutation in mutations.yaml to a copy of the tree, run the fast tests listed with it, and print a table.

The exit code is nonzero if the tests fail without a mutation, if the text of a mutation does not occur exactly once, or
if less than LEAST of the mutations are detected.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from queue import Queue

import yaml

ROOT = Path(__file__).resolve().parents[2]
NEEDED = ("asct", "kernels", "plans", "results_schema", "templates", "tests", "docs", "pyproject.toml", "README.md")
LEAST = 55 / 60
LONGEST_S = 300.0
"""Time limit in seconds: a mutation counts as detected if the tests take longer."""


@dataclass(frozen=True, slots=True)
class Mutant:
    """One mutation: `old` in `file` becomes `new`."""

    file: str
    old: str
    new: str
    why: str
    tests: tuple[str, ...]

    def problem(self) -> str:
        """Return the reason why the mutation cannot be applied; empty if it can."""
        count = (ROOT / self.file).read_text(encoding="utf-8").count(self.old) if (ROOT / self.file).is_file() else 0
        return "" if count == 1 and self.old != self.new else f"{self.file}: {count} times: {self.old}"


def declared() -> list[Mutant]:
    """Return all mutations in mutations.yaml."""
    groups = yaml.safe_load(Path(__file__).with_name("mutations.yaml").read_text(encoding="utf-8"))
    return [Mutant(**one, tests=tuple(group["tests"])) for group in groups for one in group["mutations"]]


def copied(folder: Path) -> Path:
    """Return a copy of the files that the tests need."""
    for name in NEEDED:
        source = ROOT / name
        (shutil.copytree if source.is_dir() else shutil.copy2)(source, folder / name)
    return folder


def passes(tree: Path, tests: Sequence[str]) -> bool:
    """Return whether those of the given tests that are fast pass in a tree."""
    command = [
        sys.executable,
        "-m",
        "pytest",
        "-q",
        "-x",
        "-n",
        "0",
        "-p",
        "no:cacheprovider",
        "--tier",
        "fast",
        *tests,
    ]
    environment = {**os.environ, "PYTHONPATH": str(tree)}
    try:
        done = subprocess.run(command, cwd=tree, env=environment, capture_output=True, check=False, timeout=LONGEST_S)
    except subprocess.TimeoutExpired:
        return False
    return done.returncode == 0


@contextmanager
def made(tree: Path, mutant: Mutant) -> Iterator[None]:
    """Apply the mutation to a tree until the block ends."""
    path = tree / mutant.file
    text = path.read_text(encoding="utf-8")
    path.write_text(text.replace(mutant.old, mutant.new), encoding="utf-8")
    try:
        yield
    finally:
        path.write_text(text, encoding="utf-8")


def main() -> int:
    """Run the command. If there are arguments, only mutations of files whose paths contain one of them are applied."""
    mutants = [one for one in declared() if not sys.argv[1:] or any(word in one.file for word in sys.argv[1:])]
    if problems := [text for one in mutants if (text := one.problem())]:
        print("These texts do not occur exactly once:", *problems, sep="\n  ")
        return 2
    workers = len(os.sched_getaffinity(0))
    with tempfile.TemporaryDirectory(prefix="asct-mutants-") as name, ThreadPoolExecutor(workers) as pool:
        trees: Queue[Path] = Queue()
        for number in range(workers):
            trees.put(copied(Path(name) / str(number)))

        def noticed(tests: Sequence[str], mutant: Mutant | None = None) -> tuple[bool, float]:
            tree, begun = trees.get(), time.monotonic()
            try:
                if mutant is None:
                    return not passes(tree, tests), time.monotonic() - begun
                with made(tree, mutant):
                    return not passes(tree, tests), time.monotonic() - begun
            finally:
                trees.put(tree)

        whole = list(dict.fromkeys(one.tests for one in mutants))
        broken = [tests for tests, (failed, _) in zip(whole, pool.map(noticed, whole), strict=True) if failed]
        if broken:
            print("These tests fail without any mutation:", *(" ".join(tests) for tests in broken), sep="\n  ")
            return 2
        results = pool.map(lambda one: noticed(one.tests, one), mutants)
        caught = 0
        for mutant, (seen, seconds) in zip(mutants, results, strict=True):
            caught += seen
            print(f"{'caught' if seen else 'MISSED':7} {seconds:5.1f} s  {mutant.file}: {mutant.why}", flush=True)
    print(f"{caught} of {len(mutants)} caught")
    return 0 if caught >= LEAST * len(mutants) else 1


if __name__ == "__main__":
    sys.exit(main())
