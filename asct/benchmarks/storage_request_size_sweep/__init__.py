"""storage-request-size-sweep: bandwidth, IOPS and latency of storage by request size."""

from __future__ import annotations

from typing import ClassVar

from asct.instruments.fio.benchmark import SweepBenchmark, SweepParams, steps_setting
from asct.sdk.params import Sizes


class SizeSweepParams(SweepParams):
    """The shared settings and the request sizes to sweep."""

    step_settings: ClassVar[dict[str, str]] = {"request_size_sweep_steps": "block_size"}

    request_size_sweep_steps: Sizes = steps_setting(
        "block_size",
        (4096, 8192, 16384, 32768, 65536, 131072),
        ("request_size_steps", "block_size_sweep_steps"),
    )


class StorageRequestSizeSweep(SweepBenchmark[SizeSweepParams]):
    """A sweep with one point per request size."""

    name = "storage-request-size-sweep"
    title = "Storage request size sweep"
    version = "2"
    summary = "Bandwidth, IOPS and latency of a drive by request size (fio)"
    aliases = ("srss",)
    params_model = SizeSweepParams
    axis = "block_size"
    table_title = "Storage performance by request size"


BENCHMARK = StorageRequestSizeSweep()
