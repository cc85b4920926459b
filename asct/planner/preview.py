"""The preview of a plan for `asct plan` and `asct plan --json`: jobs, estimated times, bytes written and privileges."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass
from typing import Any, NamedTuple

from asct.plan.model import Destroys
from asct.planner.costs import shared_costs
from asct.planner.model import Job, ResolvedPlan
from asct.sdk.benchmark import Catalog
from asct.sdk.needs import JobNeeds
from asct.values.grouping import grouped

SCHEMA = "asct.preview/1"


@dataclass(frozen=True, slots=True)
class JobPreview:
    """A job and its estimated cost. `reusable` is the number of points that may be reused from earlier runs, or None if
    the number was not requested."""

    job: Job
    cost: JobNeeds
    reusable: int | None = None

    @property
    def swept(self) -> dict[str, tuple[Any, ...]]:
        """The values of each swept setting, in order of first appearance; lists are compared as text."""
        points = self.job.points
        distinct = {
            name: {repr(point.swept.get(name)): point.swept.get(name) for point in points} for name in points[0].swept
        }
        return {name: tuple(values.values()) for name, values in distinct.items()}

    @property
    def measurements(self) -> int:
        """The total number of repeats of all points, excluding warm-ups."""
        return len(self.job.points) * self.job.repeats

    def to_json(self) -> dict[str, Any]:
        """Return the job as an object of the asct.preview/1 document."""
        job = self.job
        body = _values(job, "id", "benchmark", "host", "repeats", "warmup", "reason")
        rest = {"points": len(job.points), "swept": self.swept, "needs": dict(job.needs), "reusable": self.reusable}
        return {**body, **rest, **_cost_json(self.cost), "measurements": self.measurements}


@dataclass(frozen=True, slots=True)
class Destroyed:
    """A device that the plan allows asct to overwrite.

    `written` is false if no job writes to the device, `purged` is true if a job purges it, and `overwrite` is true if
    the plan allows existing content to be destroyed.
    """

    device: str
    serial: str
    reason: str
    overwrite: bool
    written: bool
    purged: bool
    bytes: int


@dataclass(frozen=True, slots=True)
class HostPreview:
    """A host, with its jobs in order and their totals.

    `consents` are the entries in `safety.destroys` for the host; `sudo` is true if the plan allows sudo on the host.
    """

    name: str
    transport: str
    address: str
    jobs: tuple[JobPreview, ...]
    consents: tuple[Destroys, ...] = ()
    sudo: bool = False

    @property
    def points(self) -> int:
        """The total number of points in all jobs."""
        return sum(len(item.job.points) for item in self.jobs)

    @property
    def measurements(self) -> int:
        """The total number of repeats in all jobs, excluding warm-ups."""
        return sum(item.measurements for item in self.jobs)

    @property
    def seconds(self) -> float:
        """The estimated time for all jobs, in seconds. The jobs on a host run one after another."""
        return sum(item.cost.seconds for item in self.jobs)

    @property
    def longest_s(self) -> float:
        """The maximum time, in seconds, which is the sum of the maximum times of the jobs."""
        return sum(item.cost.longest_s for item in self.jobs)

    @property
    def writes(self) -> dict[str, int]:
        """The estimated maximum number of bytes written to each target path ("" stands for temporary files)."""
        total: Counter[str] = Counter()
        for item in self.jobs:
            total.update(item.cost.writes)
        return dict(total)

    @property
    def likely_writes(self) -> dict[str, int]:
        """The likely number of bytes written to each target path ("" stands for temporary files)."""
        total: Counter[str] = Counter()
        for item in self.jobs:
            total.update(item.cost.likely_writes)
        return dict(total)

    @property
    def purges(self) -> frozenset[str]:
        return frozenset(path for item in self.jobs for path in item.cost.purges)

    @property
    def destroys(self) -> tuple[Destroyed, ...]:
        """The devices that the plan allows asct to overwrite, and what the jobs do to them."""
        writes, purges = self.writes, self.purges
        return tuple(
            Destroyed(
                device=item.device,
                serial=item.serial or "",
                reason=item.reason,
                overwrite=item.overwrite,
                written=item.device in writes or item.device in purges,
                purged=item.device in purges,
                bytes=writes.get(item.device, 0),
            )
            for item in self.consents
        )

    @property
    def privileges(self) -> tuple[NeededPrivilege, ...]:
        """The operations that require root, each listed once."""
        return _privileges([self])


class NeededPrivilege(NamedTuple):
    """An operation that requires root: its purpose, the measurement kernels that perform it through sudo (none if asct
    itself must run as root), and the jobs and hosts that need it."""

    why: str
    sudo: tuple[str, ...]
    jobs: tuple[str, ...]
    hosts: tuple[str, ...]

    def __str__(self) -> str:
        how = f"sudo -n {', '.join(self.sudo)}" if self.sudo else "root"
        return f"{how}: {self.why} ({', '.join(self.jobs)})"


def _privileges(hosts: Iterable[HostPreview]) -> tuple[NeededPrivilege, ...]:
    """Merge the operations of all jobs. An operation uses sudo if the plan allows sudo on the host."""
    needed = [(host, item.job, right) for host in hosts for item in host.jobs for right in item.cost.rights]
    groups = grouped(needed, lambda one: (one[2].why, one[0].sudo and bool(one[2].kernel)))
    return tuple(
        NeededPrivilege(
            why,
            tuple(dict.fromkeys(right.kernel for _, _, right in found if sudo)),
            tuple(dict.fromkeys(job.id for _, job, _ in found)),
            tuple(dict.fromkeys(host.name for host, _, _ in found)),
        )
        for (why, sudo), found in groups.items()
    )


@dataclass(frozen=True, slots=True)
class Preview:
    """The preview of a plan. Hosts run in parallel, so `seconds` is the time for the slowest host."""

    name: str
    hash: str
    hosts: tuple[HostPreview, ...]
    warnings: tuple[str, ...] = ()

    @property
    def jobs(self) -> int:
        """The total number of jobs on all hosts."""
        return sum(len(host.jobs) for host in self.hosts)

    @property
    def points(self) -> int:
        """The total number of points on all hosts."""
        return sum(host.points for host in self.hosts)

    @property
    def measurements(self) -> int:
        """The total number of repeats on all hosts, excluding warm-ups."""
        return sum(host.measurements for host in self.hosts)

    @property
    def reusable(self) -> int | None:
        """The maximum number of points that can be reused from earlier runs, or None if the number was not
        requested."""
        known = [job.reusable for host in self.hosts for job in host.jobs if job.reusable is not None]
        return sum(known) if known else None

    @property
    def seconds(self) -> float:
        """The estimated time, in seconds, until the last host finishes."""
        return max((host.seconds for host in self.hosts), default=0.0)

    @property
    def longest_s(self) -> float:
        """The maximum time, in seconds, until the last host finishes."""
        return max((host.longest_s for host in self.hosts), default=0.0)

    @property
    def privileges(self) -> tuple[NeededPrivilege, ...]:
        """The operations that require root, each listed once."""
        return _privileges(self.hosts)

    def to_json(self) -> dict[str, Any]:
        """Return the preview as an asct.preview/1 document, including totals."""
        return {
            "schema": SCHEMA,
            "plan": self.name,
            **_values(self, "hash", "jobs", "points", "measurements", "reusable", "seconds", "longest_s"),
            "hosts": [_host_json(host) for host in self.hosts],
            "warnings": list(self.warnings),
        }


def _values(item: object, *names: str) -> dict[str, Any]:
    return {name: getattr(item, name) for name in names}


def _cost_json(cost: JobNeeds) -> dict[str, Any]:
    return {
        **_values(cost, "seconds", "longest_s", "writes", "likely_writes"),
        "purges": list(cost.purges),
        "scratch_bytes": max(cost.scratch.values(), default=0),
        "memory_bytes": cost.memory_bytes,
        "privileges": [asdict(item) for item in cost.rights],
        **{name: list(getattr(cost, name)) for name in ("targets", "kernels", "tools")},
    }


def _host_json(host: HostPreview) -> dict[str, Any]:
    return {
        **_values(host, "name", "transport", "address", "points", "measurements", "seconds", "longest_s"),
        **_values(host, "writes", "likely_writes", "sudo"),
        "privileges": [str(item) for item in host.privileges],
        "destroys": [asdict(item) for item in host.destroys],
        "jobs": [item.to_json() for item in host.jobs],
    }


def preview(plan: ResolvedPlan, catalog: Catalog, reusable: Mapping[str, int] | None = None) -> Preview:
    """Return the preview of a resolved plan. `reusable` maps each job's key to the number of points that may be reused
    from earlier runs."""
    costs = shared_costs(catalog)
    hosts = []
    for name, spec in plan.hosts.items():
        own = [job for job in plan.jobs if job.host == name]
        jobs = tuple(JobPreview(job, costs(job), (reusable or {}).get(job.key)) for job in own)
        consents = tuple(item for item in plan.safety.destroys if item.host == name)
        if jobs:
            hosts.append(HostPreview(name, spec.transport, spec.address, jobs, consents, spec.uses_sudo))
    warnings = tuple(item.message for item in plan.diagnostics)
    return Preview(plan.name, plan.hash, tuple(hosts), warnings)
