"""The facts of a host: one batch of files and commands (`collect`), and pure parsers, one file per subject."""

from asct.facts.describe import describe
from asct.facts.reading import collect

__all__ = ["collect", "describe"]
