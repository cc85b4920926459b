"""The common parts of the memory benchmarks: nodes and CPUs, settings, working sets, kernel samples and flags."""
