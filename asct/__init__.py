"""asct: a declarative test harness that characterizes the memory, storage and topology of servers."""

__version__ = "0.1.0"
