"""The topology of a machine: a tree of boxes derived from its facts (`boxes`), and drawings as text (`text`) and SVG
(`svg`), with the latency of the cores if it was measured (`latency`)."""

from asct.analysis.topology.boxes import Box, machine
from asct.analysis.topology.latency import CoreLatency, core_latencies
from asct.analysis.topology.svg import drawing
from asct.analysis.topology.text import lines

__all__ = ["Box", "CoreLatency", "core_latencies", "drawing", "lines", "machine"]
