"""Run a campaign on each transport, and print how often each fault was injected and what it led to."""

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

from tests.chaos.faults import FAULTS, KINDS
from tests.chaos.scene import Scene, scene
from tests.chaos.trial import Trial

OWN_MOUNTS = "ASCT_CHAOS_MOUNTS"
MISSES = 5
"""Number of failed trials, for each fault and each remaining trial, after which the campaign gives up. A trial fails if
its fault finds nothing to disturb."""


@dataclass
class Campaign:
    """The remaining work on a transport, and its results; used by several threads."""

    transport: str
    seed: int
    wanted: list[str]
    faults: Counter[str] = field(default_factory=Counter)
    resumes: Counter[str] = field(default_factory=Counter)
    violations: Counter[str] = field(default_factory=Counter)
    trials: int = 0
    misses: int = 0
    mutex: Lock = field(default_factory=Lock)

    def next(self) -> tuple[int, str] | None:
        """Return the number and the first fault of the next trial."""
        with self.mutex:
            if not self.wanted or self.misses > MISSES * (len(self.faults) + len(self.wanted)):
                return None
            self.trials += 1
            return self.trials, self.wanted.pop()

    def note(self, kind: str, trial: Trial) -> None:
        """Record a finished trial. If its first fault disturbed nothing, the trial does not count and is repeated."""
        with self.mutex:
            if kind and kind not in trial.faults:
                self.misses += 1
                self.wanted.insert(0, kind)
            self.faults.update(trial.faults)
            self.resumes[kind] += trial.resumes
            self.violations[kind] += len(trial.violations)

    def work(self, folder: Path, kept: Path) -> None:
        """Run trials as one worker."""
        with scene(folder, self.transport) as place:
            self._try(place, 0, "", kept / f"{self.transport}-{folder.name}")
            while job := self.next():
                number, kind = job
                self._try(place, number, kind, kept / f"{self.transport}-{number:04}")

    def _try(self, place: Scene, number: int, kind: str, kept: Path) -> None:
        trial = Trial(place, kind)
        begun = time.monotonic()
        trial.run(random.Random(f"{self.seed}-{self.transport}-{number}"))
        self.note(kind, trial)
        print(f"{self.transport:5} {number:4} {time.monotonic() - begun:5.1f} s  {trial.told()}", flush=True)
        if trial.violations:
            print(f"     kept in {trial.keep(kept)}", flush=True)
            place.renew()


def table(campaigns: list[Campaign]) -> str:
    """Return a table that shows, for each fault and transport, how often it was injected and how many resumes and
    violations it led to."""
    width = max(map(len, FAULTS))
    head = "".join(f"{one.transport:>24}" for one in campaigns)
    lines = [f"{'':{width}}{head}", f"{'fault':{width}}" + f"{'faults resumes wrong':>24}" * len(campaigns)]
    for kind in ["", *FAULTS, "all"]:
        cells = [_cell(one, kind) for one in campaigns]
        if any(cell.strip(" -") for cell in cells):
            lines.append(f"{kind or 'none':{width}}" + "".join(cells))
    return "\n".join(lines)


def _cell(one: Campaign, kind: str) -> str:
    if kind and kind != "all" and kind not in KINDS[one.transport]:
        return f"{'-':>24}"
    counts = (one.faults, one.resumes, one.violations)
    faults, resumes, wrong = (count.total() if kind == "all" else count[kind] for count in counts)
    return f"{faults:>10}{resumes:>8}{wrong:>6}" if faults or resumes or wrong else " " * 24


def chosen(count: int, kinds: list[str], transports: list[str], rng: random.Random) -> dict[str, list[str]]:
    """Return `count` faults by transport, in random order, with each fault equally often on each transport."""
    pairs = [(transport, kind) for kind in kinds for transport in transports if kind in KINDS[transport]]
    rng.shuffle(pairs)
    found: dict[str, list[str]] = {transport: [] for transport in transports}
    for index in range(count if pairs else 0):
        transport, kind = pairs[index % len(pairs)]
        found[transport].append(kind)
    return found


def options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m tests.chaos", description=__doc__)
    parser.add_argument("--faults", type=int, default=220, help="how many trials, each with one fault at least")
    parser.add_argument("--seed", type=int, default=random.SystemRandom().randrange(1 << 32))
    parser.add_argument("--workers", type=int, default=2, help="hosts side by side")
    parser.add_argument("--transports", nargs="+", choices=KINDS, default=[*KINDS], metavar="TRANSPORT")
    parser.add_argument("--kinds", nargs="+", choices=FAULTS, default=[*FAULTS], metavar="FAULT")
    return parser.parse_args()


def main() -> int:
    """Run the command. The exit code is 1 if a violation was found or not all faults could be injected."""
    if os.geteuid() != 0:
        print("namespaces, links and disks require root", file=sys.stderr)
        return 1
    if OWN_MOUNTS not in os.environ:  # the mounts disappear with the last process of the campaign
        os.environ[OWN_MOUNTS] = "1"
        os.execvp("unshare", ["unshare", "--mount", sys.executable, "-m", "tests.chaos", *sys.argv[1:]])
    asked = options()
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    print(f"{asked.faults} faults with SEED={asked.seed}", flush=True)
    wanted = chosen(asked.faults, asked.kinds, asked.transports, random.Random(asked.seed))
    campaigns = [Campaign(transport, asked.seed, kinds) for transport, kinds in wanted.items() if kinds]
    for campaign in campaigns:
        run(campaign, asked.workers)
    print(table(campaigns))
    injected, wrong = (sum(getattr(one, name).total() for one in campaigns) for name in ("faults", "violations"))
    print(f"{injected} faults injected, {wrong} violations (SEED={asked.seed})")
    return 1 if wrong or injected < asked.faults else 0


def run(campaign: Campaign, workers: int) -> None:
    """Run all trials on a transport, on `workers` hosts in parallel."""
    folder = Path(tempfile.mkdtemp(prefix="asct-chaos-"))
    folder.chmod(0o755)
    kept = Path(tempfile.gettempdir()) / f"asct-chaos-{campaign.seed}"
    try:
        with ThreadPoolExecutor(workers) as pool:
            tasks = [pool.submit(campaign.work, folder / str(number), kept) for number in range(workers)]
            try:
                for task in tasks:
                    task.result()
            finally:  # after Ctrl-C or a failure of one worker, the others finish their current trials
                campaign.wanted.clear()
    finally:
        shutil.rmtree(folder, ignore_errors=True)


if __name__ == "__main__":
    sys.exit(main())
