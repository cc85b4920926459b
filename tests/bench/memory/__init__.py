"""`make bench-memory`: compare the memory figures with physical limits and with other programs on the same machine.

Each row shows our median and our best value, the maximum that the hardware can reach (if it is documented), and the
best of the peers: likwid-bench, sysbench and mbw if they are installed, and plain loops that are compiled on this
machine (peers.c). Rounds are interleaved, so that a disturbance affects all of them. A row that cannot be measured
states the reason. `ROWS="l1 dram"` selects the rows whose names contain one of these words.
"""
