"""storage-fio: any fio workload; every setting can be swept."""

from __future__ import annotations

from asct.instruments.fio.benchmark import FioBenchmark
from asct.instruments.fio.params import FioParams


class StorageFio(FioBenchmark[FioParams]):
    """A benchmark that runs one fio workload per point, with the shared settings."""

    name = "storage-fio"
    title = "Storage with any fio workload"
    version = "2"
    summary = "A single fio measurement; every setting is checked and can be swept"
    aliases = ("sfio",)
    keywords = ("storage", "fio", "io")
    params_model = FioParams
    table_title = "Storage performance"


BENCHMARK = StorageFio()
