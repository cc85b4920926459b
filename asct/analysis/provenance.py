"""The origin of results: settings, commands, raw files, remarks, failures, versions and checksums."""

from __future__ import annotations

import shlex
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from asct.analysis.agreement import planned_jobs
from asct.analysis.grid import (
    ABSENT,
    ColumnHead,
    TableCell,
    TextTable,
    Tone,
    as_text,
    plain,
    size_text,
    without_empty_columns,
)
from asct.analysis.machine.rows import TextRow
from asct.analysis.outcomes import planned, share, short_names, tone_of
from asct.analysis.telemetry import host_remarks, mark_of
from asct.analysis.view import JobView, RepeatView, RunView, units_of
from asct.sdk.record import NOISY_HOST, doubtful
from asct.store.checksums import checksum
from asct.values.duration import format_duration
from asct.values.grouping import grouped

_TAIL_LINES = 20
_TAIL_BYTES = 16384
_MOST_FILES = 40
_DEFAULT = "default"
"""The layer that supplies the default values of settings."""
_EVIDENCE: Final = ("plan.yaml", "plan.resolved.json", "records.jsonl")
"""Documents that are complete before the report is written. This excludes SHA256SUMS, which is written after the
report."""


@dataclass(frozen=True, slots=True)
class CommandLine:
    """The commands of one repeat in shell syntax, and the folder that contains its raw files."""

    label: str
    lines: tuple[str, ...]
    folder: str
    files: tuple[str, ...]
    mark: str = ""
    """The host state during the repeat, if it is questionable."""


@dataclass(frozen=True, slots=True)
class Failure:
    """One or more repeats that have no values and share the same outcome."""

    label: str
    status: str
    message: str
    hint: str = ""
    tail: str = ""
    folder: str = ""
    """The folder of the first repeat, or an empty string if the repeats were not started."""

    @property
    def tone(self) -> Tone:
        """The color in which reports show the status."""
        return tone_of(self.status)


def text_at(item: Mapping[str, Any], key: str) -> str:
    """Return the value of `key` in a document as text that is safe to display, or an empty string if it is missing."""
    return plain(str(item.get(key) or ""))


def settings_of(jobs: Sequence[JobView], unique: str, resolved: Mapping[str, Any]) -> TextTable:
    """Return a table of the settings of one benchmark entry that are not left at their defaults, with their values and
    layers. Swept settings are shown with all of their values. If hosts have different values, the hosts are listed."""
    origins = {key: job.get("origins") for key, job in planned_jobs(resolved).items()}
    settings = grouped(
        (
            (key, text, origin, job.entry.host)
            for job in jobs
            for key, text, origin in _settings(job, origins.get((job.entry.host, job.entry.id)))
        ),
        lambda item: item[:3],
    )
    changed = {key: [item[3] for item in items] for key, items in settings.items() if key[2] != _DEFAULT}
    rows = [
        (
            TableCell(plain(key), key),
            TableCell(text or ABSENT),
            TableCell(origin),
            TableCell("" if len(hosts) == len(jobs) else short_names(hosts)),
        )
        for (key, text, origin), hosts in sorted(changed.items())
    ]
    heads = (ColumnHead("Setting"), ColumnHead("Value"), ColumnHead("Source"), ColumnHead("Hosts"))
    left = len({key for key, _, origin in settings if origin == _DEFAULT})
    several = f"{left} settings have their default values; `plan.resolved.json` lists them."
    notes = ("1 setting has its default value; `plan.resolved.json` lists it.",) if left == 1 else (several,)
    grid = TextTable(unique, f"Settings of {jobs[0].entry.id}", heads, tuple(rows), notes if left else ())
    return without_empty_columns(grid)


def _settings(job: JobView, origins: Any) -> Iterator[tuple[str, str, str]]:
    """Yield the name, the value (as text) and the layer of each setting of a job. `origins` comes from
    plan.resolved.json."""
    swept: dict[str, dict[Any, Any]] = {}
    settings: dict[str, Any] = {}
    for command in (item.command for item in job.repeats if item.command is not None):
        for key, value in command.settings.items():
            settings.setdefault(key, value)
        for key, value in command.swept.items():
            swept.setdefault(key, {}).setdefault(repr(value) if isinstance(value, list) else value, value)
    units = units_of(job.benchmark)
    for key in {**settings, **swept}:
        text = (
            f"swept: {_value([*swept[key].values()], units.get(key))}"
            if key in swept
            else _value(settings[key], units.get(key))
        )
        yield key, text, _layer(origins.get(key)) if isinstance(origins, dict) else ""


def _value(value: Any, unit: str | None) -> str:
    """Format a setting with its unit. Sizes are also shown in bytes, which is how they are passed to programs."""
    if isinstance(value, list | tuple):
        return ", ".join(_value(item, unit) for item in value) if unit == "B" else as_text(value)
    if isinstance(value, bool) or not isinstance(value, int | float) or unit is None:
        return as_text(value)
    if unit == "s":
        return format_duration(value)
    if unit == "B":
        return f"{size_text(value, exact=False)} ({value})" if value >= 1024 else f"{value} B"
    return f"{as_text(value)} {unit}"


