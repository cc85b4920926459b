"""Coverage between two reports. Its uncertainty depends on how late the host starts programs."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from asct.instruments.fio.counters import MeasuredWindow, coverage_of
from asct.instruments.fio.document import Document, FioStatus
from asct.instruments.fio.params import FioParams
from asct.instruments.guard_output import CounterSample, GuardOutput

PARAMS = FioParams(duration=2.0, ramp_time=1.0)
RATE = 1_000_000


def watch_at(seconds: Sequence[float], bytes_a_second: float = RATE) -> GuardOutput:
    samples = tuple(
        CounterSample(round(s * 1e9), round(s * 1e9), None, None, ((0, round(s * bytes_a_second), 0, 0, 0, 0, 0),))
        for s in seconds
    )
    return GuardOutput((), (), (), samples, 0, "", 0, round(seconds[-1] * 1e9))


def document_at(stamps: Sequence[float]) -> Document:
    def report(second: float) -> FioStatus:
        return FioStatus(second * 1000, [{"read": {"io_bytes": round(second * RATE)}}])

    job = type("Job", (), {"directions": {"read": None}})()
    return Document("fio-3.33", stamps[-1], [job], [report(second) for second in stamps], ())


@pytest.mark.parametrize(("late_s", "missing"), [(0.0, True), (0.5, False)])
def test_a_late_host_makes_it_less_sure(late_s: float, missing: bool) -> None:
    """If only nine tenths of the bytes are counted, bytes are missing, unless guard itself was so late that the reports
    may have been late, too."""
    moments = [0.1 * step for step in range(15)] + [1.5 + late_s + 0.1 * step for step in range(20)]
    found = coverage_of(
        PARAMS, document_at([1.0, 2.0, 3.0, 3.1]), watch_at(moments, 0.9 * RATE), MeasuredWindow(1e9, 3e9, 0.0)
    )
    assert found.ratio == pytest.approx(0.9)
    assert found.missing is missing


def test_an_idle_host_is_sure_to_a_few_percent() -> None:
    moments = [0.1 * step for step in range(40)]
    found = coverage_of(PARAMS, document_at([1.0, 2.0, 3.0, 3.1]), watch_at(moments), MeasuredWindow(1e9, 3e9, 0.0))
    assert found.ratio == pytest.approx(1.0)
    assert found.uncertainty == pytest.approx(0.02)
