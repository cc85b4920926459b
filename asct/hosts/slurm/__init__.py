"""Nodes of a Slurm cluster, accessed from a machine that has `sbatch`. Each benchmark runs in its own exclusive job."""

from __future__ import annotations

from pathlib import Path

from asct.hosts.base import Host
from asct.hosts.slurm.options import TRANSPORT as TRANSPORT
from asct.plan.model import HostSpec


def make(spec: HostSpec, folder: Path) -> Host:
    """Return the host that `spec` describes, which is a node of the cluster. `folder` is ignored."""
    from asct.hosts.slurm.host import SlurmHost

    return SlurmHost(spec)
