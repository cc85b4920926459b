"""`make bench`: the speed of the harness and of its measurements, compared with their goals.

Nothing here is a test, because timings on shared machines are noisy. Each figure is the minimum and the median of
several rounds. If there is a fair peer in the same process or on the same machine, the ratio to it is printed as well.
"""
