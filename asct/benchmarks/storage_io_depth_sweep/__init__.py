"""storage-io-depth-sweep: bandwidth, IOPS and latency of storage by queue depth."""

from __future__ import annotations

from typing import ClassVar

from asct.instruments.fio.benchmark import SweepBenchmark, SweepParams, steps_setting
from asct.sdk.params import Counts


class DepthSweepParams(SweepParams):
    """The shared settings and the queue depths to sweep."""

    step_settings: ClassVar[dict[str, str]] = {"iodepth_sweep_steps": "iodepth"}

    iodepth_sweep_steps: Counts = steps_setting("iodepth", (1, 2, 4, 8, 16, 32, 64, 128), ("iodepth_steps",))


class StorageIoDepthSweep(SweepBenchmark[DepthSweepParams]):
    """A sweep with one point per queue depth."""

    name = "storage-io-depth-sweep"
    title = "Storage queue depth sweep"
    version = "3"
    summary = "Bandwidth, IOPS and latency of a drive by queue depth (fio)"
    aliases = ("sids",)
    params_model = DepthSweepParams
    axis = "iodepth"
    table_title = "Storage performance by queue depth"


BENCHMARK = StorageIoDepthSweep()
