"""What a job will cost, from what the benchmark says of each point: time, bytes written, privileges."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from asct.planner.model import Deferred, Job, Point
from asct.sdk.benchmark import Benchmark
from asct.sdk.facts import HostFacts
from asct.sdk.needs import Privilege


@dataclass(frozen=True, slots=True)
class Cost:
    """Of a whole job, all repeats and warm-ups. `writes` is at most about so many bytes per target path ("" is the
    scratch file): how fast a drive writes is only known afterwards."""

    seconds: float = 0.0
    writes: Mapping[str, int] = field(default_factory=dict)
    purges: tuple[str, ...] = ()
    """Targets that are wiped whole."""
    scratch_bytes: int = 0
    """The largest scratch file; it exists once."""
    memory_bytes: int = 0
    privileges: tuple[Privilege, ...] = ()
    targets: tuple[str, ...] = ()
    kernels: tuple[str, ...] = ()
    tools: tuple[str, ...] = ()


def known_settings(point: Point) -> dict[str, Any]:
    """Settings without those that wait for results: the benchmark estimates with its defaults for them."""
    return {name: value for name, value in point.settings.items() if not isinstance(value, Deferred)}


def cost(job: Job, benchmark: Benchmark[Any], facts: HostFacts | None = None) -> Cost:
    """The cost of a job; without facts the benchmark estimates for a machine it has not seen.

    Raises pydantic.ValidationError only for a job that this version of the benchmark does not take.
    """
    times = job.repeats + job.warmup
    seconds, scratch, memory = 0.0, 0, 0
    writes: Counter[str] = Counter()
    seen: dict[str, dict[str, None]] = {"targets": {}, "purges": {}, "kernels": {}, "tools": {}}
    rights: dict[Privilege, None] = {}
    for point in job.points:
        params = benchmark.params_model.model_validate(known_settings(point))
        needs = benchmark.needs(params, facts)
        seconds += needs.seconds * times
        memory = max(memory, needs.memory_bytes)
        scratch = max(scratch, needs.scratch.bytes if needs.scratch else 0)
        for target, amount in needs.writes_bytes:
            writes[target] += amount * times
        rights |= dict.fromkeys(needs.rights)
        seen["targets"] |= dict.fromkeys(needs.targets)
        seen["purges"] |= dict.fromkeys(needs.purges)
        seen["kernels"] |= dict.fromkeys(needs.kernels)
        seen["tools"] |= dict.fromkeys(name for name, _ in needs.tools)
    named = {key: tuple(values) for key, values in seen.items()}
    return Cost(
        seconds=seconds,
        writes=dict(writes),
        scratch_bytes=scratch,
        memory_bytes=memory,
        privileges=tuple(rights),
        **named,
    )


def estimate(job: Job, benchmark: Benchmark[Any], facts: HostFacts | None = None) -> float:
    """Seconds that all repeats and warm-ups of a job will take."""
    return cost(job, benchmark, facts).seconds
