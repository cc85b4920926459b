"""The published studies that the plans in plans/seeds reproduce.

`python -m tests.seeds [NAME...]` repeats the measurements of these studies on this machine and writes
docs/seeds/NAME.md.
"""
