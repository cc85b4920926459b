"""`make bench-judge`: how often the baseline gate fails without a change, and how often it finds one.

`simulated` draws visits from known distributions. `replayed` records runs on this machine and compares them with each
other, unchanged and with a change multiplied into their values. `live` applies a plan with slowed and unchanged
programs. Each row states what was counted.
"""
