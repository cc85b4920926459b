"""The steady state that a test begins in: its rounds, and what speaks against it."""

from __future__ import annotations

from collections.abc import Iterator

from asct.benchmarks.storage_recovery.params import RecoveryParams
from asct.instruments.qualification.history import History, Verdict
from asct.instruments.qualification.journal import Journal
from asct.instruments.qualification.results import NOT_STEADY
from asct.sdk.record import Measurement


def steady_values(params: RecoveryParams, journal: Journal, marks: tuple[str, ...]) -> Iterator[Measurement]:
    """Whether it was reached, after how many rounds, at which rate. Raises ValueError for too few rounds."""
    history = History(journal, params.phase)
    verdict = history.verdict()
    if verdict.reason == "rounds":
        raise ValueError(f"only {history.rounds} rounds were ended, and the window has {params.window}")
    flags = (*marks, *_against(verdict))
    yield Measurement("steady", float(verdict.steady), flags=flags)
    yield Measurement("rounds", float(history.rounds), flags=flags)
    for _, window in verdict.windows:
        yield Measurement("steady_iops", window.mean, flags=flags)


def level_flags(params: RecoveryParams, journal: Journal) -> tuple[str, ...]:
    """What the values behind a steady state that was not reached are flagged with."""
    return _against(History(journal, params.phase).verdict())


def _against(verdict: Verdict) -> tuple[str, ...]:
    return () if verdict.steady else (NOT_STEADY, f"not-steady-{verdict.reason}")
