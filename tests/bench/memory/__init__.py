"""`make bench-memory`: the memory figures against physical limits and against other programs on the same machine.

Each row prints our median and our best, what the hardware could reach at most where that is documented, and the best of
the peers: likwid-bench, sysbench and mbw when they are there, and plain loops that are compiled here (peers.c). Rounds
are interleaved, so that a disturbance meets all of them. A row that cannot be measured says why. `ROWS="l1 dram"`
takes the rows whose name contains one of these words.
"""
