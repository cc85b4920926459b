"""Runs on nodes of a Slurm cluster, with one exclusive job per benchmark, from a machine that has `sbatch`."""

from __future__ import annotations

from pathlib import Path

from asct.hosts.base import Host
from asct.hosts.slurm.options import TRANSPORT as TRANSPORT
from asct.plan.model import HostSpec


def make(spec: HostSpec, folder: Path) -> Host:
    """A node for the host of `spec`; `folder` is not needed."""
    from asct.hosts.slurm.host import SlurmHost

    return SlurmHost(spec)
