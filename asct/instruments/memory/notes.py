"""Notes below the tables of latency benchmarks. They describe the memory in which a latency was measured."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from asct.values.size import about_size

if TYPE_CHECKING:
    from asct.sdk.record import Record


def working_set_note(records: Sequence[Record], latency: str) -> tuple[str, ...]:
    """Return a sentence that states the working set (`data_size`) and the page size of `latency`, or an empty tuple if
    they are unknown."""
    sizes, pages = (_values(records, metric) for metric in ("data_size", "page_size"))
    return (f"{latency}: measured with random loads over {sizes}, in {pages} pages.",) if sizes and pages else ()


def _values(records: Sequence[Record], metric: str) -> str:
    values = sorted({int(record.value) for record in records if record.metric == metric})
    return " or ".join(about_size(value) for value in values)
