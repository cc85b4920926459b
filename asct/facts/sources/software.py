"""Programs: where they are, their versions, what fio can."""

from __future__ import annotations

from asct.facts.sources.model import Command

TOOLS: tuple[Command, ...] = (
    ("blkdiscard", "--version"),
    ("bpftool", "version"),
    ("bpftrace", "--version"),
    ("cc", "--version"),
    ("clang", "--version"),
    ("cpupower", "--version"),
    ("dmidecode", "--version"),
    ("ethtool", "--version"),
    ("fio", "--version"),
    ("gcc", "--version"),
    ("hdparm", "-V"),
    ("iperf3", "--version"),
    ("ipmitool", "-V"),
    ("lscpu", "--version"),
    ("lspci", "--version"),
    ("mpstat", "-V"),
    ("numactl", "--version"),
    ("nvme", "version"),
    ("perf", "--version"),
    ("sg_format", "--version"),
    ("sg_sanitize", "--version"),
    ("smartctl", "--version"),
    ("taskset", "--version"),
    ("turbostat", "--version"),
)
"""Programs to detect, and the argument that makes each print its version."""

PROBES: tuple[Command, ...] = (
    ("fio-engines", "limited fio --enghelp"),
    (
        "fio-options",
        'also() { text=$(echo "engine $1"; limited fio --enghelp="$1"); cat; printf "%s\\n" "$text"; };'
        " limited fio --cmdhelp=all | also io_uring | also libaio | also mmap | also pvsync2",
    ),
)
"""Commands that need fio. It takes 70 ms to start, so the engines are queried in parallel."""

TRIAL: Command = (
    "io_uring",
    'tell fio --name=probe --ioengine=io_uring --filename="$spare/.probe.$$" --size=4k --rw=write --output=/dev/null'
    ' --clocksource=clock_gettime --thread; status=$?; limited rm -f -- "$spare/.probe.$$"; (exit $status)',
)
"""Tried with fio where it has the engine. A failure may have a cause that passes, such as a full disk.
With this clock it does without looking for the rate of another, a third of its time. As a thread the job ends with fio
itself when that takes too long; as a process it leads a session of its own."""
