"""Programs: where they are, their versions, what fio can."""

from __future__ import annotations

from asct.facts.sources.model import Command

TOOLS: tuple[Command, ...] = (
    ("blkdiscard", "--version"),
    ("cc", "--version"),
    ("clang", "--version"),
    ("fio", "--version"),
    ("gcc", "--version"),
    ("hdparm", "-V"),
    ("mpstat", "-V"),
    ("numactl", "--version"),
    ("nvme", "version"),
    ("perf", "--version"),
    ("sg_format", "--version"),
    ("sg_sanitize", "--version"),
)
"""Programs that are looked for, and the argument that makes each print its version."""

PROBES: tuple[Command, ...] = (
    ("fio-engines", "fio --enghelp"),
    (
        "fio-options",
        'fio --cmdhelp=all; for engine in io_uring libaio mmap pvsync2; do echo "engine $engine";'
        ' fio --enghelp="$engine"; done; true',
    ),
)
"""What is only asked when fio is there."""

TRIAL: Command = (
    "io_uring",
    'fio --name=probe --ioengine=io_uring --filename="$spare/.probe.$$" --size=4k --rw=write --output=/dev/null;'
    ' status=$?; rm -f -- "$spare/.probe.$$"; (exit $status)',
)
"""Tried with fio where it has the engine. A failure may have a cause that passes, such as a full disk."""
