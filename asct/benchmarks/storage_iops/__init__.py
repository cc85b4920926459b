"""storage-iops: the IOPS test from SNIA PTS and TKperf, for combinations of block sizes and mixes of random reads and
writes."""

from __future__ import annotations

from typing import Final

from asct.instruments.qualification.benchmark import MatrixQualification
from asct.instruments.qualification.settings import MatrixParams, WorkloadNames
from asct.sdk.metric import Highlight
from asct.sdk.params import Counts, Sizes, setting

_KIB: Final = 1024


class IopsParams(MatrixParams):
    """Settings for the matrix, which by default combines eight block sizes with seven mixes."""

    block_sizes: Sizes = setting(
        (1024 * _KIB, 128 * _KIB, 64 * _KIB, 32 * _KIB, 16 * _KIB, 8 * _KIB, 4 * _KIB, 512),
        "Block sizes of the workloads; sizes smaller than a logical block of the target are skipped",
        aliases=("block_size", "bs"),
        min_length=1,
    )
    mixes: Counts = setting(
        (100, 95, 65, 50, 35, 5, 0), "Percentage of reads in each workload", aliases=("rwmixread",), min_length=1
    )
    dependent: WorkloadNames = setting(
        ("4K:0", "64K:65", "1M:100"),
        "Workloads that must reach steady state, each as `block size:read percentage`; TKperf uses only `4K:0`",
        aliases=("dependent_variables", "tracking"),
        min_length=1,
    )
    steady_volume: float = setting(
        2.3,
        "How many times the active range must have been written since the purge (including preconditioning) before a "
        "window is accepted; a window is also accepted once the rate has fallen by half",
        ge=0,
        le=100,
        pitfalls="Random writes to a preconditioned drive are fast until its spare area (7 to 28 %) is exhausted. "
        "With a value below 2.3, this phase may be mistaken for the steady state.",
    )


class StorageIops(MatrixQualification[IopsParams]):
    """A qualification that measures the rates of the workloads."""

    name = "storage-iops"
    title = "SSD qualification: IOPS"
    version = "2"
    summary = "Steady-state IOPS of a drive by block size and read/write mix (SNIA PTS, TKperf)"
    aliases = ("siops",)
    params_model = IopsParams
    matrices = ("iops", "bandwidth", "latency")
    highlights = (
        Highlight("iops", "4k random write, steady state", {"block_size": 4096, "rwmixread": 0}),
        Highlight("iops", "4k random read, steady state", {"block_size": 4096, "rwmixread": 100}),
    )


BENCHMARK = StorageIops()
