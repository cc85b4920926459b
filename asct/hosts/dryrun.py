"""A transport that runs nothing and records the commands as shell text that can be pasted into a terminal."""

from __future__ import annotations

import shlex
from collections.abc import Callable, Sequence
from pathlib import Path

from asct.hosts import script
from asct.hosts.base import CommandResult, Host, Process, SessionSpec, Task, TaskResult
from asct.plan.model import HostSpec


def make(spec: HostSpec, folder: Path) -> Host:
    """Return a host that is never contacted. Its folders are below `workdir`."""
    return DryRun(spec.name, spec.workdir)


class DryRun(Host):
    """The Host protocol without a host. Every task succeeds without leaving any files."""

    transport = "dryrun"
    work = ""
    cache = ""

    def __init__(self, name: str, base: str) -> None:
        self.name = name
        self.work = f"{base.rstrip('/')}/run"
        self.cache = f"{base.rstrip('/')}/cache"
        self.commands: list[str] = []
        """The commands as shell text, in order. Each task, and each call of `put` or `remove`, adds one item."""

    def open(self, session: SessionSpec | None = None) -> None:
        """Do nothing."""

    def close(self) -> None:
        """Do nothing."""

    def run(self, task: Task, on_line: Callable[[str], None] | None = None) -> TaskResult:
        script.task_line(self.name, task, empty=False)  # rejects the same tasks as a real host would
        self.commands.append(shell_text(task))
        return TaskResult(0, 0)

    def execute(self, argv: Sequence[str], *, timeout_s: float = 60.0, stdin: str = "") -> CommandResult:
        self.commands.append(shlex.join(argv))
        return CommandResult(0, "", "")

    def probe(self, text: str, arguments: Sequence[str], *, timeout_s: float = 60.0) -> CommandResult:
        return self.execute(["sh", "-s", *arguments], timeout_s=timeout_s, stdin=text)

    def put(self, source: Path, target: str, *, mode: int = 0o600) -> None:
        self.commands.append(f"install -D -m {mode:o} {shlex.join([str(source), target])}")

    def get(self, source: str, target: Path, *, max_bytes: int = 64 << 20) -> None:
        self.commands.append(f"cp {shlex.join([source, str(target)])}")

    def remove(self, path: str) -> None:
        self.commands.append(f"rm -rf -- {shlex.quote(path)}")

    def interrupt(self) -> None:
        """Do nothing, because no task is ever running."""


def shell_text(task: Task) -> str:
    """Return a task as lines for a POSIX shell: the folder, the files, the companions in the background, and the
    program."""
    folder = shlex.quote(task.main.cwd)
    lines = [f"mkdir -p {folder} && cd {folder}"]
    for name, text in task.files.items():
        lines.append(f"printf %s {shlex.quote(text)} >{shlex.quote(name)}")
    lines += [f'{_command(one)} & companions="$companions $!"' for one in task.companions]
    lines.append(_command(task.main))
    if task.companions:
        lines.append("kill -INT $companions; sleep 1; kill $companions 2>/dev/null; wait")
    return "\n".join(lines)


def _command(process: Process) -> str:
    variables = "".join(f"{name}={shlex.quote(value)} " for name, value in process.env.items())
    outputs = f">{shlex.quote(process.stdout_file)} 2>{shlex.quote(process.stderr_file)}"
    return f"{variables}{shlex.join(process.argv)} {outputs}"
