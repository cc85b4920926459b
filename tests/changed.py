"""Run the part of the slow tier that `.ci/run` runs: the tests required by the changes since the recorded commit, and a
slice of all others.

`python -m tests.changed --seconds 900` runs the tests; `python -m tests.changed --record` records the current commit.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import time
from pathlib import Path

from tests.tiers import GROUPS, SLICES, called_by

ROOT = Path(__file__).resolve().parents[1]
RECORD = ROOT / ".ci" / "passed"
"""The file that contains the last commit that passed `make test-all`."""
GRACE_S = 900
"""Seconds that the running tests get to finish after the time at which no further test may start."""
_NO_TESTS = 5


def git(*words: str) -> str:
    """Return the output of git, or an empty string if git fails, for example in a copy without history."""
    done = subprocess.run(["git", *words], cwd=ROOT, capture_output=True, text=True, check=False)
    return done.stdout.strip() if done.returncode == 0 else ""


def changed_since(commit: str) -> list[str] | None:
    """Return the paths in the work tree that differ from a commit, or None if the history does not contain it."""
    if not commit or not git("rev-parse", "--verify", "--quiet", f"{commit}^{{commit}}"):
        return None
    return git("diff", "--name-only", "--no-renames", commit).splitlines()


def number() -> int:
    """Return the number that determines the slice: the number of commits or, in a shallow clone, the start of the
    commit's hash."""
    if git("rev-parse", "--is-shallow-repository") == "false":
        return int(git("rev-list", "--count", "HEAD") or 0)
    return int(git("rev-parse", "HEAD")[:8] or "0", 16)


def run(seconds: float) -> int:
    """Run the selected tests and return the exit code."""
    until = time.time() + seconds
    commit = RECORD.read_text().strip() if RECORD.exists() else ""
    changed = changed_since(commit)
    if changed is None:
        groups = [group.name for group in GROUPS]
        print(f"The commit recorded in .ci/passed ({commit or 'none'}) is not in the history: run all groups.")
    else:
        groups = called_by(changed)
        print(f"{len(changed)} files changed since {commit[:12]}, which passed `make test-all`.")
    part = number() % SLICES
    files = [path for path in changed or () if path.startswith("tests/") and Path(path).name.startswith("test_")]
    print(
        f"Running slice {part + 1} of {SLICES} of all groups, then {', '.join(groups) or 'nothing else'}.", flush=True
    )
    options = ["--tier=called", f"--groups={','.join(groups)}", f"--files={','.join(files)}", f"--slice={part}"]
    command = [sys.executable, "-m", "pytest", "-n", "auto", *options, f"--until={until}", "tests"]
    process = subprocess.Popen(command, cwd=ROOT)
    try:
        code = process.wait(max(0.0, seconds) + GRACE_S)
    except subprocess.TimeoutExpired:
        process.terminate()
        process.wait()
        print(f"The tests did not end within {GRACE_S} s after the last one was started.")
        return 1
    return 0 if code == _NO_TESTS else code


def record() -> int:
    """Record that the current commit passed, and return the exit code."""
    if git("status", "--porcelain"):
        print("not recorded: the work tree has changes that are not committed")
        return 0
    RECORD.write_text(git("rev-parse", "HEAD") + "\n")
    print(f"recorded in {RECORD.relative_to(ROOT)}: commit it")
    return 0


def main() -> int:
    """Run the command."""
    parser = argparse.ArgumentParser(prog="python -m tests.changed", description=(__doc__ or "").partition("\n")[0])
    what = parser.add_mutually_exclusive_group(required=True)
    what.add_argument("--seconds", type=float, help="run, and start no test after so many seconds")
    what.add_argument("--record", action="store_true", help="record the current commit as passed")
    chosen = parser.parse_args()
    return record() if chosen.record else run(chosen.seconds)


if __name__ == "__main__":
    sys.exit(main())
