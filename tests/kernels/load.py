"""Arguments for quick runs of the kernel `load`."""

from __future__ import annotations

import os

CPUS = sorted(os.sched_getaffinity(0))[:2]
ONE, OTHER = str(CPUS[0]), str(CPUS[-1])
BIND = ("--latency-cpu", OTHER, "--cpus", ONE)
SMALL_CHAIN = ("--size", "1048576", "--llc-bytes", "262144", "--level-ms", "5", "--pages", "4k")
TINY = (*SMALL_CHAIN, "--load-size", "131072")
QUICK = (*BIND, *TINY)
TRAFFIC = (
    *("all-reads", "3:1", "2:1", "1:1", "2:1-nt", "write", "copy", "scale", "add", "triad"),
    *("nt-write", "nt-copy", "nt-triad"),
)
