"""Running the kernel guard in tests: on targets in a separate folder, with its output."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from asct.instruments.guard_output import GuardOutput, read_guard_output
from asct.sdk.guard import Target, guarded, inspection
from asct.sdk.step import Output, Step, Tool
from tests.disks.loop import Loop


@dataclass(frozen=True)
class Guard:
    """The program, and the folder in which it runs."""

    program: Path
    folder: Path

    def step(self, targets: Sequence[Target], command: Sequence[str], **orders: Any) -> Step:
        """Return a step that inspects the targets or runs a command under guard. The files that it needs are written to
        the folder."""
        inside = Step("point", Tool("any"), tuple(command[1:]))
        step = guarded(inside, command[0], targets, **orders) if command else inspection(targets)
        for name, text in step.files.items():
            (self.folder / name).write_text(text)
        return step

    def start(self, targets: Sequence[Target], command: Sequence[str], **orders: Any) -> subprocess.Popen[str]:
        """Start guard in the background. Its standard output is a pipe."""
        step = self.step(targets, command, **orders)
        return subprocess.Popen(
            [self.program, *step.arguments], cwd=self.folder, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
        )

    def run(self, targets: Sequence[Target], *command: str, more: Sequence[str] = (), **orders: Any) -> Guarded:
        """Run guard until it ends."""
        step = self.step(targets, command, **orders)
        done = subprocess.run(
            [self.program, *more, *step.arguments],
            cwd=self.folder,
            capture_output=True,
            text=True,
            check=False,
            timeout=120,
        )
        return Guarded(Output(step, done.returncode, {"stdout": done.stdout, "stderr": done.stderr}))


@dataclass(frozen=True)
class Guarded:
    """A guard that has ended."""

    output: Output
    lines: list[dict[str, Any]] = field(init=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "lines", [json.loads(line) for line in self.output.stdout.splitlines()])

    @property
    def watch(self) -> GuardOutput:
        return read_guard_output(self.output)

    @property
    def refusal(self) -> str:
        """The check that refused the target, or an empty string if none did."""
        end = self.lines[-1]
        assert end["t"] == "end" and self.output.status == (0 if end["ok"] else 4), self.output
        return "" if end["ok"] else str(end["error"].split(": ")[1])

    @property
    def failed(self) -> dict[str, str]:
        """The details of each check that did not pass, keyed by name."""
        return {line["name"]: line["detail"] for line in self.lines if line["t"] == "check" and line["ok"] is not True}

    def detail(self, name: str) -> str:
        """Return the details of the only check with this name."""
        (line,) = [line for line in self.lines if line["t"] == "check" and line["name"] == name]
        return str(line["detail"])


def owned(loop: Loop, **changes: Any) -> Target:
    """Return a loop device to be written, with consent for its current state."""
    return Target(**{"path": str(loop.path), "access": "write", "serial": str(loop.backing), **changes})
