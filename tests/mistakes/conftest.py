"""The fixture `asct`, which runs commands as in tests/cli."""

from tests.cli.conftest import asct

__all__ = ["asct"]
