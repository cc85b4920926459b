"""The `asct doctor` report as lines for a terminal: disturbances with their fix and undo, block devices, and
consents."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Final

from rich.text import Text

from asct.analysis.machine.rows import decimal_size
from asct.cli.text import wrapped
from asct.doctor.model import Disk, HostReport
from asct.sdk.disturbance import Disturbance, Unseen
from asct.values.grouping import grouped
from asct.values.text import counted

_COLOURS: Final = {"certain": "yellow", "likely": "yellow", "possible": "cyan"}
_LABEL: Final = 10


def heading(report: HostReport, width: int) -> list[str]:
    """Return the host, its connection and a short description."""
    address = f" ({report.transport} {report.address})" if report.address else f" ({report.transport})"
    return wrapped(f"{report.name}{address}: {report.description or report.status}", width, "")


def disturbance_lines(report: HostReport, width: int, *, verbose: bool) -> Iterator[str | Text]:
    """Yield the disturbances.

    With a plan, only disturbances that affect the plan are shown in full; with `verbose`, all disturbances are shown in
    full, with their sources.
    """
    affecting = report.touching()
    others = [item for item in report.findings if item not in affecting]
    yield from wrapped(_count(report, len(affecting), len(others)), width)
    for item in [*affecting, *(others if verbose or report.subjects is None else [])]:
        yield ""
        yield from _disturbance(item, width, verbose)
    if others and not verbose and report.subjects is not None:
        yield ""
        titles = ", ".join(item.title for item in others)
        yield from wrapped(f"these do not affect the plan (-v shows details): {titles}", width)
    if report.unseen:
        yield ""
        yield from _unchecked(report.unseen, width)


def _count(report: HostReport, number: int, others: int) -> str:
    subject = "measurements" if report.subjects is None else "the plan"
    if number:
        count = f"{counted(number, 'disturbance affects', 'disturbances affect')} {subject}"
    else:
        count = f"no disturbance affects {subject}"
    if not others:
        return count
    if not number:
        return f"{count}; {counted(others, 'other disturbance was', 'other disturbances were')} found"
    return f"{count}; {counted(others, 'other does', 'others do')} not"


def _disturbance(item: Disturbance, width: int, verbose: bool) -> Iterator[str | Text]:
    yield Text(f"  {item.title}", style=f"bold {_COLOURS[item.sure]}")
    rows = [("seen", item.seen), ("effect", item.effect), ("affects", item.touched)]
    rows += [(item.sure, item.why), *([("source", item.source)] if verbose else [])]
    yield from _rows(rows, width)
    for label, lines in (("fix, as root", item.fix), ("undo, as root", item.undo)):
        if lines:
            yield f"    {label}"
            yield from (f"      {part}" for line in lines for part in folded(line, width - 6))
    yield from _rows([("note" if item.fix else "advice", item.advice)], width)


def _rows(rows: Iterable[tuple[str, str]], width: int) -> Iterator[str]:
    for label, text in rows:
        yield from wrapped(text, width, f"    {label:<{_LABEL}}", " " * (4 + _LABEL)) if text else ()


def folded(line: str, width: int) -> list[str]:
    """Split a shell command that is longer than `width` into lines that end with a backslash. Quoted strings are never
    split."""
    head, mark, rest = line.partition(" >")
    if len(line) <= width or not mark or "'" in line:
        return [line]
    indent = " " * (len(line) - len(line.lstrip()))
    return [f"{head} \\", f"{indent}  >{rest}"]


def _unchecked(items: Iterable[Unseen], width: int) -> Iterator[str]:
    yield "  not checked"
    for why, group in grouped(items, lambda item: item.why).items():
        yield from wrapped(f"{', '.join(item.what for item in group)}: {why}", width, "    ")


def disk_lines(disks: Sequence[Disk], width: int) -> Iterator[str]:
    """Yield the block devices: size, model, the names to use in a plan, and whether a job could write to the device."""
    writable = sum(disk.with_overwrite for disk in disks)
    count = f"{counted(len(disks), 'block device')}, {writable or 'none'} of them writable with consent"
    yield from wrapped(count, width)
    for disk in disks:
        size = decimal_size(disk.bytes) or "unknown size"
        yield ""
        yield "  " + "  ".join(text for text in (disk.device, size, disk.model) if text)
        yield from (f"    by-id   {name}" for name in disk.names[:1])
        if disk.serial:
            yield f"    serial  {disk.serial}"
        with_overwrite = "only with `overwrite: true` in `safety.destroys`" if disk.with_overwrite else "no"
        yield f"    target  {'yes' if disk.target else with_overwrite}"
        for item in disk.objections:
            unchecked = "not checked: " if item.ok is None else ""
            yield from wrapped(f"{item.check}: {unchecked}{item.detail or 'check failed'}", width, "      ")
