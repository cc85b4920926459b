"""Compare values that different tools measured.

Such values never have the same version and settings. They are comparable if both runs recorded the same load, and if
the module that reads the other tool's files gives no reason why they are not.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Final

from asct.analysis.diff.source import DiffSource
from asct.analysis.grid import plain, shown
from asct.analysis.groups import MetricGroup

_LOAD: Final = ("block_size", "data_size", "direct", "iodepth", "numjobs", "rw", "rwmixread")
"""The settings that must be equal if both tools recorded them. Others, such as the duration, only affect how certain a
value is."""


def aligned(base: DiffSource, new: DiffSource, before: MetricGroup, after: MetricGroup) -> tuple[MetricGroup, str]:
    """Return the base's value `before`, relabeled with the version and the settings of `after`, and the reason why the
    two cannot be compared, if any. If the same tool measured both, `before` is unchanged, and the reason is empty."""
    if base.tool == new.tool:
        return before, ""
    first = after.records[0]
    same = {"version": first.version, "point_id": first.point_id}
    reason = base.unlike.get(before.key) or new.unlike.get(after.key) or _other_load(base, new, before, after)
    return replace(before, records=tuple(record.model_copy(update=same) for record in before.records)), reason


def _other_load(base: DiffSource, new: DiffSource, before: MetricGroup, after: MetricGroup) -> str:
    first, second = base.settings.get((before.host, before.id), {}), new.settings.get((after.host, after.id), {})
    for name in _LOAD:
        one, other = first.get(name), second.get(name)
        if name not in after.at and None not in (one, other) and one != other:
            return f"the base was measured with {name} {plain(shown(one))}, this run with {plain(shown(other))}"
    return ""
