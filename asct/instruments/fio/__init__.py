"""The fio instrument shared by the storage benchmarks: settings, job files, parsers, metrics, tables and figures."""

from asct.instruments.fio.benchmark import FioBenchmark, Patterns, Sizes, SweepBenchmark, SweepParams, steps_setting
from asct.instruments.fio.params import Counts, FioParams

__all__ = ["Counts", "FioBenchmark", "FioParams", "Patterns", "Sizes", "SweepBenchmark", "SweepParams", "steps_setting"]
