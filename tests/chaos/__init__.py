"""The fault campaign: runs of asct on each transport are disturbed at random times, resumed and checked.

`python -m tests.chaos` (root) creates a host for each worker, with small disks that can be filled. A trial applies the
plan of `scene.py`, injects a fault from `faults.py` after a random time, sometimes injects another one into the resume,
and resumes until the run is complete. Then `judge.py` compares the results with the expected ones.
"""
