"""The provenance of results: settings, commands, raw files and failures."""

from __future__ import annotations

import shlex
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from asct.analysis.grid import ColumnHead, TableCell, TextTable, plain, shown, size_text, without_empty_columns
from asct.analysis.telemetry import mark_of
from asct.analysis.view import JobView, RepeatView, units_of
from asct.sdk.record import doubtful
from asct.values.duration import format_duration

_TAIL_LINES = 20
_TAIL_BYTES = 16384
_MOST_FILES = 40


@dataclass(frozen=True, slots=True)
class CommandLine:
    """The commands of one repeat, ready for a shell, and the folder with its raw files."""

    label: str
    lines: tuple[str, ...]
    folder: str
    files: tuple[str, ...]
    mark: str = ""
    """The host state during the repeat, if it is questionable."""


@dataclass(frozen=True, slots=True)
class Failure:
    """A repeat without values."""

    label: str
    status: str
    message: str
    hint: str
    tail: str
    folder: str


def text_at(item: Mapping[str, Any], key: str) -> str:
    """The text under `key` of a document, safe to display; empty if absent."""
    return plain(str(item.get(key) or ""))


def settings_of(job: JobView, unique: str, resolved: Mapping[str, Any]) -> TextTable:
    """Every setting with its value and where it came from; the swept ones list their values."""
    commands = [item.command for item in job.repeats if item.command is not None]
    swept: dict[str, list[Any]] = {}
    settings: dict[str, Any] = {}
    for command in commands:
        for key, value in command.settings.items():
            settings.setdefault(key, value)
        for key, value in command.swept.items():
            values = swept.setdefault(key, [])
            if value not in values:
                values.append(value)
    units = units_of(job.benchmark)
    origins = _origins(resolved, job)
    rows = []
    for key in sorted({*settings, *swept}):
        text = f"swept: {_value(swept[key], units.get(key))}" if key in swept else _value(settings[key], units.get(key))
        rows.append((TableCell(plain(key), key), TableCell(text), TableCell(origins.get(key, ""))))
    heads = (ColumnHead("Setting"), ColumnHead("Value"), ColumnHead("From"))
    return without_empty_columns(TextTable(unique, f"Settings of {job.entry.id}", heads, tuple(rows)))


def _value(value: Any, unit: str | None) -> str:
    """A setting in its unit; a size also in bytes, as programs are handed it."""
    if isinstance(value, list | tuple):
        return ", ".join(_value(item, unit) for item in value) if unit == "B" else shown(value)
    if isinstance(value, bool) or not isinstance(value, int | float) or unit is None:
        return shown(value)
    if unit == "s":
        return format_duration(value)
    if unit == "B":
        return f"{size_text(value)} ({value})" if value >= 1024 else f"{value} B"
    return f"{shown(value)} {unit}"


def _origins(resolved: Mapping[str, Any], job: JobView) -> dict[str, str]:
    """The layer of each setting's value from plan.resolved.json; empty if absent."""
    for item in resolved.get("jobs") or ():
        if isinstance(item, dict) and (item.get("host"), item.get("id")) == (job.entry.host, job.entry.id):
            origins = item.get("origins")
            if isinstance(origins, dict):
                return {str(key): _layer(value) for key, value in origins.items()}
    return {}


def _layer(origin: Any) -> str:
    """`[layer, [file, line, ...]]` of the frozen plan as `config, plan.yaml:7`."""
    if not isinstance(origin, list) or not origin:
        return ""
    span = origin[1] if len(origin) > 1 else None
    place = f", {span[0]}:{span[1]}" if isinstance(span, list) and len(span) > 1 else ""
    return plain(f"{origin[0]}{place}")


def command_of(root: Path, item: RepeatView) -> CommandLine:
    """The commands that one repeat ran."""
    lines = []
    for step in item.command.steps if item.command else ():
        for companion in step.get("companions") or ():
            argv = companion.get("argv") if isinstance(companion, dict) else companion
            lines.append(f"{_shell(argv)} &")
        lines.append(_shell(step.get("argv")))
    return CommandLine(item.label, tuple(lines), item.folder, tuple(_files(root / item.folder)), mark_of(item))


def _shell(argv: Any) -> str:
    return plain(shlex.join(str(part) for part in argv)) if isinstance(argv, Sequence) else ""


def _files(folder: Path) -> list[str]:
    """The raw files of a repeat and of its further steps, relative to it, without hidden ones and links."""
    found: list[str] = []
    for pattern in ("*", "*/*"):
        paths = (path for path in folder.glob(pattern) if path.is_file() and not path.is_symlink())
        found += sorted(path.relative_to(folder).as_posix() for path in paths if not path.name.startswith("."))
    return found[:_MOST_FILES]


def remarks_of(job: JobView) -> list[str]:
    """Why measured repeats are questionable, and their additional problems, each with its repeat."""
    found: dict[str, list[str]] = {}
    for item in job.repeats:
        if item.status is None or not item.measured:
            continue
        why = [flag for flag in item.status.flags if doubtful(flag) and flag != "noisy"]
        doubt = [f"noisy ({', '.join(why)})" if why else "noisy"]
        for text in [*(doubt if item.status.status == "noisy" else []), *item.status.notes]:
            found.setdefault(plain(text), []).append(item.label)
    return [
        f"{labels[0]}: {text}" if len(labels) == 1 else f"{labels[0]} and {len(labels) - 1} more: {text}"
        for text, labels in found.items()
    ]


def failures_of(root: Path, job: JobView) -> list[Failure]:
    """Repeats without values; equal outcomes of one point are merged."""
    groups: dict[tuple[str, str, str], list[RepeatView]] = {}
    for item in job.repeats:
        if not item.measured:
            state = item.status.status if item.status else ""
            groups.setdefault((item.point_id, state, _message(item)), []).append(item)
    return [_failure(root, group) for group in groups.values()]


def _message(item: RepeatView) -> str:
    status = item.status
    diagnostic = (status.diagnostic if status else None) or {}
    return text_at(diagnostic, "message") or "; ".join(plain(note) for note in (status.notes if status else ()))


def _failure(root: Path, group: Sequence[RepeatView]) -> Failure:
    """The first repeat represents the group, with the end of its standard error."""
    item = group[0]
    status = item.status
    diagnostic = (status.diagnostic if status else None) or {}
    label = item.label if len(group) == 1 else f"{item.label} and {len(group) - 1} more"
    return Failure(
        label=label,
        status=status.status if status else "not finished",
        message=_message(item),
        hint=text_at(diagnostic, "hint"),
        tail=_tail(root / item.folder / "stderr"),
        folder=item.folder,
    )


def _tail(path: Path) -> str:
    """The last lines of a text file, or nothing when it cannot be read."""
    if path.is_symlink() or not path.is_file():
        return ""
    try:
        with path.open("rb") as stream:
            stream.seek(max(0, path.stat().st_size - _TAIL_BYTES))
            lines = stream.read().decode("utf-8", errors="replace").splitlines()
    except OSError:
        return ""
    return plain("\n".join(lines[-_TAIL_LINES:]), keep_lines=True).strip()
