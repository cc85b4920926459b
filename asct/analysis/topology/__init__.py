"""The topology of a machine: a tree of boxes derived from its facts (`boxes`), and drawings as text (`text`) and SVG
(`svg`), with the latency of the cores if it was measured (`latency`)."""
