"""The fault campaign: runs of asct on each transport that are hurt at random moments, resumed, and looked at.

`python -m tests.chaos` (root): a host for each worker, with small disks that can be filled. A trial
applies the plan of `scene.py`, does one thing of `faults.py` to it after a random time, sometimes another one to the
resume, resumes until the run is complete, and has `judge.py` compare what is there with what must be there.
"""
