"""`make bench`: measure the speed of the harness and of its measurements, and compare it with the goals.

Nothing here is a test, because timings on shared machines are noisy. For each figure, the minimum and the median of
several rounds are printed. If there is a fair peer in the same process or on the same machine, the ratio to that peer
is printed as well.
"""
