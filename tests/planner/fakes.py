"""Small benchmarks with everything that the planner uses, and a catalog of these benchmarks."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, ClassVar, Literal

from asct.sdk.benchmark import Benchmark, Context, Dependency, Refusal, ResultField
from asct.sdk.facts import HostFacts
from asct.sdk.metric import Metric
from asct.sdk.needs import Needs, Privilege, Scratch
from asct.sdk.params import Count, Duration, Params, Size, setting
from asct.sdk.record import Measurement
from asct.sdk.step import Output, Step


class LevelsParams(Params):
    """The settings of a latency curve."""

    stride: Size = setting(64, "Bytes between loads")
    pages: Literal["auto", "4K", "2M"] = setting("auto", "Kind of pages")
    time_cap: Duration = setting(2.0, "Longest time")


class DiskParams(Params):
    """The settings of one fio point."""

    rw: Literal["read", "write", "randread", "randwrite", "randrw"] = setting(
        "randread", "Pattern", aliases=("readwrite",)
    )
    block_size: Size = setting(4096, "Bytes of a request", aliases=("bs", "blocksize"))
    iodepth: Count = setting(1, "Requests in flight", ge=1)
    numjobs: Count = setting(1, "Processes", ge=1)
    rwmixread: int = setting(100, "Percent of reads", ge=0, le=100)
    direct: bool = setting(True, "Past the page cache")
    duration: Duration = setting(1.0, "Time of a point", aliases=("runtime",))
    file_names: tuple[str, ...] = setting((), "Files or devices", aliases=("filename",))


class DepthParams(DiskParams):
    """The settings of a sweep over depths."""

    step_settings: ClassVar[dict[str, str]] = {"iodepth_sweep_steps": "iodepth"}

    iodepth_sweep_steps: tuple[Count, ...] = setting((1, 2, 4), "Depths", min_length=1)


class PeakParams(Params):
    """The settings of a bandwidth benchmark that needs a size."""

    data_size: Size | Literal["auto"] = setting("auto", "Bytes to read")
    time_cap: Duration = setting(1.0, "Longest time")


class _Fake(Benchmark[Any]):
    """A benchmark that runs nothing."""

    summary = "a fake"
    version = "1"

    def steps(self, params: Any, context: Context) -> Sequence[Step]:
        return ()

    def parse(self, params: Any, outputs: Sequence[Output], facts: HostFacts) -> Sequence[Measurement]:
        return ()


class Levels(_Fake):
    """Provides sizes that other benchmarks need."""

    name = "levels"
    title = "Levels"
    aliases = ("lv",)
    params_model = LevelsParams
    metrics = (
        Metric("latency", "s", "lower", "Load to use", {"level": ("L1", "L2", "DRAM"), "size": None}),
        Metric("used", "B", "neither", "Bytes used", comparable=False),
    )
    results = (
        ResultField("dram.optimum_size", "B", "Well past the caches", 1 << 29),
        ResultField("dram.latency", "s", "Of memory", 1e-7),
    )

    def needs(self, params: LevelsParams, facts: HostFacts | None) -> Needs:
        root = Privilege("reserves 2 MiB pages", "chase")
        return Needs(kernels=("chase",), seconds=params.time_cap, privileges=(root,))


class Disk(_Fake):
    """A benchmark that can be swept over all of its settings."""

    name = "disk"
    title = "Disk"
    params_model = DiskParams
    metrics = (
        Metric("iops", "ops/s", "higher", "Rate"),
        Metric("bandwidth", "B/s", "higher", "Bandwidth"),
        Metric("clat_p99", "s", "lower", "Latency"),
        Metric("cpu_usr", "%", "neither", "Load"),
    )

    def check(self, params: DiskParams) -> Iterable[tuple[str, str]]:
        if params.rw in ("read", "randread") and params.rwmixread < 100:
            yield "rwmixread", "a mix needs `rw: randrw`"
        if params.file_names[:1] == ("/boot/x",):
            yield "file_names", Refusal("/boot is left alone")

    def needs(self, params: DiskParams, facts: HostFacts | None) -> Needs:
        target = params.file_names[0] if params.file_names else ""
        writes = ((target, 1 << 20),) if "w" in params.rw.replace("rw", "w", 1) and params.rw != "randread" else ()
        scratch = None if params.file_names else Scratch("scratch", 1 << 30)
        return Needs(tools=(("fio", "3.30"),), seconds=params.duration, writes_bytes=writes, scratch=scratch)


class Depth(Disk):
    """A benchmark whose points come from a list of steps."""

    name = "depth"
    title = "Depth"
    params_model = DepthParams


class Peak(_Fake):
    """A benchmark that depends on levels."""

    name = "peak"
    title = "Peak"
    params_model = PeakParams
    metrics = (
        Metric("bandwidth", "B/s", "higher", "Bandwidth", {"traffic": ("all-reads", "2:1")}),
        Metric("theoretical_bandwidth", "B/s", "neither", "Of the modules", comparable=False),
    )
    dependencies = (Dependency("cache", "levels", ("data_size",)),)

    def needs(self, params: PeakParams, facts: HostFacts | None) -> Needs:
        return Needs(kernels=("load",), seconds=params.time_cap)


class FakeCatalog:
    """A catalog of the given benchmarks."""

    def __init__(self, *benchmarks: Benchmark[Any]) -> None:
        self._by_name = {benchmark.name: benchmark for benchmark in benchmarks}

    def names(self) -> Sequence[str]:
        return sorted(self._by_name)

    def get(self, name: str) -> Benchmark[Any] | None:
        found = (item for item in self._by_name.values() if name in (item.name, *item.aliases))
        return next(found, None)


CATALOG = FakeCatalog(Levels(), Disk(), Depth(), Peak())
