"""The content of a comparison, independent of its format."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Final

from asct.analysis.comparison import LEVEL, Change
from asct.analysis.diff.build import Diff
from asct.analysis.diff.differing import unknown_machines
from asct.analysis.diff.figures import JobFigures, delta_maps, figures_of, overlaid
from asct.analysis.diff.rows import DiffRow, DiffVerdict, RunDiff, by_change_in, by_importance
from asct.analysis.diff.source import Job
from asct.analysis.grid import (
    ABSENT,
    NO_VALUE,
    ColumnHead,
    TableCell,
    TextTable,
    Tone,
    distinct,
    plain,
    quantity_cell,
    slug,
    without_empty_columns,
)
from asct.sdk.benchmark import Catalog
from asct.sdk.figure import Figure, Heatmap
from asct.statistics.ranks import least_each
from asct.values.grouping import grouped, shortened
from asct.values.quantity import format_alike
from asct.values.text import counted

TONES: Final[dict[DiffVerdict, Tone]] = {
    "regressed": "bad", "improved": "good", "same": "", "too few visits": "unknown", "noisy": "unknown",
    "not comparable": "unknown", "added": "muted", "removed": "muted",
}  # fmt: skip
_MOST_NAMED: Final = 6
_HEADS: Final = (
    ColumnHead("Value"),
    ColumnHead("Base", "right"),
    ColumnHead("New", "right"),
    ColumnHead("Change [95 %]", "right", "Relative to the base, with its 95 % interval"),
    ColumnHead("Noise floor", "right", "The smallest change that can be distinguished from random variation"),
    ColumnHead("Verdict", kept=True),
)


@dataclass(frozen=True, slots=True)
class DiffPart:
    """The values of one job in one run: a table with one row per value, and matrices of changes."""

    title: str
    grid: TextTable
    maps: tuple[Heatmap, ...]


@dataclass(frozen=True, slots=True)
class DiffSection:
    """The comparison of one run with the base. `sentence` is empty if there is only one run, and `remarks` are
    sentences about values that are not in the tables."""

    title: str
    slug: str
    sentence: str
    tone: Tone
    notes: tuple[str, ...]
    parts: tuple[DiffPart, ...]
    remarks: tuple[str, ...]
    left_out: str
    """A sentence about values that are omitted because they are less important, or empty if there are none."""


@dataclass(frozen=True, slots=True)
class DiffReport:
    """A complete comparison: the verdict, what differs, and one section per run. Each figure in `figures` shows all
    runs."""

    title: str
    sentence: str
    tone: Tone
    notes: tuple[str, ...]
    runs: TextTable
    differing: TextTable | None
    """What differs between the runs apart from their values, or None if nothing does."""
    sections: tuple[DiffSection, ...]
    figures: tuple[Figure, ...]


def build_report(diff: Diff, catalog: Catalog, most: int) -> DiffReport:
    """Return the content of a comparison. The tables contain at most `most` values per run, chosen by importance."""
    figures = [figures_of(source, catalog) for source in diff.sources]
    titles = distinct(source.title for source in diff.sources)
    sides = ["base", "new"] if len(diff.runs) == 1 else ["base", *titles[1:]]
    slugs = distinct(f"run-{slug(title)}" for title in titles[1:])
    sections = []
    for run, unique, own in zip(diff.runs, slugs, figures[1:], strict=True):
        listed = _listed(diff, run, catalog)
        section = _section(run, unique, listed, most, delta_maps(figures[0], own, run.hosts))
        sections.append(section if len(diff.runs) > 1 else replace(section, title="Values", sentence=""))
    return DiffReport(
        title=f"{', '.join(titles[1:])} compared with {titles[0]}",
        sentence=_all_counts(diff.runs),
        tone=_tone(diff.runs),
        notes=(*_notes(diff), *unknown_machines(diff.sources)),
        runs=_runs_grid(diff, sides),
        differing=_differing_grid(diff, sides),
        sections=tuple(sections),
        figures=tuple(_figures(diff, sides, figures)),
    )


def counts_text(run: RunDiff) -> str:
    """Return the number of values with each verdict, such as `2 regressed, 1 improved, 19 same`."""
    counts = run.counts()
    parts = [f"{counts[word]} {word}" for word in counts if counts[word] or word in ("regressed", "improved", "same")]
    return ", ".join(parts) if run.judged else f"nothing can be compared ({', '.join(parts[3:]) or 'no values'})"


def _all_counts(runs: Sequence[RunDiff]) -> str:
    if len(runs) == 1:
        return counts_text(runs[0])
    return "; ".join(f"{run.run.title}: {counts_text(run)}" for run in runs)


def _tone(runs: Sequence[RunDiff]) -> Tone:
    if any(run.counts()["regressed"] for run in runs):
        return "bad"
    return "unknown" if any(run.undecided or run.run.gaps or not run.judged for run in runs) else "good"


def _notes(diff: Diff) -> Iterator[str]:
    if diff.why:
        yield f"the base is the baseline of the plan, {diff.base.name} ({diff.why})"
    for source in diff.sources:
        yield from (f"{source.name} {gap}" for gap in source.gaps)


def _runs_grid(diff: Diff, sides: Sequence[str]) -> TextTable:
    titles = ("Run", "Name", "Label", "Started")
    heads = (*map(ColumnHead, titles), ColumnHead("Values", "right"))
    rows = tuple(
        tuple(map(TableCell, (side, source.name, source.label, source.started_at, f"{len(source.records):,}")))
        for side, source in zip(sides, diff.sources, strict=True)
    )
    return without_empty_columns(TextTable("runs", "Runs", heads, rows))


def _differing_grid(diff: Diff, sides: Sequence[str]) -> TextTable | None:
    heads = (ColumnHead("Property"), *(ColumnHead(side[:1].upper() + side[1:], kept=True) for side in sides))
    rows = tuple(
        (TableCell(item.title), *(TableCell(text or ABSENT) for text in item.texts)) for item in diff.differing
    )
    return TextTable("differing", "What differs", heads, rows) if rows else None


def _listed(diff: Diff, run: RunDiff, catalog: Catalog) -> list[DiffRow]:
    """Return the values that both runs contain, in display order."""
    rows = [row for row in run.rows if row.change is not None]
    return by_importance(rows, catalog) if diff.sorted_by is None else by_change_in(diff.sorted_by, rows)


def _section(
    run: RunDiff, unique: str, listed: Sequence[DiffRow], most: int, maps: Mapping[Job, Sequence[Heatmap]]
) -> DiffSection:
    rows_by_job = grouped(listed[:most], lambda row: (row.group.host, row.group.id))
    shared = {row.change.shared.removeprefix("; ") for row in listed if row.change is not None and row.change.shared}
    jobs = dict.fromkeys((*rows_by_job, *maps))
    left, what = len(listed) - len(listed[:most]), "with less important changes"
    more = counted(left, f"more value {what} is", f"more values {what} are")
    return DiffSection(
        title=run.run.title,
        slug=unique,
        sentence=counts_text(run),
        tone=_tone([run]),
        notes=(*run.notes, *sorted(shared)),
        parts=tuple(_part(run, job, rows_by_job.get(job, ()), maps.get(job, ()), unique) for job in jobs),
        remarks=(*_reasons(run), *_few(listed), *_one_sided(run)),
        left_out=f"{more} listed in the CSV and JSON formats" if left else "",
    )


def _part(run: RunDiff, job: Job, rows: Sequence[DiffRow], maps: Sequence[Heatmap], unique: str) -> DiffPart:
    host, job_id = job
    title = f"{plain(job_id)} on {plain(host)}" if len(run.run.hosts) > 1 else plain(job_id)
    name = f"{unique}-{slug(job_id)}-{slug(host)}"
    grid = TextTable(name, title, _HEADS, tuple(map(_cells, rows)))
    return DiffPart(title, grid, tuple(replace(one, slug=f"{name}-{slug(one.slug)}") for one in maps))


def _cells(row: DiffRow) -> tuple[TableCell, ...]:
    assert row.change is not None
    verdict = row.verdict
    return (
        TableCell(row.label, row.label),
        *_value_cells(row),
        TableCell(change_text(row), row.percent or 0.0),
        _noise(row.change),
        TableCell(verdict, verdict, TONES[verdict], row.change.reason),
    )


def _value_cells(row: DiffRow) -> tuple[TableCell, TableCell]:
    """Return the cells of both values: in one unit, unless a value is missing or 0, the units differ, or the values
    differ by a factor of 1000 or more."""
    unit = row.group.record.unit
    if not row.base or row.new is None or row.base_unit != unit or not 1e-3 < abs(row.new / row.base) < 1e3:
        return quantity_cell(row.base, row.base_unit, 3), quantity_cell(row.new, unit, 3)
    base, new = format_alike((row.base, row.new), unit)
    return TableCell(base, row.base), TableCell(new, row.new)


def _noise(change: Change) -> TableCell:
    """Return the noise floor, or a dash if the values cannot be compared or are single samples whose noise is
    unknown."""
    known = not change.reason and (change.noise or max(change.samples) > 1)
    return TableCell(f"{100 * change.noise:.1f} %", change.noise) if known else NO_VALUE


def change_text(row: DiffRow) -> str:
    """Return the change with its interval, such as `-3.4 % [-4.0, -2.9]`."""
    if row.percent is None or row.change is None:
        return ABSENT
    interval = row.change.interval
    ends = "" if interval is None else " [{}, {}]".format(*(_signed(100.0 * end) for end in interval))
    return f"{_signed(row.percent)} %{ends}"


def _signed(percent: float) -> str:
    return f"{percent:+z.1f}" if abs(percent) < 99.95 else f"{percent:+,.0f}"


def _reasons(run: RunDiff) -> Iterator[str]:
    """Yield one sentence for each reason why values cannot be compared."""
    rows = [row for row in run.rows if row.change is not None and row.verdict == "not comparable"]
    for reason, same in grouped(rows, lambda row: row.change.reason if row.change else "").items():
        yield f"not comparable: {_row_names(same)}: {reason}"


def _few(rows: Sequence[DiffRow]) -> Iterator[str]:
    """Yield a sentence about changes that may be due to chance, with the number of visits needed to decide this."""
    few = [row.change for row in rows if row.change is not None and row.verdict == "too few visits"]
    if few:
        least = least_each(LEVEL, few[0].tests)
        yield (
            f"too few visits to tell whether the change is due to chance: {len(few):,} of {len(rows):,} values; "
            f"measure {least} visits or repeats in each run, or compare fewer values (-k)"
        )
    noisy = [row for row in rows if row.verdict == "noisy"]
    if noisy:
        yield f"noisy, so the change may be due to other programs: {_row_names(noisy)}; measure again on a quiet host"


def _one_sided(run: RunDiff) -> Iterator[str]:
    for verdict, side in (("added", "this run"), ("removed", "the base")):
        rows = [row for row in run.rows if row.verdict == verdict]
        if rows:
            yield f"{verdict} (only in {side}): {_row_names(rows)}"


def _row_names(rows: Sequence[DiffRow]) -> str:
    """Return the names of values, or of their metrics if there are many."""
    if len(rows) <= _MOST_NAMED:
        return "; ".join(row.name for row in rows)
    metrics = grouped(rows, lambda row: f"{plain(row.group.id)}.{plain(row.group.metric)}")
    return f"{len(rows):,} values of {shortened(list(metrics), _MOST_NAMED)}"


def _figures(diff: Diff, sides: Sequence[str], figures: Sequence[JobFigures]) -> Iterator[Figure]:
    """Yield the figures that show the curves of the base together with those of the runs that measured the same job."""
    for host, job_id in figures[0]:
        by_side = {sides[0]: figures[0][host, job_id]}
        for run, side, own in zip(diff.runs, sides[1:], figures[1:], strict=True):
            name = next((after for after, before in run.hosts.items() if before == host), "")
            by_side[side] = own.get((name, job_id), ())
        yield from overlaid(job_id, host if len(diff.base.hosts) > 1 else "", by_side)
