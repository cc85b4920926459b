"""The metrics of storage-recovery."""

from __future__ import annotations

from typing import Final

from asct.instruments.qualification.metrics import TARGET
from asct.instruments.qualification.responses import response_metrics
from asct.sdk.metric import Metric

Coords = dict[str, tuple[str, ...] | None]
_WAIT: Final[Coords] = {"wait": None}
_BURST: Final[Coords] = {"wait": None, "burst": None}
_SPELL: Final[Coords] = {"spell": ("before", "between", "after")}
_ROUND: Final[Coords] = {**_SPELL, "round": None}
_LOAD: Final[Coords] = {"numjobs": None, "iodepth": None}
_POINT: Final[Coords] = {"point": ("max", "mid", "min", "none")}

METRICS: Final[tuple[Metric, ...]] = (
    Metric("idle_gain", "1", "higher", "Rate of bursts after pauses over that of writing without a pause", _WAIT),
    Metric("recovered_iops", "ops/s", "higher", "Requests per second of the bursts after pauses", _WAIT),
    Metric("baseline_iops", "ops/s", "higher", "Requests per second of writing without a pause, behind them", _WAIT),
    Metric("settling_time", "s", "neither", "Time of that writing until its level changed no more", _WAIT, False),
    Metric("idle_time", "s", "neither", "Pause between bursts, as it was", _WAIT, False),
    Metric("burst_iops", "ops/s", "higher", "Requests per second of one burst", _BURST, False),
    Metric("burst_latency", "s", "lower", "Mean time of a request of one burst", _BURST, False),
    Metric("recovery_time", "s", "lower", "Time of the second stream until it was back at the level of the first"),
    Metric("recovered", "1", "higher", "1: the stream came back to its level; 0: it did not"),
    Metric("recovered_share", "1", "higher", "Level of the second stream over that of the first"),
    Metric("level_bandwidth", "B/s", "higher", "Bytes per second that a spell came to", _SPELL),
    Metric("mean_latency", "s", "lower", "Mean time of a request of a spell", _SPELL),
    Metric("max_latency", "s", "lower", "Longest time of a request of a spell", _SPELL),
    Metric("spell_length", "s", "neither", "Time of a spell", _SPELL, False),
    Metric("spell_bandwidth", "B/s", "higher", "Bytes per second in one round of a spell", _ROUND, False),
    Metric("spell_latency", "s", "lower", "Mean time of a request in one round of a spell", _ROUND, False),
    Metric("spell_latency_max", "s", "lower", "Longest time of a request in one round of a spell", _ROUND, False),
    Metric("spell_time", "s", "neither", "Time under load until the end of a round, all spells", _ROUND, False),
    Metric("point_iops", "ops/s", "higher", "Requests per second of an operating point", {**_POINT, **_LOAD}),
    Metric("point_latency", "s", "lower", "Mean time of a request at an operating point", _POINT),
    *response_metrics(_POINT),
    Metric("demand_iops", "ops/s", "higher", "Requests per second at a load", _LOAD),
    Metric("demand_latency", "s", "lower", "Mean time of a request at a load", _LOAD),
    Metric("matrix_rounds", "1", "neither", "Rounds of the matrix", comparable=False),
    Metric("steady", "1", "higher", "1: the steady state was reached before the test; 0: it was not", {}, False),
    Metric("rounds", "1", "neither", "Rounds until then", {}, False),
    Metric("steady_iops", "ops/s", "higher", "Requests per second in the steady state"),
    *TARGET,
)
