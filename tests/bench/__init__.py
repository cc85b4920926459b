"""`make bench`: the speed of the harness and of its measurements, against what was set out to reach.

Nothing here is a test: timings on shared machines are noisy. Each figure is the minimum and the median of several
rounds; where there is a fair peer in the same process or on the same machine the ratio to it is printed.
"""
