"""storage-access-pattern-sweep: bandwidth, IOPS and latency of storage by access pattern."""

from __future__ import annotations

from typing import ClassVar

from asct.instruments.fio.benchmark import Patterns, SweepBenchmark, SweepParams, steps_setting


class PatternSweepParams(SweepParams):
    """The shared settings and the access patterns to sweep."""

    step_settings: ClassVar[dict[str, str]] = {"access_pattern_sweep_steps": "rw"}

    access_pattern_sweep_steps: Patterns = steps_setting(
        "rw",
        ("read", "write", "randread", "randwrite", "rw", "randrw"),
        ("access_pattern_steps", "rw_sweep_steps"),
        "Patterns that write require consent for a named target; `rwmixread` is the percentage of reads in "
        "`rw` and `randrw`.",
    )


class StorageAccessPatternSweep(SweepBenchmark[PatternSweepParams]):
    """A sweep with one point per access pattern."""

    name = "storage-access-pattern-sweep"
    title = "Storage access pattern sweep"
    version = "2"
    summary = "Bandwidth, IOPS and latency of a drive by access pattern: sequential, random, read, write, mixed (fio)"
    aliases = ("saps",)
    params_model = PatternSweepParams
    axis = "rw"
    table_title = "Storage performance by access pattern"


BENCHMARK = StorageAccessPatternSweep()
