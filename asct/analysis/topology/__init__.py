"""How a machine hangs together: a tree of boxes from its facts (`parts`), drawn as text (`text`) or SVG (`svg`)."""

from asct.analysis.topology.parts import Part, machine
from asct.analysis.topology.svg import drawing
from asct.analysis.topology.text import lines

__all__ = ["Part", "drawing", "lines", "machine"]
