"""What the engine works with, as arguments: transports, facts, kernels, benchmarks and the planner's late part."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

from asct.hosts.base import Host
from asct.plan.model import HostSpec
from asct.planner.model import Job, ResolvedPlan
from asct.sdk.benchmark import Catalog
from asct.sdk.facts import HostFacts
from asct.sdk.record import Scalar


class Built(Protocol):
    """A kernel on a host."""

    @property
    def path(self) -> str:
        """Absolute path on the host."""
        ...

    @property
    def compiler(self) -> str:
        """Name and version of the compiler."""
        ...

    @property
    def flags(self) -> tuple[str, ...]:
        """What the compiler was told."""
        ...

    @property
    def sha256(self) -> str:
        """Of the binary."""
        ...

    @property
    def cached(self) -> bool:
        """Whether it was there already."""
        ...


@dataclass(frozen=True, slots=True)
class Services:
    """Everything outside the engine and the store. Tests replace single ones."""

    catalog: Catalog
    make_host: Callable[[HostSpec, Path], Host]
    """A host not yet open; the folder is where relative paths of the plan start."""
    collect_facts: Callable[[Host, Path], HostFacts]
    """Reads a host's facts; raw files go into the folder. Raises HostError."""
    provide: Callable[[Host, str, HostFacts, Path], Built]
    """Puts a kernel on the host; the log goes into the folder. Raises NotMeasured."""
    schedule: Callable[[Job], Sequence[tuple[int, int]]]
    bind: Callable[[Mapping[str, Any], Mapping[str, Scalar]], Mapping[str, Any]]
    """Settings with every PendingValue filled in from `alias.path` values; raises NotMeasured."""
    freeze: Callable[[ResolvedPlan], str]
    """The resolved plan as JSON text."""


def default_services() -> Services:
    """The real ones, imported when asked for."""
    from asct.facts import collect
    from asct.hosts.opening import make_host
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
