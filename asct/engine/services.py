"""The services that a run uses from outside the engine, passed as an argument so that a test can replace each."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from asct.hosts.base import Host
from asct.plan.model import HostSpec
from asct.planner.model import Job, ResolvedPlan
from asct.sdk.benchmark import Benchmark, Catalog
from asct.sdk.facts import HostFacts
from asct.sdk.record import Scalar
from asct.toolchain.provide import BuiltKernel


@dataclass(frozen=True, slots=True)
class Services:
    """Benchmarks, transports, facts, kernels, and the functions of the planner that a run calls."""

    catalog: Catalog
    make_host: Callable[[HostSpec, Path], Host]
    """Makes a host, not yet open; relative paths of the plan are resolved from the folder."""
    collect_facts: Callable[[Host, Path], HostFacts]
    """Reads the facts of a host; the raw files go into the folder. Raises HostError."""
    provide: Callable[[Host, str, HostFacts, Path], BuiltKernel]
    """Builds a kernel for the host and copies it there; the log goes into the folder. Raises NotMeasured."""
    schedule: Callable[[Job], Sequence[tuple[int, int]]]
    bind: Callable[[Mapping[str, Any], Mapping[str, Scalar]], Mapping[str, Any]]
    """Fills in every setting that waits for `alias.path` results; raises NotMeasured."""
    freeze: Callable[[ResolvedPlan], str]
    """Writes the resolved plan as JSON text."""

    def benchmark(self, job: Job) -> Benchmark[Any]:
        """The benchmark of `job`; raises LookupError when it is not installed."""
        found = self.catalog.get(job.benchmark)
        if found is None:
            raise LookupError(job.benchmark)
        return found


def default_services() -> Services:
    """The services of an installed asct; the modules are imported here because they are slow to load."""
    from asct.facts import collect
    from asct.hosts.factory import make_host
    from asct.planner.bind import bind
    from asct.planner.freeze import freeze
    from asct.planner.schedule import schedule
    from asct.registry import installed
    from asct.toolchain import provide

    return Services(
        catalog=installed(),
        make_host=lambda spec, folder: make_host(spec, folder=folder),
        collect_facts=collect,
        provide=provide,
        schedule=schedule,
        bind=bind,
        freeze=lambda resolved: json.dumps(freeze(resolved), indent=1, allow_nan=False),
    )
