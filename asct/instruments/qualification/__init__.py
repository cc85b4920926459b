"""The tests of a drive's steady state: purge, preconditioning, rounds of cells until nothing changes any more."""
