"""A transport that replays the recorded output of a host from a folder, for tests that run without the host.

The host's key `answers` names the folder. The replay.json in that folder contains entries. The first entry whose shell
pattern `match` (with `*` and `?`) matches the command line supplies the result. `files` maps names to texts, or to
files next to replay.json (`{"path": "..."}`). The output of a short command is in `stdout` and `stderr`:

    {"entries": [{"match": "*chase*", "status": 0, "elapsed_ns": 1000, "files": {"stdout": {"path": "chase.jsonl"}}}]}
"""

from __future__ import annotations

import fnmatch
import json
import shlex
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from asct.errors import ConnectError, HostError
from asct.hosts import errors, script
from asct.hosts.base import CommandResult, Host, SessionSpec, Task, TaskResult
from asct.hosts.downloads import LineSplitter
from asct.hosts.script import inner_name
from asct.plan.model import HostSpec
from asct.transports import Option, Transport

FILE = "replay.json"
TRANSPORT = Transport({"answers": Option("scalar", "Folder with a replay.json, relative to the plan")})


def make(spec: HostSpec, folder: Path) -> Host:
    """Return the recorded host in the folder `spec.options["answers"]`, a path relative to `folder`."""
    return ReplayHost(spec.name, folder / str(spec.options.get("answers", ".")))


class ReplayHost(Host):
    """The Host protocol over a recording. `asked` lists all requested command lines, in order."""

    transport = "replay"
    work = "/replay/work"
    cache = "/replay/cache"

    def __init__(self, name: str, folder: Path) -> None:
        self.name = name
        self.asked: list[str] = []
        self._folder = folder
        self._entries: list[Mapping[str, Any]] = []

    def open(self, session: SessionSpec | None = None) -> None:
        file = self._folder / FILE
        try:
            self._entries = _entries(json.loads(file.read_text(encoding="utf-8")))
        except (OSError, ValueError) as error:
            raise ConnectError(
                self.name, errors.problem("bad_recording", self.name, file=str(file), detail=str(error))
            ) from error

    def close(self) -> None:
        self._entries = []

    def _find(self, argv: Sequence[str]) -> Mapping[str, Any]:
        command = shlex.join(argv)
        self.asked.append(command)
        for entry in self._entries:
            if fnmatch.fnmatchcase(command, entry["match"]):
                return entry
        raise HostError(self.name, errors.problem("not_recorded", self.name, command=command))

    def _bytes(self, value: Any) -> bytes:
        if isinstance(value, str):
            return value.encode("utf-8", "surrogateescape")
        path = self._folder / inner_name(self.name, str(value["path"]))
        try:
            return path.read_bytes()
        except OSError as error:
            raise HostError(
                self.name, errors.problem("bad_recording", self.name, file=str(path), detail=str(error))
            ) from error

    def run(self, task: Task, on_line: Callable[[str], None] | None = None) -> TaskResult:
        script.task_line(self.name, task, empty=False)  # rejects the same tasks as a real host would
        task.into.mkdir(parents=True, exist_ok=True)
        entry = self._find(task.main.argv)
        files = {"stdout": "", "stderr": "", **entry.get("files", {})}
        renamed = {"stdout": task.main.stdout_file, "stderr": task.main.stderr_file}
        wanted = {name for _, name in script.wanted_files(self.name, task)}
        fetched = []
        for recorded, value in files.items():
            name = renamed.get(recorded, recorded)
            if name in wanted:
                data = self._bytes(value)
                (task.into / name).write_bytes(data)
                fetched.append(name)
                if on_line is not None and recorded == "stdout":
                    LineSplitter(on_line).finish(data)
        return TaskResult(
            entry.get("status", 0), entry.get("elapsed_ns", 0), tuple(fetched), tuple(entry.get("notes", ()))
        )

    def execute(self, argv: Sequence[str], *, timeout_s: float = 60.0, stdin: str = "") -> CommandResult:
        entry = self._find(argv)
        files = entry.get("files", {})
        stdout, stderr = (self._bytes(files.get(name, "")).decode("utf-8", "replace") for name in ("stdout", "stderr"))
        return CommandResult(entry.get("status") or 0, stdout, stderr)

    def probe(self, text: str, arguments: Sequence[str], *, timeout_s: float = 60.0) -> CommandResult:
        self.open()
        return self.execute(["sh", "-s", *arguments], timeout_s=timeout_s, stdin=text)

    def put(self, source: Path, target: str, *, mode: int = 0o600) -> None:
        self.asked.append(f"put {target}")

    def get(self, source: str, target: Path, *, max_bytes: int = 64 << 20) -> None:
        target.write_bytes(self._bytes(self._find(["get", source]).get("files", {}).get("stdout", "")))

    def remove(self, path: str) -> None:
        self.asked.append(f"remove {path}")

    def interrupt(self) -> None:
        """Do nothing, because no task is ever running."""


def _entries(document: Any) -> list[Mapping[str, Any]]:
    """Check the entries of replay.json and return them. Raises ValueError if one of them is invalid."""
    entries = document.get("entries") if isinstance(document, dict) else None
    if not isinstance(entries, list):
        raise ValueError("it must contain a list `entries`")
    for number, entry in enumerate(entries):
        if not isinstance(entry, dict) or not isinstance(entry.get("match"), str):
            raise ValueError(f"entry {number} has no pattern `match`")
    return entries
