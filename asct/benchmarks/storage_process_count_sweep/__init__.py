"""storage-process-count-sweep: bandwidth, IOPS and latency of storage by number of processes."""

from __future__ import annotations

from typing import ClassVar

from asct.instruments.fio.benchmark import SweepBenchmark, SweepParams, steps_setting
from asct.sdk.params import Counts


class ProcessSweepParams(SweepParams):
    """The shared settings and the numbers of processes to sweep."""

    step_settings: ClassVar[dict[str, str]] = {"process_count_sweep_steps": "numjobs"}

    process_count_sweep_steps: Counts = steps_setting(
        "numjobs", (1, 2, 4, 8, 16), ("process_count_steps", "numjobs_sweep_steps")
    )


class StorageProcessCountSweep(SweepBenchmark[ProcessSweepParams]):
    """A sweep with one point per number of processes. Each process runs on its own CPU and issues its own requests."""

    name = "storage-process-count-sweep"
    title = "Storage process count sweep"
    version = "2"
    summary = "Bandwidth, IOPS and latency of a drive by number of processes (fio)"
    aliases = ("spcs",)
    params_model = ProcessSweepParams
    axis = "numjobs"
    table_title = "Storage performance by process count"


BENCHMARK = StorageProcessCountSweep()
