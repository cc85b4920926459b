"""The facts of a host: `collect` reads all files and runs all commands at once; pure parsers, one module for each
subject, do the rest."""

from asct.facts.describe import describe
from asct.facts.reading import collect

__all__ = ["collect", "describe"]
