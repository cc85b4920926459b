"""Which fio engine a host allows, and what the engine makes of a queue depth."""

from __future__ import annotations

from asct.instruments.fio.params import SYNCHRONOUS, FioParams
from asct.instruments.fio.sections import sections_of
from asct.sdk.facts import HostFacts


def chosen_engine(params: FioParams, facts: HostFacts) -> str:
    """The engine of the settings, or for `auto` the first of io_uring, libaio, psync that fio and the kernel have.

    `facts.tools["fio"].features` are the engines fio was built with. If they are not known, libaio is taken: fio on
    Linux has it unless left out on purpose.
    """
    if params.engine != "auto":
        return params.engine
    tool = facts.tools.get("fio")
    features = tool.features if tool else []
    if facts.io_uring and (not features or "io_uring" in features):
        return "io_uring"
    return "libaio" if not features or "libaio" in features else "psync"


def effective_depth(params: FioParams, facts: HostFacts) -> int:
    """Requests that the engines can keep in flight, all jobs of all sections together."""
    return sum(
        section.numjobs if chosen_engine(section, facts) in SYNCHRONOUS else section.requested_depth
        for _, section in sections_of(params)
    )


def depth_is_lost(params: FioParams, facts: HostFacts) -> bool:
    """Whether an engine keeps fewer requests in flight than the settings ask for."""
    return effective_depth(params, facts) < sum(section.requested_depth for _, section in sections_of(params))
