"""The raw data of a host: file contents keyed by path, and command outputs keyed by name, as printed by an exchange.

files_snapshot.py reads snapshots from other sources.
"""

from __future__ import annotations

import re
from bisect import bisect_left, bisect_right
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from functools import cached_property, lru_cache

from asct.values.cpulist import parse_integers

KEPT = "snapshot.txt"
"""Name of the file that contains the output of an exchange."""
_TOKEN = re.compile(r"(asct-[0-9a-f]{16}) ")
_LITERAL = re.compile(r"[A-Za-z0-9_/-]*")
_STAMP = "%Y-%m-%dT%H:%M:%SZ"
_MOST_COPIES = 2_000_000
_BLANK = " \t\n\r\v\f\0"
KILLED = 128 + 9
"""Exit status that the shell reports for a program killed by SIGKILL (POSIX, 2.8.2), for example because the program
exceeded its time limit (limits.sh)."""


@dataclass(frozen=True, slots=True)
class CommandOutput:
    """The exit status of a command, and its output on both streams."""

    status: int
    text: str


@dataclass(frozen=True)
class Snapshot:
    """The raw data of a host. `files` maps absolute paths to contents without trailing whitespace, and `commands` maps
    names to results.

    `omitted` contains the numbers of items that were omitted to limit the output: folders for a fact (such as
    `block_devices`), or lines in a file. `notes` describe problems with the source. `taken_at` is the time when the
    data was read, or None if it is unknown. `dump` is true if the files were copied without asct; in that case, files
    that are missing here may exist on the machine.
    """

    files: Mapping[str, str] = field(default_factory=dict)
    commands: Mapping[str, CommandOutput] = field(default_factory=dict)
    omitted: Mapping[str, int] = field(default_factory=dict)
    notes: tuple[str, ...] = ()
    taken_at: datetime | None = None
    dump: bool = False

    def text(self, path: str) -> str | None:
        """Return the content of a file, or None if it is missing."""
        return self.files.get(path)

    def line(self, path: str) -> str | None:
        """Return the content of a file without surrounding whitespace, or None if it is missing or empty."""
        return self.files.get(path, "").strip() or None

    def command_output(self, name: str) -> str | None:
        """Return the output of a command without surrounding whitespace, or None if it failed or was not run."""
        answer = self.commands.get(name)
        return answer.text.strip() if answer is not None and answer.status == 0 else None

    def late(self, name: str) -> bool:
        """Return whether a command timed out or was killed by the out-of-memory killer."""
        answer = self.commands.get(name)
        return answer is not None and answer.status == KILLED

    def matching(self, pattern: str) -> list[tuple[re.Match[str], str]]:
        """Return the files whose entire path matches the regular expression, ordered by path."""
        compiled = re.compile(pattern)
        paths = self.beginning(_literal_start(pattern))
        return [(match, self.files[path]) for path in paths if (match := compiled.fullmatch(path))]

    def beginning(self, start: str) -> list[str]:
        """Return the paths that begin with `start`, in order. This is fast for parsers that need only a few of several
        thousand paths."""
        first = bisect_left(self._paths, start)
        return self._paths[first : bisect_right(self._paths, start, first, key=lambda path: path[: len(start)])]

    @cached_property
    def _paths(self) -> list[str]:
        return sorted(self.files)


@lru_cache(maxsize=256)
def _literal_start(pattern: str) -> str:
    """Return the text with which every match of the pattern begins."""
    found = _LITERAL.match(pattern)
    start = found[0] if found else ""
    quantified = pattern[len(start) : len(start) + 1] in ("?", "*", "{")
    return "" if "|" in pattern else start[:-1] if quantified else start


def cleaned(text: str) -> str:
    """Remove trailing whitespace from the content of a file, and the zero byte that some Linux kernels add to CPU
    lists."""
    return text.rstrip(_BLANK)


def _moment(text: str) -> datetime | None:
    try:
        return datetime.strptime(text, _STAMP).replace(tzinfo=UTC)
    except ValueError:
        return None


