"""Identity based on content: the canonical JSON of a value, and the hashes of points and plans.

The hash of a plan covers everything that affects what is measured and how it is judged. Two plans with the same hash
measure the same settings in the same order on the same hosts, allow the same devices to be overwritten and apply the
same bounds. The hash does not cover file names, comments, descriptions or reports.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from functools import lru_cache
from operator import is_
from typing import Any

from asct.plan.model import HostSpec, PendingValue, Safety
from asct.planner.model import Check, Job, Point

POINT_DIGITS = 12


def _plain(value: Any) -> Any:
    """Encode types that `json` does not support. A pending value is encoded as its text and the other values that it
    reads."""
    if isinstance(value, PendingValue):
        return {"deferred": value.text, "values": dict(value.values)}
    if isinstance(value, Mapping):
        return dict(value)
    raise TypeError(f"{type(value).__name__} has no canonical form")


_ENCODER = json.JSONEncoder(sort_keys=True, separators=(",", ":"), ensure_ascii=False, allow_nan=False, default=_plain)


def canonical_json(value: Any) -> str:
    """Return the canonical JSON of a value: sorted keys, no spaces. Raises ValueError for NaN and TypeError for
    objects."""
    return _ENCODER.encode(value)


def digest(value: Any) -> str:
    """Return the SHA-256 (FIPS 180-4) of the canonical JSON in UTF-8, as 64 hex digits."""
    return hashlib.sha256(_ENCODER.encode(value).encode()).hexdigest()


def point_id(benchmark: str, version: str, settings: Mapping[str, Any]) -> str:
    """Return 12 hex digits that identify a set of settings for one version of a benchmark. These digits do not depend
    on the host or the order of the settings."""
    return PointIds(benchmark, version, settings).of({})


class PointIds:
    """Computes the ids of points that differ in only a few settings. The other settings are encoded only once, because
    encoding all of the approximately 70 settings for each point took a quarter of the time needed to check a large
    plan."""

    def __init__(self, benchmark: str, version: str, settings: Mapping[str, Any]) -> None:
        self._start = canonical_json([benchmark, version])[:-1]
        self._settings = {name: _pair(name, settings[name]) for name in sorted(settings)}

    def of(self, varying: Mapping[str, Any]) -> str:
        """Return the `point_id` of the settings after replacing values with those in `varying`, which must contain only
        names of these settings."""
        pairs = {**self._settings, **{name: _pair(name, value) for name, value in varying.items()}}
        text = f"{self._start},{{{','.join(pairs.values())}}}]"
        return hashlib.sha256(text.encode()).hexdigest()[:POINT_DIGITS]


def _pair(name: str, value: Any) -> str:
    return _known_pair(name, value) if type(value) in (int, str) else _encoded_pair(name, value)


def _encoded_pair(name: str, value: Any) -> str:
    return f"{canonical_json(name)}:{canonical_json(value)}"


_known_pair = lru_cache(maxsize=1 << 12)(_encoded_pair)
"""Encodes a pair whose value is an int or a str only once, because many points of a sweep share it. Equal values of
other types may have different texts (`0.0` and `-0.0`)."""


def frozen_key(value: Any) -> Any:
    """Return `value` as a hashable key that distinguishes `True` from `1`."""
    if isinstance(value, list | tuple):
        return tuple(frozen_key(item) for item in value)
    if isinstance(value, Mapping):
        return tuple(sorted((key, frozen_key(item)) for key, item in value.items()))
    return (type(value).__name__, value) if isinstance(value, bool) else value


def plan_hash(
    jobs: Sequence[Job],
    hosts: Mapping[str, HostSpec],
    checks: Sequence[Check],
    safety: Safety,
    baseline: str | None,
    *,
    confirm: bool = True,
) -> str:
    """Return the hash of a plan, as 64 hex digits. Hosts without a job are not included."""
    used = sorted({job.host for job in jobs})
    return digest(
        {
            "jobs": [_job(job) for job in jobs],
            "hosts": [_host(hosts[name]) for name in used],
            "checks": [_check(check) for check in checks if check.bounded and not check.unplanned],
            "destroys": sorted([d.host, d.device, d.serial, d.overwrite] for d in safety.destroys),
            "max_written": safety.max_written_bytes,
            "baseline": baseline,
            **({} if confirm else {"confirm": False}),  # earlier versions did not include this key
        }
    )


def job_seed(plan_digest: str, job: Job) -> int:
    """Return the seed for a job's random order: 32 bits derived from the plan and the job."""
    return int(hashlib.sha256(f"{plan_digest}:{job.key}".encode()).hexdigest()[:8], 16)


def split_settings(points: Sequence[Point]) -> tuple[dict[str, Any], list[dict[str, Any]]]:
    """Return the settings that all points share and, for each point, the settings that are neither shared nor swept
    (usually none)."""
    if not points:
        return {}, []
    first = points[0]
    fixed = {name: value for name, value in first.settings.items() if name not in first.swept}
    if all(_holds(point, fixed) and point.settings.keys() == first.settings.keys() for point in points):
        return fixed, [{}] * len(points)
    shared = {name: value for name, value in fixed.items() if all(_has(point, name, value) for point in points)}
    return shared, [
        {name: value for name, value in point.settings.items() if name not in shared and name not in point.swept}
        for point in points
    ]


def _holds(point: Point, fixed: Mapping[str, Any]) -> bool:
    """Return whether the point contains the same objects as `fixed`, which is usually true for points of one job.
    Comparing object identities is faster than comparing values."""
    return all(map(is_, map(point.settings.get, fixed), fixed.values()))


def _has(point: Point, name: str, value: Any) -> bool:
    found = point.settings.get(name, point)
    return found is value or bool(found == value and type(found) is type(value))


def _job(job: Job) -> dict[str, Any]:
    shared, rest = split_settings(job.points)
    names = ("id", "benchmark", "version", "host", "repeats", "warmup", "order", "strict", "needs")
    return {name: getattr(job, name) for name in names} | {
        "settings": shared,
        "points": [[point.id, list(point.swept), list(point.swept.values())] for point in job.points],
        "rest": [item for item in rest if item],
        "timeout": job.timeout_s,
        "retry": [job.retry.max, sorted(job.retry.on)],
    }


def _host(spec: HostSpec) -> dict[str, Any]:
    names = ("name", "transport", "address", "port", "user", "jump", "sudo", "workdir", "options")
    return {name: getattr(spec, name) for name in names}


def _check(check: Check) -> list[Any]:
    bounds = [check.min, check.max, check.relative_to, check.versus, check.no_worse_than]
    hosts = None if check.hosts is None else list(check.hosts)
    return [check.job_id, check.metric, dict(check.at), hosts, *bounds, check.severity, check.if_missing]
