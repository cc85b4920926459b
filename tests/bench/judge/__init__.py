"""`make bench-judge`: measure how often the baseline gate fails without a change, and how often it finds a change.

`simulated` draws visits from known distributions. `replayed` records runs on this machine and compares them with each
other, both unchanged and with values multiplied by a factor. `live` applies a plan with slowed and with unchanged
programs. Each row states what was counted.
"""
