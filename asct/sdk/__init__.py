"""The parts of a benchmark, which imports this package, `instruments`, `statistics` and `values` only."""
