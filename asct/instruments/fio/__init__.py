"""The fio instrument that the storage benchmarks share: settings, job files, parsers, metrics, tables, figures."""

from asct.instruments.fio.benchmark import FioBenchmark
from asct.instruments.fio.params import Counts, FioParams
from asct.instruments.fio.sweep import Patterns, Sizes, SweepBenchmark, SweepParams

__all__ = ["Counts", "FioBenchmark", "FioParams", "Patterns", "Sizes", "SweepBenchmark", "SweepParams"]
