"""What a host said, as parsers see it: texts by path, answers by name. From an exchange, or from a folder."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

COMMANDS_FOLDER = "commands"
_STATUS = re.compile(r"\[status (\d+)\]\Z")


@dataclass(frozen=True, slots=True)
class Said:
    """A command's exit status and what it printed (both outputs together)."""

    status: int
    text: str


@dataclass(frozen=True, slots=True)
class Snapshot:
    """`files` by absolute path, stripped at the end; `commands` by name."""

    files: Mapping[str, str] = field(default_factory=dict)
    commands: Mapping[str, Said] = field(default_factory=dict)

    def text(self, path: str) -> str | None:
        """A file's text; None when it was not there."""
        return self.files.get(path)

    def said(self, name: str) -> str | None:
        """What a command printed, stripped; None when it failed or was not run."""
        answer = self.commands.get(name)
        return answer.text.strip() if answer is not None and answer.status == 0 else None

    def matching(self, pattern: str) -> list[tuple[re.Match[str], str]]:
        """Files whose whole path fits the regular expression, in order of their path."""
        compiled = re.compile(pattern)
        return [(found, self.files[path]) for path in sorted(self.files) if (found := compiled.fullmatch(path))]


def from_output(text: str, token: str) -> Snapshot:
    """Read what the script of batch.py printed: `token kind name` opens a section, the rest are its lines.

    An output cut short gives what is there; a command without its closing line counts as failed.
    """
    files: dict[str, list[str]] = {}
    commands: dict[str, Said] = {}
    kind, name = "", ""
    body: list[str] = []
    for line in text.split("\n"):
        if line.startswith(token + " "):
            _, kind, name, *rest = [*line.split(" ", 3), ""]
            if kind == "end":
                status = rest[0] if rest else ""
                commands[name] = Said(int(status) if status.isdigit() else 255, "\n".join(body))
            body = []
        elif kind == "files":
            path, _, content = line.partition(":")
            if path.startswith("/"):
                files.setdefault(path, []).append(content)
        elif kind == "file":
            files.setdefault(name, []).append(line)
        elif kind == "command":
            body.append(line)
    return Snapshot({path: "\n".join(lines).rstrip() for path, lines in files.items()}, commands)


def write(snapshot: Snapshot, folder: Path) -> None:
    """Keep it: files under their own paths, answers as commands/<name>.txt with the status in the last line."""
    texts = {path.strip("/"): f"{text}\n" for path, text in snapshot.files.items()}
    for name, answer in snapshot.commands.items():
        texts[f"{COMMANDS_FOLDER}/{name}.txt"] = f"{answer.text.rstrip()}\n[status {answer.status}]\n"
    made: set[str] = set()
    for path, text in texts.items():
        if any(part in ("", ".", "..") for part in path.split("/")):
            continue
        parent = f"{folder}/{path.rpartition('/')[0]}"
        if parent not in made:  # hosts have hundreds of these files, and looking for a folder takes as long as a file
            os.makedirs(parent, exist_ok=True)  # noqa: PTH103
            made.add(parent)
        with open(f"{folder}/{path}", "w", encoding="utf-8", errors="surrogateescape") as file:  # noqa: PTH123
            file.write(text)


def read(folder: Path, below: Iterable[str] = ("etc", "proc", "run", "sys")) -> Snapshot:
    """A folder that `write` made, or any copy of /proc and /sys. Links are not followed."""
    files: dict[str, str] = {}
    for top in below:
        for path in sorted((folder / top).rglob("*")):
            if path.is_file() and not path.is_symlink():
                files[f"/{path.relative_to(folder)}"] = path.read_text("utf-8", "replace").rstrip()
    commands: dict[str, Said] = {}
    for path in sorted((folder / COMMANDS_FOLDER).glob("*.txt")):
        text = path.read_text("utf-8", "replace").rstrip()
        found = _STATUS.search(text)
        commands[path.stem] = Said(int(found[1]) if found else 255, text[: found.start()] if found else text)
    return Snapshot(files, commands)
