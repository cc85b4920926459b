"""How a machine hangs together: a tree of boxes from its facts (`parts`), drawn as text (`text`) or SVG (`svg`)."""

from asct.analysis.topology.boxes import Box, machine
from asct.analysis.topology.svg import drawing
from asct.analysis.topology.text import lines

__all__ = ["Box", "drawing", "lines", "machine"]
