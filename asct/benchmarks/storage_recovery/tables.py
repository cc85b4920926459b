"""Tables: pauses, spells and the recovery, operating points and the matrix; bursts and rounds for exports."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

from asct.benchmarks.storage_recovery.params import SCATTER, STREAM
from asct.instruments.fio.devices import device_table
from asct.instruments.qualification.responses import PERCENTILES
from asct.instruments.qualification.settings import size_name
from asct.sdk.figure import Column, Table
from asct.sdk.record import Record, Scalar
from asct.sdk.rows import at, by_point, flags_of, middle

_US: Final = 1e-6
_MB: Final = 1e6
_FLAGS: Final = Column("flags", "Flags", format="text")
_PAUSES: Final = (
    Column("wait", "Pause (s)", digits=1),
    Column("recovered_iops", "IOPS of bursts", digits=0),
    Column("baseline_iops", "IOPS without pauses", digits=0),
    Column("idle_gain", "Gain (times)", digits=2),
    Column("settling_time", "Settled after (s)", digits=1, help="of the writes without pauses after the bursts"),
    Column("idle_time", "True pause (s)", digits=2),
)
_SPELLS: Final = (
    Column("spell", "Spell", format="text"),
    Column("load", "Load", format="text"),
    Column("spell_length", "Time (s)", digits=0),
    Column("level_bandwidth", "TP at the end (MB/s)", _MB),
    Column("mean_latency", "ART (us)", _US, help="mean response time"),
    Column("max_latency", "MRT (us)", _US, help="maximum response time"),
    Column("recovered_share", "Share of first", digits=3, help="level relative to the first stream"),
    Column("recovery_time", "Recovered after (s)", digits=1),
)
_POINTS: Final = (
    Column("point", "Point", format="text"),
    Column("numjobs", "Jobs", format="integer"),
    Column("iodepth", "Depth", format="integer"),
    Column("point_iops", "IOPS", digits=0),
    Column("point_latency", "Mean lat. (us)", _US),
    *(Column(f"response_{name}", f"p{percent:g} (us)", _US) for name, percent in PERCENTILES.items()),
    Column("response_max", "Max lat. (us)", _US),
)
_MATRIX: Final = (
    Column("numjobs", "Jobs", format="integer"),
    Column("iodepth", "Depth", format="integer"),
    Column("demand_iops", "IOPS", digits=0),
    Column("demand_latency", "Mean lat. (us)", _US),
)
_BURSTS: Final = (
    Column("wait", "Pause (s)", digits=1),
    Column("burst", "Burst", format="integer"),
    Column("burst_iops", "IOPS"),
    Column("burst_latency", "Mean lat. (us)", _US),
)
_ROUNDS: Final = (
    Column("spell", "Spell", format="text"),
    Column("round", "Round", format="integer"),
    Column("spell_time", "Time (s)"),
    Column("spell_bandwidth", "TP (MB/s)", _MB),
    Column("spell_latency", "ART (us)", _US),
    Column("spell_latency_max", "MRT (us)", _US),
)
_LOADS: Final[Mapping[str, str]] = {
    "before": f"sequential {size_name(STREAM.block_size)} writes",
    "between": f"random {size_name(SCATTER.block_size)} writes",
    "after": f"sequential {size_name(STREAM.block_size)} writes",
}
_ORDER: Final = {spell: float(place) for place, spell in enumerate(_LOADS)}
UNITS_NOTE: Final = "MB = 1,000,000 bytes"


def all_tables(records: Sequence[Record]) -> tuple[Table, ...]:
    """All non-empty tables."""
    fast = any("fast" in record.flags for record in records)
    form = " (fast: short form)" if fast else ""
    tables = (
        _table("storage-recovery-idle", f"Host idle recovery{form}", _PAUSES, records, ("wait",), "idle_gain"),
        _spells(records, form),
        _points(records, form),
        _table(
            "storage-recovery-demand", f"Demand by jobs and depth{form}", _MATRIX, records, ("numjobs", "iodepth"),
            "demand_iops",
        ),
        _table(
            "storage-recovery-bursts", "Every burst", _BURSTS, records, ("wait", "burst"), "burst_iops", bulk=True
        ),
        _table(
            "storage-recovery-rounds", "Every round", _ROUNDS, records, ("spell", "round"), "spell_bandwidth", bulk=True
        ),
    )  # fmt: skip
    return (*(table for table in tables if table.rows), *device_table(records, "storage-recovery"))


def _table(
    slug: str,
    title: str,
    columns: Sequence[Column],
    records: Sequence[Record],
    keys: Sequence[str],
    leading: str,
    bulk: bool = False,
) -> Table:
    """A row for each place of `leading`: its coordinates, and every metric of the columns there."""
    rows: list[dict[str, Scalar | None]] = []
    shown: list[Record] = []
    for mine in by_point(records):
        found = _by_place(mine, keys)
        for place in sorted({place for metric, place in found if metric == leading}, key=_rank):
            here = {column.key: found.get((column.key, place), []) for column in columns if column.key not in keys}
            members = [record for repeats in here.values() for record in repeats]
            shown += members
            cells: dict[str, Scalar | None] = dict(zip(keys, place, strict=True))
            cells |= {key: middle(repeats) for key, repeats in here.items()}
            rows.append(cells | {"flags": ", ".join(flags_of(members))})
    notes = () if bulk else (UNITS_NOTE,)
    return Table(slug, title, (*columns, _FLAGS), tuple(rows), notes, flags_of(shown), bulk=bulk)


def _by_place(records: Sequence[Record], keys: Sequence[str]) -> dict[tuple[str, tuple[Scalar, ...]], list[Record]]:
    """The repeats of each value with exactly these coordinates."""
    found: dict[tuple[str, tuple[Scalar, ...]], list[Record]] = {}
    for record in records:
        if set(record.coords) == set(keys):
            found.setdefault((record.metric, tuple(record.coords[key] for key in keys)), []).append(record)
    return found


def _rank(place: tuple[Scalar, ...]) -> tuple[tuple[int, float, str], ...]:
    order = {"before": 0.0, "between": 1.0, "after": 2.0}
    return tuple(
        (0, float(one), "") if isinstance(one, int | float) else (1, order.get(one, 0.0), one) for one in place
    )


def _spells(records: Sequence[Record], form: str) -> Table:
    """A row per spell; the last one shows the recovery."""
    rows: list[dict[str, Scalar | None]] = []
    notes = [UNITS_NOTE, "TP: throughput, the median of the last rounds of a phase"]
    for mine in by_point(records):
        for spell, load in _LOADS.items():
            if not at(mine, "level_bandwidth", spell=spell):
                continue
            last = spell == "after"
            cells: dict[str, Scalar | None] = {"spell": spell, "load": load}
            for key in ("spell_length", "level_bandwidth", "mean_latency", "max_latency"):
                cells[key] = middle(at(mine, key, spell=spell))
            cells |= {key: middle(at(mine, key)) if last else None for key in ("recovered_share", "recovery_time")}
            rows.append(cells | {"flags": ", ".join(flags_of(at(mine, "level_bandwidth", spell=spell)))})
        if any(record.value == 0.0 for record in at(mine, "recovered")):
            notes.append("The stream did not recover to its level within the last phase")
    return Table(
        "storage-recovery-stimulus", f"Cross stimulus recovery{form}", (*_SPELLS, _FLAGS), tuple(rows),
        tuple(dict.fromkeys(notes)), flags_of(at(records, "level_bandwidth")),
    )  # fmt: skip


def _points(records: Sequence[Record], form: str) -> Table:
    rows: list[dict[str, Scalar | None]] = []
    for mine in by_point(records):
        for name in dict.fromkeys(str(record.coords["point"]) for record in at(mine, "point_iops")):
            rates = at(mine, "point_iops", point=name)
            cells: dict[str, Scalar | None] = {
                column.key: middle(at(mine, column.key, point=name)) for column in _POINTS
            }
            cells |= {"point": name, **{key: rates[0].coords.get(key) for key in ("numjobs", "iodepth")}}
            rows.append(cells | {"flags": ", ".join(flags_of(rates))})
    note = "max, mid, min: highest, median and lowest IOPS of the workloads within the limit of mean latency"
    title = f"Operating points and their response times{form}"
    flags = flags_of(at(records, "point_iops"))
    return Table("storage-recovery-points", title, (*_POINTS, _FLAGS), tuple(rows), (note,), flags)
