"""What the memory benchmarks share: nodes and CPUs of a host, settings, sizes that fit, what disturbed a kernel."""
