"""The entry point of `python -m asct` and of the console script."""

from __future__ import annotations

import gc
import os
import signal
import sys
from types import ModuleType
from typing import Final

_COLLECT_AFTER: Final = (100_000, 50, 100)
"""Garbage collection thresholds. Records contain no cycles, but with the default thresholds hundreds of thousands of
them are scanned repeatedly: reading the records of 200 CPUs took 50 % longer."""


def main() -> None:
    """Run the command and exit with its exit code."""
    gc.set_threshold(*_COLLECT_AFTER)
    _disable_pydantic_plugins()
    from asct.cli.app import on_terminate, run

    signal.signal(signal.SIGTERM, on_terminate)
    code = run(sys.argv[1:])
    # the command is complete: a late signal must not change the exit code
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, lambda *_: os._exit(code))
    gc.freeze()  # Without this, the interpreter searches every object for cycles before it exits.
    sys.exit(code)


def _disable_pydantic_plugins() -> None:
    """Replace pydantic's plugin loader, which searches all installed packages, with an empty one.

    Importing the loader takes 5 % of the time of a small `check`, even if pydantic's settings disable plugins.
    """
    loader = ModuleType("pydantic.plugin._loader")
    vars(loader)["get_plugins"] = tuple
    sys.modules[loader.__name__] = loader


if __name__ == "__main__":
    main()
