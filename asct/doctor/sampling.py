"""Two looks at a host, a second apart: the one exchange of the doctor that waits."""

from __future__ import annotations

from asct.disturbances import Sample, sample_of
from asct.disturbances.sample import SCRIPT
from asct.errors import HostError, HostLost
from asct.hosts.base import Host
from asct.sdk.disturbance import Unseen

_LIMIT_S = 30.0
_WHAT = "stolen time, busy CPUs and interrupts"


def take(host: Host) -> tuple[Sample | None, tuple[Unseen, ...]]:
    """The sample, or why there is none. Raises HostLost."""
    try:
        answer = host.answer(["sh", "-s"], timeout_s=_LIMIT_S, stdin=SCRIPT)
    except HostLost:
        raise
    except HostError as error:
        return None, (Unseen(what=_WHAT, why=error.diagnostics[0].message),)
    sample = sample_of(answer.stdout)
    if sample is None:
        return None, (Unseen(what=_WHAT, why="the host gave no two looks at /proc/stat"),)
    if not sample.busy:
        return sample, (Unseen(what=_WHAT, why="/proc/stat does not list the CPUs"),)
    return sample, ()