def stored_snapshot(text: str) -> Snapshot | None:
    """Parse a stored exchange; return None if the text is not an exchange."""
    token = token_of(text)
    return from_output(text, token) if token else None


def token_of(text: str) -> str:
    """Return the token that begins the output of an exchange, or an empty string if the text is not an exchange."""
    found = _TOKEN.match(text)
    return found[1] if found else ""


def from_output(text: str, token: str) -> Snapshot:
    """Parse the output of the script, in which each section begins with a line `token kind name`.

    If the output is truncated, the result contains the sections before the truncation. A command without its closing
    line is treated as failed.
    """
    reading = _SnapshotReader()
    for section in f"\n{text}".split(f"\n{token} ")[1:]:
        header, newline, body = section.partition("\n")
        kind, name, rest, *_ = [*header.split(" ", 2), "", ""]
        reading.mark(kind, name, rest)
        if newline:
            reading.lines(body)
    return reading.snapshot()


class _SnapshotReader:
    """Collects the sections of an exchange's output."""

    def __init__(self) -> None:
        self._files: dict[str, list[str]] = {}
        self._commands: dict[str, CommandOutput] = {}
        self._omitted: dict[str, int] = {}
        self._kind, self._name = "", ""
        self._body: list[str] = []
        self._copies = 0
        self._taken_at: datetime | None = None

    def mark(self, kind: str, name: str, rest: str) -> None:
        if kind == "taken":  # `reading.collect` appends this line to a stored exchange
            self._taken_at = _moment(name)
        if kind == "left":
            self._omitted[name] = self._omitted.get(name, 0) + (int(rest) if rest.isdecimal() and len(rest) < 20 else 1)
            return
        if kind == "end":
            self._commands[name] = CommandOutput(
                int(rest) if rest.isdecimal() and len(rest) < 4 else 255, "\n".join(self._body)
            )
        self._close()
        self._kind, self._name, self._body = kind, name, []

    def lines(self, text: str) -> None:
        """Add lines to the current section."""
        if self._kind == "files":
            for line in text.split("\n"):
                path, _, content = line.partition(":")
                if path.startswith("/"):
                    self._files.setdefault(path, []).append(content)
        elif self._kind in ("command", "numbered", "blocks"):
            self._body += text.split("\n")

    def snapshot(self) -> Snapshot:
        self._close()
        files = {path: cleaned("\n".join(lines)) for path, lines in self._files.items()}
        return Snapshot(files, self._commands, self._omitted, taken_at=self._taken_at)

    def _close(self) -> None:
        if self._kind == "numbered":
            for number, line in self._shared():
                name, _, content = line.partition(":")
                self._files.setdefault(f"{self._name}{number}/{name}", []).append(content)
        elif self._kind == "blocks":
            self._files[self._name] = self._blocks()

    def _blocks(self) -> list[str]:
        """Expand the shared lines into blocks.

        The lines in each block are in the order in which their names first appear.
        """
        blocks: dict[int, list[tuple[int, str]]] = {}
        ranks: dict[str, int] = {}
        for number, line in self._shared():
            rank = ranks.setdefault(line.partition(":")[0].strip(), len(ranks))
            blocks.setdefault(number, []).append((rank, line))
        lines: list[str] = []
        for _, block in sorted(blocks.items()):
            lines += [*(line for _, line in sorted(block, key=lambda item: item[0])), ""]
        return lines

    def _shared(self) -> list[tuple[int, str]]:
        """Return (number, line) pairs from lines that begin with the list of their owners: `0-3,8 size:32K`."""
        found: list[tuple[int, str]] = []
        for shared in self._body:
            numbers, _, line = shared.partition(" ")
            try:
                owners = parse_integers(numbers)
            except ValueError:
                continue
            self._copies += len(owners)
            if self._copies > _MOST_COPIES:  # no machine prints so many, so the text is not output of the script
                break
            found += [(number, line) for number in owners]
        return found
