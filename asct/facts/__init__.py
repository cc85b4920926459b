"""What is known of a host: one batch of files and commands (`collect`), and pure parsers, one file per subject."""

from asct.facts.batch import collect
from asct.facts.describe import describe

__all__ = ["collect", "describe"]
