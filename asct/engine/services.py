"""The services outside the engine that a run uses, and the context shared by its hosts, jobs and repeats."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from asct.engine.events import EventBus
from asct.engine.stop import StopRequest
from asct.hosts.base import Host
from asct.plan.model import HostSpec
from asct.planner.model import Job, ResolvedPlan
from asct.sdk.benchmark import Benchmark, Catalog
from asct.sdk.facts import HostFacts
from asct.store.layout import RepeatKey
from asct.store.model import Status
from asct.store.writer import RunWriter
from asct.toolchain.provide import BuiltKernel


@dataclass(frozen=True, slots=True)
class Services:
    """Access to benchmarks, transports, facts and measurement kernels. The services are passed as an argument, so that
    tests can replace each service."""

    catalog: Catalog
    make_host: Callable[[HostSpec, Path], Host]
    """Returns a host that has not been opened yet. Relative paths in the plan are resolved against the given folder."""
    collect_facts: Callable[[Host, Path], HostFacts]
    """Reads a host's facts, and writes the raw files to the given folder. Raises HostError."""
    provide: Callable[[Host, str, HostFacts, Path], BuiltKernel]
    """Builds a measurement kernel, copies it to the host, and writes a log to the given folder. Raises NotMeasured."""
    facts_script: Callable[[], str] = str
    """Returns the script that reads the facts while a session is opened, or an empty string if `collect_facts` reads
    them."""

    def benchmark(self, job: Job) -> Benchmark[Any]:
        """Return the benchmark of `job`. Raises LookupError if it is not installed."""
        found = self.catalog.get(job.benchmark)
        if found is None:
            raise LookupError(job.benchmark)
        return found


def default_services() -> Services:
    """Return the services of the installed asct. Their modules are imported here because they load slowly."""
    from asct.facts.reading import collect, session_script
    from asct.hosts.factory import make_host
    from asct.registry import installed
    from asct.toolchain.provide import provide

    return Services(installed(), make_host, collect, provide, session_script)


@dataclass(frozen=True, slots=True)
class RunContext:
    """The state shared by a run's hosts, jobs and repeats: plan, services, writer, events and stop request."""

    plan: ResolvedPlan
    services: Services
    writer: RunWriter
    events: EventBus
    stop: StopRequest
    started: float
    """The start of the run, as a value of `time.monotonic`."""
    wait_s: float = 0.0
    """Maximum time, in seconds, to wait for a locked host."""
    measured: Mapping[RepeatKey, Status] = field(default_factory=dict)
    """The repeats that an earlier part of this run measured."""
    again: bool = False
    """Whether points are being measured again to confirm regressions. Such repeats are numbered after those in the
    plan. `asct resume` does not complete them, because the run already has every repeat in its plan."""

    @property
    def id(self) -> str:
        return self.writer.run.run
