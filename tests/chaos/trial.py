"""A trial: a run that is disturbed, resumed until it is complete, and checked."""

from __future__ import annotations

import random
import shutil
from dataclasses import dataclass, field
from pathlib import Path

from tests.chaos.faults import FAULTS, KINDS, PASSING, Undo
from tests.chaos.judge import finished, left, violations
from tests.chaos.scene import Missed, Part, Scene

RESUMES = 3
"""Maximum number of resumes, not counting those that are disturbed themselves."""
AGAIN = 0.3
"""Share of the first resumes that are disturbed as well."""
STOPS = {"asct SIGTERM": 143, "asct SIGINT": 130, "asct SIGHUP": 143}
"""Faults after which asct itself cleans up, each with the exit code of asct."""


@dataclass
class Trial:
    """A trial. `kind` is the first fault, empty for none; `faults` contains those that disturbed something."""

    scene: Scene
    kind: str
    faults: list[str] = field(default_factory=list)
    codes: list[int] = field(default_factory=list)
    violations: list[str] = field(default_factory=list)
    resumes: int = 0
    _undo: Undo | None = None

    def run(self, rng: random.Random) -> None:
        """Run the whole trial."""
        scene = self.scene
        scene.clear(rng)
        kept: set[str] = set()
        try:
            self._part("apply", self.kind)
            for turn in range(RESUMES + 1):
                if self._undo is not None:
                    self._undo()
                    self._undo = None
                kept |= finished(scene.run)
                passing = [kind for kind in PASSING if kind in KINDS[scene.transport]]
                second = rng.choice(passing) if self.kind and turn == 0 and rng.random() < AGAIN else ""
                self._part("resume" if scene.run else "apply", second)
                self.resumes += 1
                if self.codes[-1] == 0:
                    break
            self.violations += violations(scene, kept, self.codes)
        finally:
            scene.close()

    def _part(self, command: str, kind: str) -> None:
        """Run one asct process from its start to its end."""
        part = self.scene.start(command)
        if kind:
            self.scene.advance(part)
            self._hurt(part, kind)
        code = part.end()
        self.codes.append(code)
        if kind in STOPS and kind in self.faults:
            if code not in (STOPS[kind], 0):
                self.violations.append(f"{kind} ended it with {code}")
            self.violations += [f"after {kind}: {text}" for text in left(self.scene)]

    def _hurt(self, part: Part, kind: str) -> None:
        if not part.running:
            return
        try:
            self._undo = FAULTS[kind](self.scene) or self._undo
        except Missed:
            return
        self.faults.append(kind)

    def told(self) -> str:
        """Return a summary line, and one line for each violation."""
        what = ", then ".join(self.faults) or "nothing"
        return "\n     VIOLATION: ".join([f"{what}: exit codes {self.codes}", *self.violations])

    def keep(self, folder: Path) -> Path:
        """Copy the files that are needed to examine a failure."""
        folder.parent.mkdir(exist_ok=True)
        shutil.copytree(self.scene.folder, folder, symlinks=True)
        (folder / "trial").write_text(self.told() + "\n")
        return folder
