"""The facts of a host.

`collect` in reading.py reads all files and runs all commands in one exchange. Pure parsers (one module per subject)
then derive the facts from the output.
"""