def _layer(origin: Any) -> str:
    """Format `[layer, [file, line, ...]]` of a frozen plan as `config, plan.yaml:7`."""
    if not isinstance(origin, list) or not origin:
        return ""
    span = origin[1] if len(origin) > 1 else None
    place = f", {span[0]}:{span[1]}" if isinstance(span, list) and len(span) > 1 else ""
    return plain(f"{origin[0]}{place}")


def command_of(root: Path, item: RepeatView) -> CommandLine:
    """Return the commands of one repeat. Programs that run alongside a step precede it and end with `&`."""
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
    """Return the raw files of a repeat and its steps, as paths relative to its folder. Hidden files and links are
    omitted."""
    found: list[str] = []
    for pattern in ("*", "*/*"):
        paths = (path for path in folder.glob(pattern) if path.is_file() and not path.is_symlink())
        found += sorted(path.relative_to(folder).as_posix() for path in paths if not path.name.startswith("."))
    return found[:_MOST_FILES]


def remarks_of(job: JobView) -> list[str]:
    """Return the reasons why hosts were noisy and why repeats are noisy or invalid, and the notes on repeats. Each
    reason or note is followed by the repeats to which it applies."""
    found = grouped(((text, item.label) for item in job.repeats for text in _remarks(item)), lambda one: one[0])
    others = (f"{_several([label for _, label in places])}: {text}" for text, places in found.items())
    return [*host_remarks(job), *others]


def _remarks(item: RepeatView) -> list[str]:
    if item.status is None or not item.valued:
        return []
    why = [flag for flag in item.status.flags if doubtful(flag) and flag != "noisy"]
    explained = why == [NOISY_HOST] and mark_of(item) != ""  # `host_remarks` states the reasons
    noisy = item.status.status == "noisy" and item.measured and not explained
    doubt = [f"noisy ({', '.join(why)})" if why else "noisy"] if noisy else []
    return [plain(text) for text in (*doubt, *item.status.notes)]


def _several(labels: Sequence[str]) -> str:
    return labels[0] if len(labels) == 1 else f"{labels[0]}, and {len(labels) - 1} more"


def failures_of(root: Path, job: JobView) -> list[Failure]:
    """Return the repeats that are treated as not measured.

    Repeats of a point with the same outcome are merged and shown with the last lines of the first repeat's standard
    error.
    """
    lost = (item for item in job.repeats if not (item.valued if item.repeat < 1 else item.measured))
    groups = grouped(lost, lambda item: (item.point_id, _problem(item)))
    return [
        *unstarted(job),
        *(
            Failure(
                _several([item.label for item in group]),
                *problem,
                _tail(root / group[0].folder / "stderr"),
                group[0].folder,
            )
            for (_, problem), group in groups.items()
        ),
    ]


def unstarted(job: JobView) -> Iterator[Failure]:
    """Yield a single failure for all repeats that were not started, with the cause that the job recorded."""
    if job.unstarted:
        label = share(job.unstarted, planned([job.entry]), "measurement")
        status = "refused" if job.entry.refused else "skipped"
        yield Failure(label, status, plain(job.entry.note) or "not started")


def _problem(item: RepeatView) -> tuple[str, str, str]:
    """Return the status, cause and hint of a repeat that was not measured."""
    return item.word, item.cause, text_at((item.status and item.status.diagnostic) or {}, "hint")


def _tail(path: Path) -> str:
    """Return the last lines of a text file, or an empty string if it cannot be read."""
    if path.is_symlink() or not path.is_file():
        return ""
    try:
        with path.open("rb") as stream:
            stream.seek(max(0, path.stat().st_size - _TAIL_BYTES))
            lines = stream.read().decode("utf-8", errors="replace").splitlines()
    except OSError:
        return ""
    return plain("\n".join(lines[-_TAIL_LINES:]), keep_lines=True).strip()


def versions_grid(view: RunView) -> TextTable:
    """Return a table of the versions of asct, the benchmarks, and the software of each host."""
    versions = grouped(_versions(view), lambda item: item[:2])
    rows = tuple(
        (
            TableCell(plain(name)),
            TableCell(plain(version)),
            TableCell(short_names([item[2] for item in items if item[2]])),
        )
        for (name, version), items in versions.items()
    )
    heads = (ColumnHead("Software"), ColumnHead("Version"), ColumnHead("Hosts"))
    return without_empty_columns(TextTable("versions", "Versions", heads, rows))


def _versions(view: RunView) -> Iterator[tuple[str, str, str]]:
    """Yield the name and version of each program, and the host on which it is installed, if any."""
    yield "asct", view.run.tool_version, ""
    for name, version in dict.fromkeys((job.benchmark, job.version) for job in view.run.jobs):
        yield f"benchmark {name}", version, ""
    for host, facts in view.facts.items():
        label = host if len(view.run.hosts) > 1 else ""
        yield "operating system", facts.system.os or "", label
        yield "Linux kernel", facts.system.kernel or "", label
        for name, tool in facts.tools.items():
            if tool.version:
                yield name, tool.version, label


def checksums(view: RunView) -> list[TextRow]:
    """Return the SHA-256 checksums of the documents needed to judge the run again. Unreadable documents and links are
    omitted."""
    found = []
    for name in _EVIDENCE:
        with suppress(OSError):
            found.append((name, checksum(view.root / name)))
    return found
