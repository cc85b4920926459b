"""Arguments for quick runs of the kernel `load`, and the description of its output lines in its README."""

from __future__ import annotations

import json
import os

from tests.kernels.building import KERNELS

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


def documented() -> dict[str, set[str]]:
    """Return the keys of each line in the example in the kernel's README, so that the README stays up to date."""
    text = (KERNELS / "load" / "README.md").read_text()
    block = text.split("```json\n", 1)[1].split("```", 1)[0]
    decoder, keys = json.JSONDecoder(), {}
    while block := block.lstrip():
        line, end = decoder.raw_decode(block)
        keys[line["t"]] = set(line)
        block = block[end:]
    return keys
