"""The steady-state tests of a drive: purge, preconditioning, and rounds of workloads until performance no longer
changes."""
