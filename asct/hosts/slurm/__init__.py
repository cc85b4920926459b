"""On nodes of a Slurm cluster: a job for each benchmark, the node for itself; runs where `sbatch` does."""

from __future__ import annotations

from pathlib import Path

from asct.hosts.base import Host
from asct.hosts.slurm.options import TRANSPORT as TRANSPORT
from asct.plan.model import HostSpec


def make(spec: HostSpec, folder: Path) -> Host:
    """A node for the host of `spec`; `folder` is not needed."""
    from asct.hosts.slurm.host import SlurmHost

    return SlurmHost(spec)
