"""What a test takes: usual and longest time, and the time in which it writes, all in seconds."""

from __future__ import annotations

from asct.benchmarks.storage_recovery.params import RecoveryParams
from asct.instruments.qualification.costs import START_SECONDS, longest_seconds, usual_seconds


def seconds_of(params: RecoveryParams) -> tuple[float, float, float]:
    """Of the test that the settings name."""
    load = params.load()
    own, repeated, writing = _behind(load)
    if params.test == "stimulus":
        return own, longest_seconds(load, ()) + own, writing
    steady = load.model_copy(update={"profile": "pts"})
    usual, longest = usual_seconds(steady, (load.phase,)), longest_seconds(steady, (load.phase,))
    return usual + own, longest + own + repeated, longest_writing(load) + writing + repeated


def longest_writing(params: RecoveryParams) -> float:
    """Time of all rounds until the steady state."""
    return params.rounds_max * params.round_time


def _behind(params: RecoveryParams) -> tuple[float, float, float]:
    """Time behind the steady state: usual, what more rounds may add, and the part of it that writes."""
    form = params.form()
    if params.test == "idle":
        bursts = form.bursts * len(form.waits)
        writing = bursts * form.burst_time + form.baseline_time * len(form.waits)
        return writing + bursts * START_SECONDS + form.bursts * sum(form.waits), 0.0, writing
    if params.test == "stimulus":
        spells = 2 * form.sequential_time + form.random_time
        return spells * (1.0 + START_SECONDS / params.round_time) + params.round_time, 0.0, spells
    cells = len(form.threads) * len(form.depths)
    matrix = form.prewrite_time + cells * (params.round_time + START_SECONDS)
    points = 3 * (form.settle_time + form.histogram_time + 2 * START_SECONDS)
    rounds = min(form.matrix_rounds, params.window)
    return rounds * matrix + points, (form.matrix_rounds - rounds) * matrix, rounds * matrix + points
