"""The published studies that plans/seeds reproduces.

`python -m tests.seeds [NAME...]` measures them here and writes docs/seeds/NAME.md.
"""
