"""Runs a campaign and prints how often each fault was injected, how many resumes it took and what went wrong."""

from __future__ import annotations

import argparse
import os
import random
import shutil
import signal
import sys
import tempfile
import time
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path
from threading import Lock

from tests.chaos.faults import FAULTS
from tests.chaos.scene import Scene, scene
from tests.chaos.trial import Trial

OWN_MOUNTS = "ASCT_CHAOS_MOUNTS"
MISSES = 5
"""A fault that finds nothing to hurt so often in a row, for each one that is wanted, never will."""


@dataclass
class Campaign:
    """What is still to be done, and what came out; used by several threads."""

    seed: int
    wanted: list[str]
    faults: Counter[str] = field(default_factory=Counter)
    resumes: Counter[str] = field(default_factory=Counter)
    violations: Counter[str] = field(default_factory=Counter)
    trials: int = 0
    misses: int = 0
    mutex: Lock = field(default_factory=Lock)

    def next(self) -> tuple[int, str] | None:
        """Number and first fault of the next trial."""
        with self.mutex:
            if not self.wanted or self.misses > MISSES * (len(self.faults) + len(self.wanted)):
                return None
            self.trials += 1
            return self.trials, self.wanted.pop()

    def note(self, kind: str, trial: Trial) -> None:
        """A trial that is over; one whose first fault hurt nothing is not counted, and done again."""
        with self.mutex:
            if kind and kind not in trial.faults:
                self.misses += 1
                self.wanted.insert(0, kind)
            self.faults.update(trial.faults)
            self.resumes[kind] += trial.resumes
            self.violations[kind] += len(trial.violations)

    def work(self, folder: Path, kept: Path) -> None:
        """One worker."""
        with scene(folder) as place:
            self._try(place, 0, "", kept / folder.name)
            while job := self.next():
                number, kind = job
                self._try(place, number, kind, kept / f"{number:04}")

    def _try(self, place: Scene, number: int, kind: str, kept: Path) -> None:
        trial = Trial(place, kind)
        begun = time.monotonic()
        trial.run(random.Random(f"{self.seed}-{number}"))
        self.note(kind, trial)
        print(f"{number:4} {time.monotonic() - begun:5.1f} s  {trial.told()}", flush=True)
        if trial.violations:
            print(f"     kept in {trial.keep(kept)}", flush=True)
            place.renew()

    def table(self) -> str:
        """One line a fault, and the sum."""
        width = max(map(len, FAULTS))
        lines = [f"{'fault':{width}}  faults  resumes  violations"]
        counts = (self.faults, self.resumes, self.violations)
        lines += [
            f"{kind or 'none':{width}}  {self.faults[kind]:6}  {self.resumes[kind]:7}  {self.violations[kind]:10}"
            for kind in ["", *FAULTS]
            if any(count[kind] for count in counts)
        ]
        faults, resumes, violations = (count.total() for count in counts)
        lines += [f"{'all':{width}}  {faults:6}  {resumes:7}  {violations:10}"]
        return "\n".join(lines)


def chosen(count: int, kinds: list[str], rng: random.Random) -> list[str]:
    """`count` faults, each kind as often as every other, in random order."""
    found = [kinds[index % len(kinds)] for index in range(count)]
    rng.shuffle(found)
    return found


def options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m tests.chaos", description=__doc__)
    parser.add_argument("--faults", type=int, default=220, help="how many trials, each with one fault at least")
    parser.add_argument("--seed", type=int, default=random.SystemRandom().randrange(1 << 32))
    parser.add_argument("--workers", type=int, default=2, help="hosts side by side")
    parser.add_argument("--kinds", nargs="+", choices=FAULTS, default=[*FAULTS], metavar="FAULT")
    return parser.parse_args()


def main() -> int:
    """Exit code 1 when something that must hold did not, or not all faults could be injected."""
    if os.geteuid() != 0:
        print("namespaces, links and disks need root", file=sys.stderr)
        return 1
    if OWN_MOUNTS not in os.environ:  # mounts go with the last process of the campaign, whatever ends it
        os.environ[OWN_MOUNTS] = "1"
        os.execvp("unshare", ["unshare", "--mount", sys.executable, "-m", "tests.chaos", *sys.argv[1:]])
    asked = options()
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    print(f"{asked.faults} faults with SEED={asked.seed}", flush=True)
    campaign = Campaign(asked.seed, chosen(asked.faults, asked.kinds, random.Random(asked.seed)))
    folder = Path(tempfile.mkdtemp(prefix="asct-chaos-"))
    folder.chmod(0o755)
    try:
        with ThreadPoolExecutor(asked.workers) as pool:
            kept = Path(tempfile.gettempdir()) / f"asct-chaos-{asked.seed}"
            tasks = [pool.submit(campaign.work, folder / str(number), kept) for number in range(asked.workers)]
            try:
                for task in tasks:
                    task.result()
            finally:  # after Ctrl-C, or when a worker failed, the others end with the trial that they are at
                campaign.wanted.clear()
    finally:
        shutil.rmtree(folder, ignore_errors=True)
    print(campaign.table())
    injected = campaign.faults.total()
    print(f"{injected} faults injected, {campaign.violations.total()} violations (SEED={asked.seed})")
    return 1 if campaign.violations.total() or injected < asked.faults else 0


if __name__ == "__main__":
    sys.exit(main())
