"""Convert results of Arm's ASCT 0.5 and 0.6 to runs that `asct diff` can compare."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from datetime import UTC, datetime
from functools import cache
from pathlib import Path
from typing import Any, Final

from asct.analysis.agreement import RecordKey, record_key
from asct.analysis.diff.arm_facts import arm_facts, node_count
from asct.analysis.diff.arm_folder import SYSTEM, ArmFolder, read_folder
from asct.analysis.diff.arm_recipes import RECIPES, TICK_METRICS, ArmRecipe, ArmValue
from asct.analysis.diff.source import DiffSource
from asct.analysis.grid import plain
from asct.planner.identity import point_id
from asct.sdk.benchmark import Catalog
from asct.sdk.metric import Better
from asct.sdk.record import Record, Scalar
from asct.values.text import counted
from asct.values.timestamp import stamp

TOOL: Final = "Arm ASCT"
_HOST: Final = "local"
_LATEST_S: Final = 4102444800.0
"""2100-01-01 in seconds since the epoch."""
_SETTINGS: Final[Mapping[str, str]] = {
    "all_cpus": "all_cpus",
    "blocksize": "block_size",
    "create_temp_file": "create_temp_file",
    "data_size": "data_size",
    "direct": "direct",
    "duration": "duration",
    "filenames": "file_names",
    "filesize": "filesize",
    "injected_nops": "injected_nops",
    "iodepth": "iodepth",
    "ioengine": "engine",
    "latency_cpu_id": "latency_cpu_id",
    "numjobs": "numjobs",
    "phase": "phase",
    "rw_pattern": "rw",
    "rwmixread": "rwmixread",
    "workload_cmd": "workload_cmd",
}
"""Maps the ASCT settings that `diff` shows to their names in asct."""
_DISPLAY: Final = frozenset({"cycle_base", "heatmap_vmax", "hist_bins"})
"""ASCT settings that do not affect what is measured."""


def read_arm_asct(root: Path, catalog: Catalog) -> DiffSource:
    """Return the results in a folder that ASCT wrote. Raises the same errors as `read_folder`."""
    folder = read_folder(root)
    system = folder.results[SYSTEM].data if SYSTEM in folder.results else None
    found = [item for name in folder.results for item in _records(folder, name, catalog, node_count(system))]
    first = {name: record for name, record, *_ in reversed(found)}
    return DiffSource(
        name=plain(str(root)),
        root=root,
        tool=TOOL,
        version=plain(folder.version),
        records=tuple(record for _, record, *_ in found),
        started_at=_started(folder.metadata.get("timestamp")),
        machines={} if system is None else {_HOST: arm_facts(system)},
        settings={(_HOST, record.id): _settings(folder.config(name), record) for name, record in first.items()},
        gaps=tuple(folder.gaps),
        notes=tuple(folder.notes),
        unlike={place: reason for *_, place, reason in found if reason},
    )


def _records(
    folder: ArmFolder, name: str, catalog: Catalog, nodes: int | None
) -> Iterator[tuple[str, Record, RecordKey, str]]:
    """For each value of a recipe, yield the recipe's name, a record, the record's location, and the reason, if any, why
    the value cannot be compared with values from asct. Add a note if cells have no value."""
    result, benchmark = folder.results[name], catalog.get(name) if name in RECIPES else None
    if result.data is None or benchmark is None:
        return
    recipe = ArmRecipe(str(folder.root / result.place), result.data, result.summary, folder.config(name), nodes)
    settings = {key: repr(value) for key, value in folder.requested(name).items() if key not in _DISPLAY}
    settings["quick_mode"] = folder.option("quick_mode") or "False"
    identify = cache(lambda step: point_id(benchmark.name, TOOL, {**settings, "step": step}))
    metrics = {**TICK_METRICS, **{metric.name: (metric.unit, metric.better) for metric in benchmark.metrics}}
    repeats: Counter[RecordKey] = Counter()
    for value in RECIPES[name](recipe):
        record = _record(value, benchmark.name, metrics, identify(repr(value.point)), result.place)
        place = record_key(record)
        repeats[place] += 1
        record.repeat = repeats[place]
        yield name, record, place, value.unlike
    if blank := sum(table.blank for table in recipe.tables):
        folder.note(f"{result.place}: {counted(blank, 'cell has', 'cells have')} no value")


def _record(
    value: ArmValue, benchmark: str, metrics: Mapping[str, tuple[str, Better]], point_id: str, raw: str
) -> Record:
    unit, better = metrics[value.metric]
    return Record(
        run="",
        plan="",
        host=_HOST,
        benchmark=benchmark,
        id=benchmark,
        version=TOOL,
        point={name: _safe(step) for name, step in value.point.items()},
        coords={name: _safe(at) for name, at in value.coords.items()},
        point_id=point_id,
        repeat=1,
        metric=value.metric,
        value=value.value,
        unit=unit,
        better=better,
        raw=raw,
    )


def _safe(value: Scalar) -> Scalar:
    return plain(value) if isinstance(value, str) else value


def _settings(config: Mapping[str, Any], record: Record) -> dict[str, Any]:
    """Return the settings to show, excluding the swept setting and any that ASCT did not set (in sweeps, for example,
    `data_size` is 0)."""
    settings = {_SETTINGS[name]: value for name, value in config.items() if name in _SETTINGS}
    unused = {*record.point, *(["data_size"] if settings.get("data_size") == 0 else [])}
    return {name: value for name, value in settings.items() if name not in unused and _is_plain(value)}


def _is_plain(value: object) -> bool:
    items = value if isinstance(value, list) else [value]
    return all(isinstance(item, str | int | float) for item in items)


def _started(timestamp: object) -> str:
    """Convert seconds since the epoch to a timestamp, or return an empty string if the time is unknown."""
    if isinstance(timestamp, bool) or not isinstance(timestamp, int | float) or not 0 < timestamp < _LATEST_S:
        return ""
    return stamp(datetime.fromtimestamp(timestamp, UTC))
