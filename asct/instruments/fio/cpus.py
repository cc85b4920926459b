"""The CPUs that the jobs of a point run on."""

from __future__ import annotations

from asct.instruments.fio.params import FioParams
from asct.instruments.fio.sections import job_count
from asct.sdk.facts import HostFacts
from asct.values.cpulist import parse_cpulist


def used_cpus(params: FioParams, facts: HostFacts, node: int | None = None) -> tuple[int, ...]:
    """The CPUs in ascending order; empty when the jobs are not bound (`all`, or a host whose CPUs are not known).

    `auto` takes as many as there are jobs, from the end, where fewer interrupts and daemons run than on the first ones:
    those of the drive's NUMA node when it has enough, else of all that the account may use.
    """
    if params.cpus == "all":
        return ()
    if params.cpus != "auto":
        return tuple(parse_cpulist(params.cpus))
    allowed = sorted(facts.cpu.allowed or facts.cpu.online)
    near = [cpu for one in facts.nodes if one.id == node for cpu in sorted(one.cpus) if cpu in allowed]
    jobs = job_count(params)
    return tuple((near if len(near) >= jobs else allowed)[-jobs:])


def node_matters(params: FioParams, facts: HostFacts) -> bool:
    """Whether the place of the drive decides which CPUs are taken."""
    return params.cpus == "auto" and sum(1 for node in facts.nodes if node.cpus) > 1
