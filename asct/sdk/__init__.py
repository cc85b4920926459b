"""The parts of a benchmark, which imports this package, `instruments`, `statistics` and `values` only."""

from asct.sdk.benchmark import Benchmark, Catalog, Context, Dependency, Refusal, ResultField
from asct.sdk.facts import HostFacts
from asct.sdk.figure import Axis, Bars, Column, Figure, Heatmap, Line, Marker, Series, Table
from asct.sdk.metric import Highlight, Metric
from asct.sdk.needs import Needs, Privilege, Scratch
from asct.sdk.params import Count, Duration, Params, Rate, Size, setting
from asct.sdk.record import Measurement, Record, Stats
from asct.sdk.step import Companion, Kernel, Output, Program, Step, Tool

__all__ = [
    "Axis", "Bars", "Benchmark", "Catalog", "Column", "Companion", "Context", "Count", "Dependency", "Duration",
    "Figure", "Heatmap", "Highlight", "HostFacts", "Kernel", "Line", "Marker", "Measurement", "Metric", "Needs",
    "Output", "Params", "Privilege", "Program", "Rate", "Record", "Refusal", "ResultField", "Scratch", "Series", "Size",
    "Stats", "Step", "Table", "Tool", "setting",
]  # fmt: skip
